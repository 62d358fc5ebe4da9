"""Tasks in other processes: results keep their order, and every failure names its task."""

import errno
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from py4j import java_gateway

from storm_lab.errors import StormLabError, UserError
from storm_lab.runs.pool import Advance, Pool, TaskFailed


def double(task: int, advance: Advance) -> int:
    """The first tasks take longest, so that they end in another order."""
    time.sleep(0.3 / (1 + task))
    advance(0.5)
    return 2 * task


def half(task: int, advance: Advance) -> float:
    return task / 2


def refuse(task: int, advance: Advance) -> int:
    raise UserError("not this one", field="task", value=str(task), remedy="take another")


def stumble(task: int, advance: Advance) -> int:
    return 1 // task


def die(task: int, advance: Advance) -> int:
    os._exit(3)


def test_results_come_in_the_order_of_the_tasks() -> None:
    seen: list[tuple[int, float]] = []
    results = Pool(2, double).do([0, 1, 2], lambda number, share: seen.append((number, share)))
    assert results == {0: 0, 1: 2, 2: 4}
    assert sorted(seen) == [(n, share) for n in range(3) for share in (0.5, 1.0)]


def test_no_tasks_give_no_results() -> None:
    assert Pool(2, double).do([]) == {}


def test_a_mistake_of_the_user_is_raised_unchanged() -> None:
    with pytest.raises(UserError, match="task = '7': not this one"):
        Pool(1, refuse).do([7])


def test_a_defect_names_its_task_and_has_the_traceback() -> None:
    with pytest.raises(TaskFailed, match=r"(?s)task number 0 failed.*ZeroDivisionError"):
        Pool(1, stumble, name=lambda task: f"task number {task}").do([0])


def outgrow(task: int, advance: Advance) -> int:
    raise OSError(errno.EFBIG, "File too large")


def test_a_limit_of_the_machine_is_one_line_without_a_traceback() -> None:
    with pytest.raises(StormLabError) as raised:
        Pool(1, outgrow).do([5])
    assert "ulimit -f unlimited" in str(raised.value) and "\n" not in str(raised.value)


def test_other_tasks_continue_if_a_failure_callback_is_given() -> None:
    failed: list[int] = []
    results = Pool(1, stumble).do([0, 1, 0, 1], fail=lambda task, error: failed.append(task))
    assert (results, failed) == ({1: 1, 3: 1}, [0, 0])
    assert Pool(1, die).do([1, 2], fail=lambda task, error: failed.append(task)) == {}
    assert failed == [0, 0, 1, 2]


def test_a_process_that_dies_is_named_by_its_task() -> None:
    with pytest.raises(TaskFailed, match="the process of 5 ended with status 3"):
        Pool(1, die).do([5])


class DeadOnArrival:
    """Work whose process ends while it starts, before it reads its task."""

    def __call__(self, task: int, advance: Advance) -> int:
        return task

    def __reduce__(self) -> tuple[object, ...]:
        return os._exit, (3,)


def die_afterwards(task: int, advance: Advance) -> int:
    threading.Timer(0.2, os._exit, [3]).start()
    return task


def linger(number: int, share: float) -> None:
    """Let the process die between two tasks."""
    if share == 1.0:
        time.sleep(1.0)


@pytest.mark.parametrize(
    ("work", "failed"), [(DeadOnArrival(), [1, 2, 3]), (die_afterwards, [2])], ids=["starting", "between"]
)
def test_a_process_that_dies_without_reading_its_task_fails_only_that_task(
    work: Callable[[int, Advance], int], failed: list[int]
) -> None:
    failures: dict[int, str] = {}
    results = Pool(1, work).do([1, 2, 3], linger, lambda task, error: failures.update({task: str(error)}))
    assert failures == {task: f"the process of {task} ended with status 3" for task in failed}
    assert sorted([*results.values(), *failed]) == [1, 2, 3]


def give_way(task: int, advance: Advance) -> int:
    os.kill(os.getpid(), signal.SIGTERM)
    return task


def test_a_process_ended_by_sigterm_is_not_reported_as_out_of_memory() -> None:
    with pytest.raises(TaskFailed) as raised:
        Pool(1, give_way).do([5])
    assert str(raised.value) == "the process of 5 was ended by a signal (SIGTERM)"


