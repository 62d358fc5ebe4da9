"""What belongs to a cluster is found and removed, and nothing else."""

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
    """Folder of clusters that are the test's own, also for the programs that it starts."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return state_folder()


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that the test has started; none outlives it."""
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


def killed_command() -> str:
    """A cluster whose owner was killed; its token."""
    script = (
        "import os, signal; from storm_lab.live.records import Place\n"
        "print(Place.make('2.8.3').record.token, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    return done.stdout.strip()


def test_processes_are_told_by_their_mark(started: list[subprocess.Popen[bytes]]):
    mine, other = sleeper(started, "aaa111"), sleeper(started, "bbb222")
    assert marked("aaa111") == [mine.pid]
    assert marked("bbb222") == [other.pid]
    assert marked("ccc333") == []


def test_only_what_belongs_to_the_cluster_is_ended(started: list[subprocess.Popen[bytes]], root: Path):
    place = Place.make("2.8.3")
    mine, other = sleeper(started, place.record.token), sleeper(started, None)
    assert processes_of(place.record) == [mine.pid]
    remove_cluster(place)
    assert mine.wait() == -9
    assert other.poll() is None
    assert not place.folder.exists()


def test_a_process_that_starts_another_while_it_is_killed_takes_it_along(
    started: list[subprocess.Popen[bytes]],
):
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


def test_a_signal_never_reaches_a_process_that_is_another_by_now(started: list[subprocess.Popen[bytes]]):
    process = sleeper(started, None)
    assert not kill(process.pid, lambda pid: False)
    assert process.poll() is None
    assert kill(process.pid, lambda pid: True)
    process.wait()
    assert not kill(process.pid, lambda pid: True)


def test_a_cluster_whose_owner_lives_is_left_alone(root: Path):
    place = Place.make("2.8.3")
    script = "from storm_lab.live.records import remove_orphans; print(len(remove_orphans(kept_too=True)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert place.folder.is_dir()
    place.remove()


def test_a_killed_command_leaves_what_the_next_one_removes(
    started: list[subprocess.Popen[bytes]], root: Path
):
    token = killed_command()
    process = sleeper(started, token)
    assert [record.token for record in remove_orphans()] == [token]
    assert process.wait() == -9
    assert list(root.iterdir()) == []


def test_a_cluster_that_was_left_on_purpose_stays_until_it_is_asked_for(root: Path):
    place = Place.make("2.8.3")
    place.release()
    assert remove_orphans() == []
    assert [record.kept for record in remove_orphans(kept_too=True)] == [True]
    assert list(places()) == []


def test_after_a_restart_of_the_machine_only_files_are_left(
    started: list[subprocess.Popen[bytes]], root: Path
):
    place = Place.make("2.8.3")
    place.note(boot="another")
    process = sleeper(started, place.record.token)
    remove_cluster(place)
    assert process.poll() is None, "a process of this run of the machine cannot be the cluster's"
    assert not place.folder.exists()


def test_a_cluster_that_was_left_on_purpose_does_not_outlive_the_machines_restart(root: Path):
    place = Place.make("2.8.3")
    place.note(boot="another")
    place.release()
    assert [record.token for record in remove_orphans()] == [place.record.token]
    assert list(root.iterdir()) == []


def test_a_record_that_cannot_be_read_still_names_its_cluster(root: Path):
    place = Place.make("2.8.3")
    token = place.record.token
    (place.folder / "record.json").write_text("{")
    place.disown()
    assert [record.token for record in remove_orphans()] == [token]
    assert list(root.iterdir()) == []


def test_half_written_folders_elsewhere_go_with_the_cluster(root: Path, tmp_path: Path):
    place = Place.make("2.8.3")
    half = tmp_path / "runs" / ".partial-run-1"
    half.mkdir(parents=True)
    whole = tmp_path / "runs" / "other"
    whole.mkdir()
    place.note(files=(str(half), str(tmp_path / "runs" / "finished")))
    place.disown()
    assert [record.files[0] for record in remove_orphans()] == [str(half)]
    assert list((tmp_path / "runs").iterdir()) == [whole]


def test_a_second_ctrl_c_waits_for_the_clearing_up_whichever_thread_the_kernel_gives_it_to():
    # Spark sets one of its own in a session that was here earlier; a shell's background job ignores it.
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


def test_start_times_are_on_the_clock_of_java(started: list[subprocess.Popen[bytes]]):
    before = time.monotonic_ns()
    process = sleeper(started, None)
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert before - 2 * tick <= started_ns(process.pid) <= time.monotonic_ns() + tick
    with pytest.raises(ProcessLookupError):
        started_ns(2**22 + 1)


def test_a_listener_is_seen_at_its_address_only():
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.7", 0))
        server.listen()
        port = server.getsockname()[1]
        assert listens(os.getpid(), port, "127.0.0.7")
        assert listens(os.getpid(), port)
        assert not listens(os.getpid(), port, "127.0.0.8")
    assert not listens(os.getpid(), port)
