"""Real clusters start, run a topology, suffer faults, stop and leave nothing behind. Starts daemons."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.live.cgroups import hierarchies
from storm_lab.live.hosts import MASTER, HostOptions, machine_mhz
from storm_lab.live.jars import fetch_jars, maven_program
from storm_lab.live.java_build import SUBMIT_CLASS, player_jar
from storm_lab.live.netns import why_no_namespaces
from storm_lab.live.processes import MARK, all_pids
from storm_lab.live.records import places, processes_of, remove_orphans, state_folder
from storm_lab.live.releases import RELEASES
from storm_lab.live.storm import LiveStorm
from storm_lab.model.cluster import Slot
from tests.live.leavings import assert_nothing_is_left
from tests.live.real_cluster import NODES, export_chain, wait

pytestmark = pytest.mark.live

HOSTS = HostOptions(weight=10_000)
"""A high CPU weight, as the machine may be busy with other tests."""

QUICK = ("2.8.3", "0.9.2-incubating")
"""Versions that are tested at every change; the others are unlikely to fail in another way."""


def run_chain(storm: LiveStorm) -> None:
    """Submit the chain and wait until tuples have reached its sink."""
    folder = storm.new_folder("records")
    plan = export_chain(storm.release.storm, storm.new_folder("plan"), folder)
    storm.submit("chain", player_jar(storm.release), SUBMIT_CLASS, str(plan))
    wait("two workers", lambda: len(storm.workers()) == 2, storm)
    wait("tuples at the sink", lambda: any(folder.glob("executions-3-*")), storm)


def listening_addresses(pids: list[int]) -> set[str]:
    """IPv4 addresses at which processes listen, read from their own sockets."""
    found = set()
    for pid in pids:
        links = []
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                links.append(str(entry.readlink()))
            except OSError:
                continue
        inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
        for name in ("tcp", "tcp6"):
            for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    number = fields[1].partition(":")[0][-8:]
                    found.add(".".join(str(int(number[at : at + 2], 16)) for at in (6, 4, 2, 0)))
    return found


@pytest.mark.parametrize(
    "version",
    [version if version in QUICK else pytest.param(version, marks=pytest.mark.slow) for version in RELEASES],
)
def test_every_release_runs_a_topology_and_leaves_nothing(version: str):
    with LiveStorm(version, NODES, hosts=HOSTS) as storm:
        record = storm._own_place.record
        assert storm.topologies() == {}
        assert sorted(storm.supervisors().values()) == ["n1", "n2"]
        run_chain(storm)
        assert {worker.slot.node for worker in storm.workers()} == {"n1", "n2"}
        executors = storm.info("chain")["executors"]
        assert {row["component"] for row in executors} == {"spout", "bolt1", "bolt2", "__acker"}
        storm.kill("chain")
        assert storm.workers() == []
        assert [event.kind for event in storm.events] == ["submit", "kill"]
        assert all(event.start_ns <= event.end_ns for event in storm.events)
    assert_nothing_is_left(record)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.8.3", "0.9.2"])
def test_a_killed_worker_is_replaced(version: str):
    with LiveStorm(version, NODES, hosts=HOSTS) as storm:
        run_chain(storm)
        victim = storm.workers()[0]
        storm.kill_worker(victim.slot)
        wait(
            "the worker's successor",
            lambda: any(w.slot == victim.slot and w.pid != victim.pid for w in storm.workers()),
            storm,
        )
        with pytest.raises(UserError, match="no worker runs in this slot"):
            storm.kill_worker(Slot("n1", 9999))


@pytest.mark.slow
def test_a_node_fails_and_comes_back():
    if why_no_namespaces() is not None:
        pytest.skip("hosts without links")
    with LiveStorm("2.8.3", NODES, hosts=HOSTS) as storm:
        before = set(processes_of(storm._own_place.record))
        storm.lose_node("n1")
        assert storm.host("n1").group is None or storm.host("n1").group.pids() == []
        assert len(before - set(processes_of(storm._own_place.record))) == 1
        storm.check()
        storm.restore_node("n1")
        wait("its supervisor", lambda: storm._fleet.takes_pushes("n1"), storm)
        for pair in (("n1", "n2"), ("n2", None)):
            storm.cut_link(*pair)
            storm.mend_link(*pair)
        with pytest.raises(UserError, match=r"node = 'n9'.*there are: n1, n2"):
            storm.cut_link("n9")
        # Effects of faults are undone before the next play.
        storm.lose_node("n1")
        storm.lose_node("n1")
        storm.cut_link("n2")
        storm.restore_all()
        assert set(storm.supervisors().values()) == {"n1", "n2"}
        assert storm._fleet.takes_pushes("n1")
        events = [(event.kind, event.subject) for event in storm.events[-4:]]
        assert events == [
            ("lose-node", "n1"),
            ("cut-link", "n2"),
            ("mend-link", "n2"),
            ("restore-node", "n1"),
        ]


@pytest.mark.slow
def test_a_node_lost_while_a_topology_ran_can_be_used_again():
    """With its old disk, a supervisor of 0.9 may halt over a file of the topology that it just removed."""
    with LiveStorm("0.9.2", NODES, hosts=HOSTS) as storm:
        run_chain(storm)
        before = storm.supervisors()
        storm.lose_node("n2")
        storm.kill("chain")
        storm.restore_all()
        # The node has a new supervisor with an empty disk; nothing can be assigned to the lost one.
        (lost,) = before.keys() - storm.supervisors().keys()
        assert before[lost] == "n2"
        assert sorted(storm.supervisors().values()) == ["n1", "n2"]
        run_chain(storm)
        storm.check()


@pytest.mark.slow
def test_cut_links_carry_nothing():
    if why_no_namespaces() is not None:
        pytest.skip("hosts without links")
    with LiveStorm("0.9.2", NODES, hosts=HOSTS) as storm:
        target = storm.address("n2")

        def reaches(host: str) -> bool:
            script = f"exec 3<>/dev/tcp/{target}/6700"
            # No process listens there yet: a reachable host refuses at once.
            done = subprocess.run(
                storm.host(host).command(["timeout", "2", "bash", "-c", script]),
                capture_output=True,
                text=True,
                check=False,
            )
            return "refused" in done.stderr

        assert reaches("n1") and reaches(MASTER)
        storm.cut_link("n1", "n2")
        assert not reaches("n1") and reaches(MASTER)
        storm.mend_link("n1", "n2")
        assert reaches("n1")
        storm.cut_link("n2")
        assert not reaches("n1") and not reaches(MASTER)
        storm.mend_link("n2")
        assert reaches("n1") and reaches(MASTER)


@pytest.mark.slow
def test_plain_processes_listen_at_their_own_addresses_only():
    with LiveStorm("2.8.3", NODES, hosts=HostOptions(kind="loopback")) as storm:
        assert storm.unrealised
        run_chain(storm)
        addresses = {storm.address(name) for name in (MASTER, "n1", "n2")}
        assert listening_addresses(processes_of(storm._own_place.record)) == addresses
        record = storm._own_place.record
    assert_nothing_is_left(record)


@pytest.mark.slow
def test_a_node_is_limited_to_the_cores_of_its_description():
    if why_no_namespaces() is not None or not hierarchies():
        pytest.skip("hosts without limits")
    with LiveStorm("0.9.2", NODES, hosts=HostOptions(cpu_scale=0.3, weight=10_000)) as storm:
        host = storm.host("n1")
        assert host.cores == pytest.approx(0.3 * 2000 / machine_mhz())
        before = host.cpu_use()
        burn = host.command(["timeout", "2", "sh", "-c", "while :; do :; done"])
        start = time.monotonic()
        subprocess.run(burn, check=False)
        took = time.monotonic() - start
        after = host.cpu_use()
        assert before is not None and after is not None
        # Never more than its quota (plus 0.1 s of wall time), whatever else the machine does.
        assert (after.cpu_ns - before.cpu_ns) / 1e9 <= host.cores * (took + 0.1)
        assert after.periods > before.periods


UP_AND_WAIT = """
import sys, time
from storm_lab.live.storm import LiveStorm
from storm_lab.model.cluster import Cluster, Node
with LiveStorm("0.9.2", Cluster((Node("a"),))) as storm:
    print("up", flush=True)
    time.sleep(600)
