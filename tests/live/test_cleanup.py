"""Cleaning up finds and removes everything that belongs to a cluster, and nothing else."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from storm_lab.live.processes import MARK, end_all, kill, listens, marked, signals_deferred, started_ns
from storm_lab.live.records import Place, places, processes_of, remove_cluster, remove_orphans, state_folder

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of this test's own clusters, also for the programs that it starts."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return state_folder()


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that the test has started; all are killed when it ends."""
    found: list[subprocess.Popen[bytes]] = []
    yield found
    for process in found:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def sleeper(started: list[subprocess.Popen[bytes]], token: str | None) -> subprocess.Popen[bytes]:
    mark = {} if token is None else {MARK: token}
    process = subprocess.Popen(SLEEPER, env=dict(os.environ) | mark, stdout=subprocess.PIPE)
    started.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process


def token_of_killed_command() -> str:
    """Make a cluster in a process that is then killed, and return the cluster's token."""
    script = (
        "import os, signal; from storm_lab.live.records import Place\n"
        "print(Place.make('2.8.3').record.token, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    return done.stdout.strip()


def test_processes_are_found_by_their_mark(started: list[subprocess.Popen[bytes]]):
    mine, other = sleeper(started, "aaa111"), sleeper(started, "bbb222")
    assert marked("aaa111") == [mine.pid]
    assert marked("bbb222") == [other.pid]
    assert marked("ccc333") == []


def test_only_processes_of_the_cluster_are_killed(started: list[subprocess.Popen[bytes]], root: Path):
    place = Place.make("2.8.3")
    mine, other = sleeper(started, place.record.token), sleeper(started, None)
    assert processes_of(place.record) == [mine.pid]
    remove_cluster(place)
    assert mine.wait() == -9
    assert other.poll() is None
    assert not place.folder.exists()


def test_child_processes_are_killed_with_their_parent(started: list[subprocess.Popen[bytes]]):
    mother = (
        "import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); print('up', flush=True)\n"
        "time.sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", mother, *SLEEPER],
        env=dict(os.environ) | {MARK: "ddd444"},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    started.append(process)
    assert process.stdout is not None
    process.stdout.readline()
    while len(marked("ddd444")) < 2:
        time.sleep(0.01)
    assert end_all(lambda: marked("ddd444")) == []
    assert marked("ddd444") == []


def test_a_signal_is_sent_only_if_the_pid_still_names_the_same_process(
    started: list[subprocess.Popen[bytes]],
):
    process = sleeper(started, None)
    assert not kill(process.pid, lambda pid: False)
    assert process.poll() is None
    assert kill(process.pid, lambda pid: True)
    process.wait()
    assert not kill(process.pid, lambda pid: True)


def test_a_cluster_whose_owner_is_running_is_left_alone(root: Path):
    place = Place.make("2.8.3")
    script = "from storm_lab.live.records import remove_orphans; print(len(remove_orphans(kept_too=True)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert place.folder.is_dir()
    place.remove()


def test_the_next_command_removes_what_a_killed_one_left(started: list[subprocess.Popen[bytes]], root: Path):
    token = token_of_killed_command()
    process = sleeper(started, token)
    assert [record.token for record in remove_orphans()] == [token]
    assert process.wait() == -9
    assert list(root.iterdir()) == []


def test_a_cluster_left_on_purpose_is_removed_only_on_request(root: Path):
    place = Place.make("2.8.3")
    place.release()
    assert remove_orphans() == []
    assert [record.kept for record in remove_orphans(kept_too=True)] == [True]
    assert list(places()) == []


def test_after_a_reboot_only_files_of_a_cluster_are_removed(
    started: list[subprocess.Popen[bytes]], root: Path
):
    place = Place.make("2.8.3")
    place.note(boot="another")
    process = sleeper(started, place.record.token)
    remove_cluster(place)
    assert process.poll() is None, "a process of this run of the machine cannot be the cluster's"
    assert not place.folder.exists()


def test_a_cluster_left_on_purpose_is_removed_after_a_reboot(root: Path):
    place = Place.make("2.8.3")
    place.note(boot="another")
    place.release()
    assert [record.token for record in remove_orphans()] == [place.record.token]
    assert list(root.iterdir()) == []


def test_a_cluster_with_an_unreadable_record_is_still_removed(root: Path):
    place = Place.make("2.8.3")
    token = place.record.token
    (place.folder / "record.json").write_text("{")
    place.disown()
    assert [record.token for record in remove_orphans()] == [token]
    assert list(root.iterdir()) == []


def test_incomplete_run_folders_elsewhere_are_removed_with_the_cluster(root: Path, tmp_path: Path):
    place = Place.make("2.8.3")
    half = tmp_path / "runs" / ".partial-run-1"
    half.mkdir(parents=True)
    whole = tmp_path / "runs" / "other"
    whole.mkdir()
    place.note(files=(str(half), str(tmp_path / "runs" / "finished")))
    place.disown()
    assert [record.files[0] for record in remove_orphans()] == [str(half)]
    assert list((tmp_path / "runs").iterdir()) == [whole]


def test_ctrl_c_is_deferred_until_cleaning_up_is_done_while_other_threads_run():
    # Spark may have set a handler earlier in this session, and a shell's background job ignores SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    cleared = False
    try:
        with pytest.raises(KeyboardInterrupt), signals_deferred():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            cleared = True
    finally:
        over.set()
        other.join()
        after = signal.signal(signal.SIGINT, before)
    assert cleared
    assert after is signal.default_int_handler
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


def test_start_times_of_processes_are_on_the_monotonic_clock(started: list[subprocess.Popen[bytes]]):
    before = time.monotonic_ns()
    process = sleeper(started, None)
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert before - 2 * tick <= started_ns(process.pid) <= time.monotonic_ns() + tick
    with pytest.raises(ProcessLookupError):
        started_ns(2**22 + 1)


def test_a_listening_port_is_found_only_at_its_address():
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.7", 0))
        server.listen()
        port = server.getsockname()[1]
        assert listens(os.getpid(), port, "127.0.0.7")
        assert listens(os.getpid(), port)
        assert not listens(os.getpid(), port, "127.0.0.8")
    assert not listens(os.getpid(), port)
