"""Playing a run that is measured once its scheduler has settled."""

from __future__ import annotations

from storm_lab.league.settled import SettledRun
from storm_lab.runs.play import play_description, play_in_emulator
from storm_lab.runs.pool import Advance
from storm_lab.tuplelog import RunWriter


@play_description.register
def emulate_settled(description: SettledRun, writer: RunWriter, advance: Advance) -> None:
    """Have the emulator play it, and write down where its steady state begins."""
    play_in_emulator(description.spec, writer, advance, description.warm_up_ns)
