"""Playing a description and writing its log; the only place where this is done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from pathlib import Path

from storm_lab.emulator.control.decision_log import Decision
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.runs.pool import Advance
from storm_lab.tuplelog import Run, RunIdentity, RunWriter, Status, open_run


@singledispatch
def play_description(description: object, writer: RunWriter, advance: Advance) -> None:
    """Play what ``describe`` returned and write its log, up to and including `RunWriter.finish`.

    Each kind of description registers its own function; this one is for kinds that have none. ``advance`` is
    called from time to time with the share of the run that has been played, 0 to 1.
    """
    raise TypeError(f"nothing plays a {type(description).__name__}")


@play_description.register
def emulate(description: EmulationSpec, writer: RunWriter, advance: Advance) -> None:
    """Play it in the emulator and record when its steady state turned out to begin."""
    # numba takes a second to import, which is not needed if all runs are on disk.
    from storm_lab.emulator.emulation import Emulation

    outcome = Emulation(description).run(writer, lambda done, total: advance(done / total))
    warm_up_ns, moved_ns = round(description.warm_up_s * NS_PER_S), last_move(outcome.decisions)
    if description.settle_s is not None and moved_ns is not None:
        warm_up_ns = max(warm_up_ns, moved_ns + round(description.settle_s * NS_PER_S))
    writer.finish(
        duration_ns=outcome.duration_ns,
        warm_up_ns=warm_up_ns,
        status=Status.STOPPED if outcome.stopped else Status.COMPLETE,
        reason=outcome.stopped,
    )


def last_move(decisions: Sequence[Decision]) -> int | None:
    """Return the time of the last move in nanoseconds, or None if there was none.

    A move is a new slot for an executor of a topology that already had an assignment, or a rebalance, which
    switches off the spouts.
    """
    assigned: set[str] = set()
    last = None
    for entry in decisions:
        if entry.action == "rebalance":
            last = entry.time_ns
        elif entry.action == "assign":
            if entry.subject in assigned and entry.detail.get("moved"):
                last = entry.time_ns
            assigned.add(entry.subject)
    return last


def play_aside(spec: EmulationSpec, experiment: str, variant: str, folder: Path) -> Run:
    """Play a description into a folder of its own, apart from the runs that are kept, and return the run."""
    version = str(spec.version)
    identity = RunIdentity(experiment, variant, {}, spec.seed, version, "", "", {}, spec.sample_every)
    with RunWriter(folder, identity) as writer:
        play_description(spec, writer, lambda share: None)
    return open_run(folder)
