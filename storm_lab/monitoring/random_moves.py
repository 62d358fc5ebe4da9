"""Random re-assignments: at intervals, executors drawn at random move to other workers.

The N-Storm paper (section V-A) measures migration methods with such moves, every 60 s from 50 s on. The set
of workers of the topology stays the same: each chosen executor moves to another slot that the topology has.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane, Sampler
from storm_lab.emulator.control.nimbus import Status
from storm_lab.errors import check_known
from storm_lab.model import Assignment, InvalidAssignmentError
from storm_lab.model.checks import check_number, check_whole
from storm_lab.model.topology import ACKER, MAX_TASKS, MIN_TIME_S

ACTOR = "mover"


@dataclass(frozen=True, slots=True)
class RandomMoves:
    """Move a number of ``executors`` of one topology at random every ``period_s``, from ``first_s`` on.

    ``components`` lists the components whose executors may be chosen; empty means all but spouts and ackers.
    The draw depends on the run's seed. While the topology is not active, moves are skipped and noted in the
    log. The first move raises `UserError` for an unknown component.
    """

    topology: str
    executors: int
    first_s: float = 50.0
    period_s: float = 60.0
    components: tuple[str, ...] = ()

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Schedule the moves; `UserError` for fewer executors than one or a time out of range."""
        check_whole("a mover", "executors", self.executors, low=1, high=MAX_TASKS)
        check_number("a mover", "first_s", self.first_s, unit="s")
        check_number("a mover", "period_s", self.period_s, low=MIN_TIME_S, unit="s")
        rng = control.random(f"random-moves/{self.topology}")

        def move() -> None:
            nimbus = control.nimbus
            stored = nimbus.current(self.topology)
            if stored is None or nimbus.status[self.topology] is not Status.ACTIVE:
                control.log.note(ACTOR, "skip-move", self.topology, "the topology is not active")
                return
            topology = nimbus.topologies[self.topology]
            known = [ACKER, *(component.id for component in topology.components)]
            for name in self.components:
                check_known("component", name, known, f"topology {self.topology!r}", field="components")
            movable = set(self.components or (bolt.id for bolt in topology.bolts))
            candidates = [executor for executor in sorted(stored.slots) if executor.component in movable]
            slots = sorted(set(stored.slots.values()))
            moved = dict(stored.slots)
            for executor in rng.sample(candidates, min(self.executors, len(candidates))):
                if targets := [slot for slot in slots if slot != stored.slots[executor]]:
                    moved[executor] = rng.choice(targets)
            try:
                nimbus.install(Assignment(moved), f"{self.executors} executors moved at random")
            except InvalidAssignmentError as error:
                # Nimbus's own scheduler left executors without a slot, which Storm 0.8 may do.
                control.log.note(ACTOR, "skip-move", self.topology, str(error))

        control.clock.every(ns(self.period_s), Rank.MONITOR, ACTOR, move, first_ns=ns(self.first_s))