"""


def _command(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_ctrl_c_while_a_cluster_runs_leaves_nothing():
    process = _command(UP_AND_WAIT)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    (place,) = places()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert_nothing_is_left(place.record)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.3, 1.5, 4.0])
def test_ctrl_c_while_a_cluster_starts_leaves_nothing(seconds: float):
    process = _command(UP_AND_WAIT)
    wait("the start", lambda: any(True for _ in places()) or process.poll() is not None)
    records = [place.record for place in places()]
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    for record in records:
        assert_nothing_is_left(record)


@pytest.mark.parametrize("seconds", [0.0, 0.4, 3.0])
def test_live_down_removes_a_cluster_whose_command_was_killed_at_any_moment(seconds: float):
    process = _command(UP_AND_WAIT)
    wait("the start", lambda: any(True for _ in places()) or process.poll() is not None)
    time.sleep(seconds)
    process.kill()
    process.communicate(timeout=60)
    (place,) = places()
    down = "import sys; from storm_lab.cli import main; main(['live', 'down'])"
    done = subprocess.run([sys.executable, "-c", down], capture_output=True, text=True, check=True)
    assert "was left behind by a killed command; removed completely" in done.stdout
    assert_nothing_is_left(place.record)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_scene_leaves_no_run(number: signal.Signals, tmp_path: Path):
    runs = tmp_path / "runs"
    main = "import sys; from storm_lab.cli import main; main(sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", main, "live", "run", "chain-unacked", "--runs", str(runs)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def a_worker_writes() -> bool:
        assert process.poll() is None
        return any(any(place.folder.glob("play/run1/*/records/*")) for place in places())

    try:
        wait("rows of a worker", a_worker_writes)
        assert len(list(runs.glob("live/.partial-*"))) == 1
        (place,) = places()
        process.send_signal(number)
        process.communicate(timeout=60)
    finally:
        # Has no effect on a process that has ended; otherwise its cluster ends with it.
        process.terminate()
        process.wait(timeout=60)
    if number == signal.SIGKILL:
        assert [record.token for record in remove_orphans()] == [place.record.token]
    assert_nothing_is_left(place.record)
    assert list((runs / "live").iterdir()) == []


@pytest.mark.slow
def test_a_daemon_that_ends_is_reported_in_one_line(tmp_path: Path):
    # The class does not exist, so Nimbus ends while it starts.
    with pytest.raises(Exception, match=r"^nimbus on master has ended") as error:
        LiveStorm("2.8.3", NODES, settings={"storm.scheduler": "no.such.Scheduler"}).start()
    assert "\n" not in str(error.value)
    assert remove_orphans() == []
    assert not [pid for pid in all_pids() if _is_marked(pid)]


def _is_marked(pid: int) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    # Other clusters may run at the same time: only those in this test's state folder count.
    return f"{MARK}=".encode() in environment and str(state_folder()).encode() in environment


def test_both_resolvers_fetch_identical_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    brought = {}
    maven = maven_program()
    if maven is None:
        pytest.skip("Maven is not installed")
    for resolver, program in (("maven", maven), ("ivy", None)):
        monkeypatch.setattr("storm_lab.live.jars.maven_program", lambda program=program: program)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / resolver))
        said: list[str] = []
        monkeypatch.setattr("storm_lab.live.jars._tell", said.append)
        (jar,) = fetch_jars("ecj")
        brought[resolver] = jar.read_bytes()
        assert len(said) == 1
        assert sorted(path.name for path in jar.parent.parent.iterdir()) == [".lock", "ecj"]
    assert brought["maven"] == brought["ivy"]
