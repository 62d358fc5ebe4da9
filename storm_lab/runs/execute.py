"""Playing the runs of an experiment: a few processes, each run kept as soon as it is whole.

A run that lies complete in its folder is reused, so that an interrupted experiment goes on where it stopped.
The processes ignore Ctrl-C themselves: the parent asks them to stop, waits until each has removed its half
run, and only then passes the interruption on.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, TypeAlias, cast

from tqdm import tqdm

from storm_lab.errors import StormLabError
from storm_lab.papers.experiment import Advance, RunSpec
from storm_lab.platform.places import runs_folder
from storm_lab.runs.digest import identity_of
from storm_lab.tuplelog import RunIdentity, RunRefused, RunWriter, open_run

JOBS = 2
Task = tuple[RunSpec, RunIdentity]
"""A run with its identity, which is taken once: the sources may change while an experiment runs."""

OnFailure = Callable[[RunSpec, StormLabError], None]
"""Told of a run that was refused or failed, so that the others go on."""

_Pipe: TypeAlias = "Connection[Any, Any]"

_GRACE_S = 20.0
_STEPS = 1000


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """A run that lies whole on disk."""

    spec: RunSpec
    folder: Path
    reused: bool


class RunFailed(StormLabError):
    """A run ended with a defect of the program; carries the other process's traceback."""


def run_folder(spec: RunSpec, home: Path | None = None) -> Path:
    """Where the run lies or will lie."""
    return _folder(identity_of(spec), home)


def is_whole(folder: Path) -> bool:
    """Whether a complete run of this schema lies there."""
    try:
        open_run(folder)
    except RunRefused:
        return False
    return True


def play(task: Task, home: Path | None = None, advance: Advance = lambda share: None) -> Path:
    """Play one run in this process and return its folder.

    Raises:
        StormLabError: the emulation refused its input or met a limit of the machine.
    """
    spec, identity = task
    folder = _folder(identity, home)
    with RunWriter(folder, identity) as writer:
        spec.emulate(spec, writer, advance)
    if not is_whole(folder):
        raise RunFailed(f"{spec.emulation_key} returned without finishing run {spec}")
    return folder


def play_all(
    specs: Sequence[RunSpec],
    *,
    home: Path | None = None,
    jobs: int = JOBS,
    show_progress: bool = False,
    fresh: bool = False,
    on_failure: OnFailure | None = None,
) -> tuple[PlayedRun, ...]:
    """Have every run of ``specs`` on disk, in their order; equal runs are played once.

    ``jobs`` processes play at a time; 0 plays in this process. ``show_progress`` draws a bar where stderr is
    a terminal. ``fresh`` plays again what is there. With ``on_failure``, a run that fails is reported to it
    and left out of the result.

    Raises:
        StormLabError: as `play`, without ``on_failure``. Runs that were whole by then are kept.
        KeyboardInterrupt: after all half runs are gone.
    """
    tasks = [(spec, identity_of(spec)) for spec in specs]
    distinct = {identity.run: (spec, identity) for spec, identity in tasks}
    missing = {run: task for run, task in distinct.items() if fresh or not is_whole(_folder(task[1], home))}
    lost: set[str] = set()

    def fail(task: Task, error: StormLabError) -> None:
        if on_failure is None:
            raise error
        lost.add(task[1].run)
        on_failure(task[0], error)

    if missing:
        with progress_bar(len(missing), show_progress) as advance:
            if jobs:
                _Pool(min(jobs, len(missing)), home, advance, fail).play(list(missing.values()))
            else:
                for number, task in enumerate(missing.values()):
                    try:
                        play(task, home, partial(advance, number))
                    except StormLabError as error:
                        fail(task, error)
                    advance(number, 1.0)
    return tuple(
        PlayedRun(spec, _folder(identity, home), identity.run not in missing)
        for spec, identity in tasks
        if identity.run not in lost
    )


def _folder(identity: RunIdentity, home: Path | None) -> Path:
    return (home or runs_folder()) / identity.experiment / identity.run


