"""Emulations of a few rows, for tests of how runs are played; imported by the playing processes too."""

import errno
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import Parameters
from storm_lab.model.version import V0_8_2
from storm_lab.runs.play import play_description
from storm_lab.runs.pool import Advance
from storm_lab.tuplelog import RunWriter

Play = Callable[[RunSpec, RunWriter, Advance], None]


@dataclass(frozen=True)
class TinyDescription:
    """A description that is played without the emulator."""

    spec: RunSpec
    play: Play


@play_description.register
def _(description: TinyDescription, writer: RunWriter, advance: Advance) -> None:
    description.play(description.spec, writer, advance)


@dataclass(frozen=True)
class Described:
    """Describes runs that the given function plays; can be pickled."""

    play: Play

    def __call__(self, spec: RunSpec) -> EmulationSpec:
        return cast(EmulationSpec, TinyDescription(spec, self.play))


def spec(variant: str, play: Play, seed: int = 1, **parameters: int) -> RunSpec:
    return RunSpec("tiny", variant, seed, Parameters(parameters), Described(play), V0_8_2)


def write_roots(writer: RunWriter, rows: int, latency_ns: int = 500) -> None:
    numbers = np.arange(rows, dtype=np.int64)
    writer.append(
        "roots",
        {
            "root_id": numbers,
            "topology": ["t"] * rows,
            "spout_task": np.ones(rows, np.int32),
            "line": numbers,
            "attempt": np.zeros(rows, np.int16),
            "emit_ns": numbers * 1000,
            "complete_ns": numbers * 1000 + latency_ns,
            "outcome": ["acked"] * rows,
            "latency_ns": np.full(rows, latency_ns, np.int64),
            "sleep_ns": np.zeros(rows, np.int64),
        },
    )

    writer.append(
        "placements",
        {
            "topology": ["t"],
            "component": ["spout"],
            "start_task": np.ones(1, np.int32),
            "end_task": np.ones(1, np.int32),
            "worker": np.zeros(1, np.int32),
            "node": ["n1"],
            "port": np.full(1, 6700, np.int32),
            "start_ns": np.zeros(1, np.int64),
            "end_ns": np.full(1, -1, np.int64),
        },
    )


def quick(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Write as many rows as the seed."""
    note_played()
    write_roots(writer, spec.seed)
    advance(0.5)
    writer.finish(duration_ns=10**9)


def timed(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Write tuples whose latency in milliseconds is the seed."""
    note_played()
    write_roots(writer, 5, spec.seed * 10**6)
    writer.finish(duration_ns=10**9)


def slow(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Write some rows, then take a minute."""
    note_played()
    write_roots(writer, 5)
    for step in range(600):
        advance(step / 600)
        time.sleep(0.1)
    writer.finish(duration_ns=10**9)


def unfinished(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Write some rows without finishing the run."""
    write_roots(writer, 5)


def refusing(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Raise an error for a mistake of the user."""
    raise UserError("is too high", field="rate", value=9, remedy="lower it")


def broken(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Raise an error for a defect."""
    raise ZeroDivisionError("a defect")


def outgrowing(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Raise what the system raises when a file reaches the limit of its size."""
    raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


def dying(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Kill the process, as a machine that runs out of memory does."""
    write_roots(writer, 5)
    os.kill(os.getpid(), signal.SIGKILL)


def note_played() -> None:
    """Create a mark for a run that is actually played, if the test uses ``marks``."""
    folder = os.environ.get("TINY_RUNS_MARKS")
    if folder:
        mark = Path(folder) / f"{os.getpid()}-{time.monotonic_ns()}"
        mark.touch()


def give(value: object, advance: Advance) -> object:
    """Return the value; a task that is not a run."""
    return value


def refuse(advance: Advance) -> object:
    """Raise an error for a mistake of the user; a task that is not a run."""
    raise UserError("told")
