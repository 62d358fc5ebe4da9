"""A pool of processes that do tasks one at a time: emulations, metrics, notebooks.

The processes ignore Ctrl-C. The parent asks them to stop, waits until each has cleaned up, and only then
passes the interruption on. If the parent is killed, they clean up and end by themselves.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar, cast

from storm_lab.errors import StormLabError, UserError, exception_summary, explained
from storm_lab.machine.process_end import describe_exit_status, end_with_parent, is_sigterm, signal_handled

Advance = Callable[[float], None]
"""Called with the share of a task that is done, 0 to 1."""

_Pipe: TypeAlias = "Connection[Any, Any]"
_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_SCRIPT = b"__main__"
"""Occurs in a pickled task that refers to something in the user's script."""

_GRACE_S = 20.0
_PAUSE_S = 0.1
"""Least time between two progress messages of a task: more are not visible, and each wakes the parent."""


class TaskFailed(StormLabError):
    """A task ended with a defect of the program; carries the traceback of the other process."""


def pass_on(task: object, error: StormLabError) -> None:
    """Raise the error of a failed task."""
    raise error


class Pool(Generic[_Task, _Result]):
    """Processes that do tasks; ``name`` gives a task's name in messages.

    ``work`` is sent to other processes, so it is a function of a module or a partial of one.
    """

    def __init__(
        self, jobs: int, work: Callable[[_Task, Advance], _Result], *, name: Callable[[_Task], str] = str
    ) -> None:
        self._jobs = jobs
        self._work = work
        self._name = name
        self._workers: dict[_Pipe, SpawnProcess] = {}
        self._doing: dict[_Pipe, int] = {}
        self._needs_script = False

    def do(
        self,
        tasks: Sequence[_Task],
        advance: Callable[[int, float], None] = lambda number, share: None,
        fail: Callable[[_Task, StormLabError], None] = pass_on,
    ) -> dict[int, _Result]:
        """Do all tasks and return the results by the tasks' numbers.

        ``advance`` is called with a task's number and the share of it that is done, finally 1. ``fail`` is
        called with a task that failed and its error, `TaskFailed` if it raised no `StormLabError` or its
        process died. By default it raises that error; if it returns, that task has no result. All processes
        are stopped before an error or an interruption is passed on.
        """
        self._needs_script = _SCRIPT in pickle.dumps((self._work, list(tasks)))
        try:
            results = self._run(tasks, advance, fail)
        except BaseException:
            self._stop()
            raise
        for pipe in self._workers:
            pipe.close()
        self._join()
        return results

    def _start(self) -> _Pipe:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        # The process must ignore Ctrl-C before it can do so itself.
        with signal_handled(signal.SIGINT, signal.SIG_IGN), _script_not_rerun(self._needs_script):
            process = context.Process(target=_serve, args=(theirs, self._work), daemon=True)
            process.start()
        theirs.close()
        self._workers[ours] = process
        return ours

    def _run(
        self,
        tasks: Sequence[_Task],
        advance: Callable[[int, float], None],
        fail: Callable[[_Task, StormLabError], None],
    ) -> dict[int, _Result]:
        results: dict[int, _Result] = {}
        waiting = list(enumerate(tasks))
        for pipe in [self._start() for _ in range(min(self._jobs, len(tasks)))]:
            self._hand(pipe, waiting)
        while self._doing:
            for pipe in cast("list[_Pipe]", connection.wait(list(self._doing))):
                number = self._doing[pipe]
                try:
                    message = pipe.recv()
                except (EOFError, ConnectionResetError):
                    fail(tasks[number], self._death(pipe, tasks[number]))
                    advance(self._doing.pop(pipe), 1.0)
                    if waiting:
                        self._hand(self._start(), waiting)
                    continue
                if isinstance(message, tuple):
                    share, done, result = message
                    if done:
                        results[number] = result
                else:
                    if not isinstance(message, StormLabError):
                        message = TaskFailed(f"{self._name(tasks[number])} failed\n{message}")
                    fail(tasks[number], message)
                    share, done = 1.0, True
                advance(number, share)
                if done:
                    del self._doing[pipe]
                    self._hand(pipe, waiting)
        return results

    def _hand(self, pipe: _Pipe, waiting: list[tuple[int, _Task]]) -> None:
        if waiting:
            number, task = waiting.pop(0)
            self._doing[pipe] = number
            # A process that died since its last task is noticed when its answer is read.
            with suppress(BrokenPipeError):
                pipe.send(task)

    def _death(self, pipe: _Pipe, task: _Task) -> StormLabError:
        """Forget a process whose pipe is closed, and describe how it ended."""
        process = self._workers.pop(pipe)
        pipe.close()
        process.join(_GRACE_S)
        ended = "closed its pipe" if process.exitcode is None else describe_exit_status(process.exitcode)
        process.kill()
        process.join()
        return TaskFailed(f"the process of {self._name(task)} {ended}")

    def _stop(self) -> None:
        """End the processes; each cleans up after itself."""
        for process in self._workers.values():
            process.terminate()
        self._join()

    def _join(self) -> None:
        """Wait for the processes, and kill those that a thread of the played code keeps from ending."""
        try:
            for process in self._workers.values():
                process.join(_GRACE_S)
        finally:
            for pipe, process in self._workers.items():
                process.kill()
                process.join()
                pipe.close()


@contextmanager
def _script_not_rerun(needed: bool) -> Iterator[None]:
    """Keep processes started in this block from running the user's script again, unless a task refers to it.

    A plain script therefore does not need ``if __name__ == "__main__"``.
    """
    script = vars(sys.modules["__main__"])
    file = None if needed else script.pop("__file__", None)
    try:
        yield
    finally:
        if file is not None:
            script["__file__"] = file


def _reporter(pipe: _Pipe) -> Advance:
    """Function that sends a task's progress to the parent, at once and then from time to time."""
    due_s = 0.0

    def advance(share: float) -> None:
        nonlocal due_s
        now_s = time.monotonic()
        if now_s >= due_s:
            due_s = now_s + _PAUSE_S
            pipe.send((min(share, 1.0), False, None))

    return advance


def _serve(pipe: _Pipe, work: Callable[[Any, Advance], Any]) -> None:
    """Main function of a process of the pool."""
    # Standard output is for the answers of the parent, not for prints of the tasks.
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # SystemExit unwinds through what the task has open, so that nothing incomplete is left.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    end_with_parent(_GRACE_S)
    quiet_gateway()
    try:
        _work_until_told(pipe, work)
    except (BrokenPipeError, ConnectionResetError):
        # The parent is gone, and the task has already cleaned up.
        os._exit(1)


def quiet_gateway() -> None:
    """Drop what PySpark's gateway logs in this process, also with the root logger: it raises it, too."""
    logging.getLogger("py4j").propagate = False
    logging.getLogger().addFilter(lambda record: Path(record.pathname).parent.name != "py4j")


def _work_until_told(pipe: _Pipe, work: Callable[[Any, Advance], Any]) -> None:
    """Do the tasks that come through the pipe until it is closed."""
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            result = work(task, _reporter(pipe))
        except BrokenPipeError:
            raise
        except SystemExit as error:
            if is_sigterm(error):
                raise
            # The code that is played must not end the process for all other tasks.
            what = f"the code that is played ends the process: {exception_summary(error)}"
            pipe.send(UserError(what, field="run"))
        except Exception as error:
            pipe.send(explained(error) or traceback.format_exc())
        else:
            pipe.send((1.0, True, result))
