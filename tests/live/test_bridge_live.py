"""Schedulers of storm_lab drive a real Nimbus, and none of their errors stops it. Starts daemons."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.java_build import SUBMIT_CLASS, player_jar
from storm_lab.live.netns import why_no_namespaces
from storm_lab.live.play import Stage, open_stage
from storm_lab.live.records import Place, places
from storm_lab.live.releases import RELEASES, find_release
from storm_lab.live.request import Known
from storm_lab.machine.java import find_java
from storm_lab.machine.places import project_root
from storm_lab.model import Assignment, Slot, StormVersion
from storm_lab.monitoring.monitor import MonitorPlan
from storm_lab.monitoring.online_scheduling import OnlineScheduling
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, TopologyStatus
from storm_lab.schedulers.papers.tstorm import TStormParameters, TStormScheduler
from storm_lab.schedulers.scheduler_file import scheduler_of
from storm_lab.schedulers.storm.default import DefaultScheduler
from tests.live.leavings import assert_nothing_is_left
from tests.live.real_cluster import NODES, chain_plan, export_chain, played, wait
from tests.live.test_collect import CHAIN

pytestmark = pytest.mark.live


class Moody(Scheduler[Any]):
    """Calls the function in ``mood``."""

    name = "moody"
    version = "1"
    mood: Callable[[Any], Any]

    def schedule(self, view):
        return self.mood(view)


def _in_one_slot(slot: Slot) -> Callable[[Any], SchedulingResult]:
    def schedule(view):
        pairs = [(e, slot) for t in view.topologies for e in view.executors[t.id]]
        return SchedulingResult(
            Assignment.of(pairs), {t.id: TopologyStatus(True, "all together") for t in view.topologies}
        )

    return schedule


def _raises(view):
    raise ZeroDivisionError("what now")


def _until(what: str, true: Callable[[], bool]) -> None:
    wait(what, true, seconds=90.0)


def _hosts(stage: Stage) -> set[tuple[str, int]]:
    return {(row["host"], row["port"]) for row in stage.storm.info("chain")["executors"]}


def _submit(stage: Stage, tmp_path: Path) -> None:
    version = stage.release.storm
    stage.bridge.policy.known = Known(
        version, NODES, {stage.storm.address(n.id): n.id for n in NODES.nodes}, {"chain": CHAIN}
    )
    folder = export_chain(version, tmp_path / "plan", tmp_path / "records", 10.0)
    stage.storm.submit("chain", stage.jar, SUBMIT_CLASS, str(folder))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.8", "1.2", "0.9.2"])
def test_nimbus_survives_errors_of_a_scheduler(version: str, tmp_path: Path):
    with open_stage(version, NODES) as stage:
        policy, storm = stage.bridge.policy, stage.storm
        moody = Moody()
        moody.mood = _raises
        policy.scheduler = moody

        def problem() -> str:
            return stage.bridge.rounds[-1].problem if stage.bridge.rounds else ""

        def scheduled(words: str) -> bool:
            # Storm before 1.0 does not keep the status that its scheduler sets.
            return version.startswith("0.9") or words in storm.info("chain")["scheduled"]

        _submit(stage, tmp_path)
        _until("exception", lambda: "ZeroDivisionError" in problem())
        _until("status", lambda: scheduled("moody: ZeroDivisionError: what now"))
        assert storm.workers() == []
        # The slot does not exist: nothing is placed, and Nimbus keeps running.
        moody.mood = _in_one_slot(Slot("nowhere", 1))
        _until("refusal", lambda: "does not have" in problem())
        storm.check()
        here, there = Slot("n1", 6700), Slot("n2", 6701)
        moody.mood = _in_one_slot(here)
        _until("placement", lambda: _hosts(stage) == {(storm.address("n1"), 6700)})
        _until("worker", lambda: [worker.slot for worker in storm.workers()] == [here])
        # A running topology is moved without a rebalance command ...
        moody.mood = _in_one_slot(there)
        _until("move", lambda: _hosts(stage) == {(storm.address("n2"), 6701)})
        # ... and keeps its slots while the scheduler fails and while the bridge does not answer.
        moody.mood = _raises
        rounds = len(stage.bridge.rounds)
        _until("next round", lambda: len(stage.bridge.rounds) > rounds)
        assert _hosts(stage) == {(storm.address("n2"), 6701)}
        hidden = stage.bridge.path.with_suffix(".away")
        stage.bridge.path.rename(hidden)
        _until("silence", lambda: version.startswith("0.9") or scheduled("no answer from"))
        storm.check()
        assert _hosts(stage) == {(storm.address("n2"), 6701)}
        hidden.rename(stage.bridge.path)
        policy.scheduler = DefaultScheduler()
        _until("default scheduler", lambda: scheduled("Fully Scheduled"))
        storm.kill("chain")


@pytest.mark.slow
def test_t_storm_moves_a_chain_to_one_node_by_its_measured_load(tmp_path: Path):
    spec = EmulationSpec(
        NODES,
        RELEASES["2.8.3"].storm,
        (chain_plan(RELEASES["2.8.3"].storm, 300.0),),
        DefaultScheduler(),
        duration_s=120.0,
        services=(
            OnlineScheduling(
                TStormScheduler(TStormParameters(gamma=3.0)),
                MonitorPlan(alpha=0.5),
                period_s=15.0,
                fetch_s=3.0,
                overload=None,
            ),
        ),
        window_s=3.0,
    )
    run = played(spec, "2.8", tmp_path / "run")
    control = run.table("control").to_pylist()
    actions = [row["action"] for row in control]
    assert {"use-policy", "start-clock", "generate-schedule", "fetch-schedule", "assign"} <= set(actions)
    assigned = [row for row in control if row["action"] == "assign"]
    assert '"n1:6700"' in assigned[0]["detail"]
    assert '"n2:6700"' in assigned[0]["detail"]
    stays = run.table("placements").to_pylist()
    last = {row["component"]: row["node"] for row in stays if row["end_ns"] is None}
    assert set(last) == {"spout", "bolt1", "bolt2", "__acker"}
    assert len(set(last.values())) == 1
    # Tuples flow after the move.
    moved = max(row["time_ns"] for row in assigned)
    assert any(
        row["outcome"] == "acked" and row["emit_ns"] > moved + 5e9 for row in run.table("roots").to_pylist()
    )


@pytest.mark.slow
def test_without_a_description_of_the_run_the_view_is_read_from_nimbus(tmp_path: Path):
    with open_stage("2.8", NODES) as stage:
        _submit(stage, tmp_path)
        stage.bridge.policy.known = Known(None)
        _until("placement", lambda: any(made.moved for made in stage.bridge.rounds))
        view = stage.bridge.policy.view
        assert view is not None
        assert view.version == StormVersion((2, 8, 3))
        assert {c.id for c in view.topologies[0].components} == {"spout", "bolt1", "bolt2"}
        assert stage.bridge.rounds[-1].problem == ""
        stage.storm.kill("chain")


def _readme_scheduler(tmp_path: Path) -> str:
    """Write README's class to a file and return the FILE:CLASS argument of README's command."""
    text = (project_root() / "README.md").read_text(encoding="utf-8")
    code = next(
        part.split("```")[0] for part in text.split("```python\n") if "Scheduler[" in part.split("```")[0]
    )
    command = next(line for line in text.splitlines() if "storm-lab live scheduler" in line)
    file, _, name = command.split()[3].partition(":")
    (tmp_path / file).write_text(code, encoding="utf-8")
    return f"{tmp_path / file}:{name}"


@pytest.mark.slow
def test_the_scheduler_of_the_readme_drives_nimbus(tmp_path: Path):
    with open_stage("2.8", NODES) as stage:
        stage.bridge.policy.scheduler = scheduler_of(_readme_scheduler(tmp_path))
        _submit(stage, tmp_path)
        # It fills one node before it uses the next.
        _until(
            "placement",
            lambda: _hosts(stage) == {(stage.storm.address("n1"), 6700), (stage.storm.address("n1"), 6701)},
        )
        assert stage.bridge.rounds[-1].problem == ""
        stage.storm.kill("chain")


def _storm_lab(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from storm_lab.cli import main; main()", *arguments]


def _submit_from_inside(place: Place, version: StormVersion, tmp_path: Path) -> None:
    """Submit the chain to a running cluster as a user's own program does."""
    plan = export_chain(version, tmp_path / "plan", tmp_path / "records", 10.0)
    jar = player_jar(find_release(str(version)))
    master = place.folder / "host0"
    inside = ["nsenter", f"--net=/run/netns/sl-{place.record.token}-0"]
    java = [str(find_java().home / "bin" / "java"), f"-Dstorm.jar={jar}", f"-Dstorm.home={master / 'home'}"]
    words = ["-cp", f"{master / 'home' / 'lib'}/*:{master / 'conf'}:{jar}", SUBMIT_CLASS, str(plan)]
    command = [*inside, *java, "-Dstorm.conf.file=", "-Dstorm.options=", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_readmes_commands_connect_nimbus_to_a_scheduler_class_in_a_file(tmp_path: Path):
    if why_no_namespaces() is not None:
        pytest.skip("hosts without a network of their own")
    socket = tmp_path / "nimbus"
    subprocess.run(_storm_lab("live", "up", "--socket", str(socket)), check=True, capture_output=True)
    answers = subprocess.Popen(
        _storm_lab("live", "scheduler", _readme_scheduler(tmp_path), "--socket", str(socket)),
        stdout=subprocess.PIPE,
        text=True,
    )
    guard = threading.Timer(90.0, answers.kill)
    guard.start()
    try:
        (place,) = places()
        _submit_from_inside(place, RELEASES["2.8.3"].storm, tmp_path)
        assert answers.stdout is not None
        assert ": 2 workers on 1 node, in " in answers.stdout.readline()
    finally:
        guard.cancel()
        answers.send_signal(signal.SIGINT)
        answers.communicate(timeout=60)
        down = subprocess.run(_storm_lab("live", "down"), check=True, capture_output=True, text=True)
    assert answers.returncode == 0
    assert not socket.exists()
    assert "removed completely" in down.stdout
    assert_nothing_is_left(place.record)