@contextmanager
def progress_bar(runs: int, show: bool) -> Iterator[Callable[[int, float], None]]:
    """A bar over the virtual time of all runs; yields the function that moves it."""
    # disable=None: no bar where stderr is no terminal.
    with tqdm(
        total=runs * _STEPS,
        disable=None if show else True,
        bar_format="emulating {percentage:3.0f}% |{bar}| {elapsed}<{remaining}",
        file=sys.stderr,
        leave=False,
    ) as bar:
        done = [0] * runs

        def advance(number: int, share: float) -> None:
            steps = min(_STEPS, max(done[number], int(share * _STEPS)))
            bar.update(steps - done[number])
            done[number] = steps

        yield advance


@contextmanager
def _interruptions_ignored() -> Iterator[None]:
    """Processes started in this block are born deaf to Ctrl-C, before they can say so themselves."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Pool:
    """Processes that play runs handed to them one by one."""

    def __init__(
        self,
        jobs: int,
        home: Path | None,
        advance: Callable[[int, float], None],
        fail: Callable[[Task, StormLabError], None],
    ) -> None:
        self._jobs = jobs
        self._home = home
        self._advance = advance
        self._fail = fail
        self._workers: dict[_Pipe, SpawnProcess] = {}
        self._playing: dict[_Pipe, int] = {}

    def play(self, tasks: Sequence[Task]) -> None:
        """Play them all; on any error or interruption stop all processes before passing it on."""
        try:
            for _ in range(self._jobs):
                self._start()
            self._play(tasks)
        except BaseException:
            self._stop()
            raise
        for pipe, process in self._workers.items():
            pipe.close()
            process.join()

    def _start(self) -> _Pipe:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        with _interruptions_ignored():
            process = context.Process(target=_work, args=(theirs, self._home), daemon=True)
            process.start()
        theirs.close()
        self._workers[ours] = process
        return ours

    def _play(self, tasks: Sequence[Task]) -> None:
        waiting = list(enumerate(tasks))
        for pipe in self._workers:
            self._hand(pipe, waiting)
        while self._playing:
            for pipe in cast("list[_Pipe]", connection.wait(list(self._playing))):
                try:
                    message = pipe.recv()
                except EOFError:
                    self._fail(tasks[self._playing[pipe]], self._death(pipe, tasks))
                    self._advance(self._playing.pop(pipe), 1.0)
                    del self._workers[pipe]
                    if waiting:
                        self._hand(self._start(), waiting)
                    continue
                if isinstance(message, StormLabError):
                    self._fail(tasks[self._playing[pipe]], message)
                    message = 1.0, True
                share, whole = message
                self._advance(self._playing[pipe], share)
                if whole:
                    del self._playing[pipe]
                    self._hand(pipe, waiting)

    def _hand(self, pipe: _Pipe, waiting: list[tuple[int, Task]]) -> None:
        if waiting:
            number, task = waiting.pop(0)
            self._playing[pipe] = number
            pipe.send(task)

    def _death(self, pipe: _Pipe, tasks: Sequence[Task]) -> RunFailed:
        process = self._workers[pipe]
        process.join(_GRACE_S)
        code = process.exitcode
        why = (
            f"signal {-code}, perhaps too little memory"
            if code is not None and code < 0
            else f"status {code}"
        )
        return RunFailed(f"the process that played {tasks[self._playing[pipe]][0]} ended with {why}")

    def _stop(self) -> None:
        """End the processes; each removes its half run."""
        for process in self._workers.values():
            process.terminate()
        try:
            for process in self._workers.values():
                process.join(_GRACE_S)
        finally:
            for pipe, process in self._workers.items():
                process.kill()
                process.join()
                pipe.close()


def _work(pipe: _Pipe, home: Path | None) -> None:
    """Main function of a process of the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # SystemExit unwinds through the writer, which removes the half run.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            play(task, home, lambda share: pipe.send((min(share, 1.0), False)))
        except StormLabError as error:
            pipe.send(error)
        except BrokenPipeError:
            # The parent is gone, and the writer has removed the half run on the way here.
            os._exit(1)
        except Exception:
            pipe.send(RunFailed(f"run {task[0]} failed\n{traceback.format_exc()}"))
        else:
            pipe.send((1.0, True))