def leave(task: int, advance: Advance) -> int:
    if not task:
        sys.exit(3)
    return task


def test_code_that_exits_the_process_fails_only_its_own_task() -> None:
    failed: list[str] = []
    results = Pool(1, leave).do([0, 7], fail=lambda task, error: failed.append(str(error)))
    assert results == {1: 7}
    assert len(failed) == 1 and "ends the process: SystemExit: 3 (test_pool.py, line " in failed[0]


def leave_a_thread(task: int, advance: Advance) -> int:
    threading.Thread(target=time.sleep, args=(3600.0,)).start()
    return task


def test_a_thread_that_a_task_leaves_behind_does_not_keep_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("storm_lab.runs.pool._GRACE_S", 0.5)
    pool = Pool(1, leave_a_thread)
    assert pool.do([3]) == {0: 3}
    assert not multiprocessing.active_children()


def talk(task: int, advance: Advance) -> int:
    print("said by the task")
    return task


def test_the_output_of_a_task_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert Pool(1, talk).do([1]) == {0: 1}
    assert tuple(capfd.readouterr()) == ("", "said by the task\n")


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "from storm_lab.runs.pool import Pool\n"
        "from tests.runs.test_pool import half\n"
        "print(sorted(Pool(2, half).do([2, 4]).items()))\n"
    )
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    made = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env)
    assert (made.returncode, made.stdout, made.stderr) == (0, "[(0, 1.0), (1, 2.0)]\n", "")


def sit(task: str, advance: Advance) -> int:
    """Create a file named after the process, and delete it when the process is asked to end."""
    note = Path(task) / str(os.getpid())
    note.touch()
    try:
        time.sleep(600)
    finally:
        note.unlink()
    return 0


PARENT = """
import sys
from storm_lab.runs.pool import Pool
from tests.runs.test_pool import sit
if __name__ == "__main__":
    Pool(2, sit).do([sys.argv[1]] * 2)
"""


@contextmanager
def started(script: str, folder: Path, argument: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a script with one argument in a process that ends with the block."""
    root = Path(__file__).resolve().parents[2]
    file = folder / "parent.py"
    file.write_text(script)
    command = [sys.executable, str(file), str(argument)]
    parent = subprocess.Popen(command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)})
    try:
        yield parent
    finally:
        parent.kill()


def test_processes_clean_up_and_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    with started(PARENT, tmp_path, notes) as parent:
        while len(children := [int(note.name) for note in notes.iterdir()]) < 2:
            assert parent.poll() is None
            time.sleep(0.05)
        assert all_end_with(parent, children)
        assert list(notes.iterdir()) == []


def stumble_alone(task: str, advance: Advance) -> None:
    """Turn the loss of the parent, while it is being told about progress, into another error."""
    (Path(task) / str(os.getpid())).touch()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        while True:
            advance(0.5)
            time.sleep(0.05)
    except BrokenPipeError as error:
        raise ValueError("a library wraps it") from error


def test_processes_end_silently_when_their_parent_is_killed_in_the_middle_of_a_task(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    with started(PARENT.replace("sit", "stumble_alone"), tmp_path, notes) as parent:
        while len(children := [int(note.name) for note in notes.iterdir()]) < 2:
            assert parent.poll() is None
            time.sleep(0.05)
        assert all_end_with(parent, children)
    assert tuple(capfd.readouterr()) == ("", "")


def log_as_the_gateway_does(task: int, advance: Advance) -> None:
    for logger in ("logging", "logging.getLogger('py4j.clientserver')"):
        exec(compile(f"{logger}.error('it ends')", java_gateway.__file__, "exec"), {"logging": logging})
    logging.error("of our own")


def test_log_messages_of_pysparks_gateway_are_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    Pool(1, log_as_the_gateway_does).do([1])
    assert capfd.readouterr().err == "ERROR:root:of our own\n"


def all_end_with(parent: subprocess.Popen[bytes], children: list[int]) -> bool:
    """Kill a process, and return whether its children are gone within a minute."""
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    end = time.monotonic() + 60
    while any(map(is_alive, children)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(is_alive, children))


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # In a container, orphans may stay as zombies, which do nothing any more.
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
