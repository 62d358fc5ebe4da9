"""Playing a run that is measured once its scheduler has settled."""

from __future__ import annotations

from storm_lab.league.settled import SettledRun
from storm_lab.runs.play import play_description
from storm_lab.runs.pool import Advance
from storm_lab.tuplelog import RunWriter, Status


@play_description.register
def emulate_settled(description: SettledRun, writer: RunWriter, advance: Advance) -> None:
    """Have the emulator play it, and write down where its steady state begins."""
    from storm_lab.emulator.emulation import Emulation

    outcome = Emulation(description.spec).run(writer, lambda done, total: advance(done / total))
    writer.finish(
        duration_ns=outcome.duration_ns,
        warm_up_ns=description.warm_up_ns(outcome.decisions),
        status=Status.STOPPED if outcome.stopped else Status.COMPLETE,
        reason=outcome.stopped,
    )
