"""Playing a description and writing its log; the only place where this is done."""

from __future__ import annotations

from functools import singledispatch

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.league.settled import warm_up_ns
from storm_lab.runs.pool import Advance
from storm_lab.tuplelog import RunWriter, Status


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
    writer.finish(
        duration_ns=outcome.duration_ns,
        warm_up_ns=warm_up_ns(description, outcome.decisions),
        status=Status.STOPPED if outcome.stopped else Status.COMPLETE,
        reason=outcome.stopped,
    )
