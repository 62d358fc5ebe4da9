"""Re-assignments for the sake of moving: executors drawn at random go to other workers, again and again.

The N-Storm paper (section V-A) measures migration methods by such moves, every 60 s from 50 s on. A mover
keeps the topology's set of workers: each chosen executor goes to another of the slots that the topology has.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.nimbus import Status
from storm_lab.emulator.control.service import Sampler
from storm_lab.model import Assignment, InvalidAssignmentError
from storm_lab.model.checks import check_number, check_whole
from storm_lab.model.topology import MOST_TASKS, SHORTEST_S

ACTOR = "mover"


@dataclass(frozen=True, slots=True)
class RandomMoves:
    """Move so many ``executors`` of one topology at a time, from ``first_s`` on, every ``period_s``.

    ``components`` are those whose executors may be chosen; empty = all but spouts and ackers. With
    ``other_node`` targets lie on other nodes only, else on any other slot of the topology. The draw depends
    on the run's seed. A move is skipped, and the log says so, while the topology is not active.
    """

    topology: str
    executors: int
    first_s: float = 50.0
    period_s: float = 60.0
    components: tuple[str, ...] = ()
    other_node: bool = False

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Begin to move; `UserError`: a number of executors below one, or a time that cannot be."""
        check_whole("a mover", "executors", self.executors, low=1, high=MOST_TASKS)
        check_number("a mover", "first_s", self.first_s, unit="s")
        check_number("a mover", "period_s", self.period_s, low=SHORTEST_S, unit="s")
        rng = control.random(f"random-moves/{self.topology}")

        def move() -> None:
            nimbus = control.nimbus
            stored = nimbus.current(self.topology)
            if stored is None or nimbus.status[self.topology] is not Status.ACTIVE:
                control.log.note(ACTOR, "skip-move", self.topology, "the topology is not active")
                return
            topology = nimbus.topologies[self.topology]
            movable = set(self.components or (bolt.id for bolt in topology.bolts))
            candidates = [executor for executor in sorted(stored.slots) if executor.component in movable]
            slots = sorted(set(stored.slots.values()))
            moved = dict(stored.slots)
            for executor in rng.sample(candidates, min(self.executors, len(candidates))):
                here = stored.slots[executor]
                targets = [s for s in slots if s != here and not (self.other_node and s.node == here.node)]
                if targets:
                    moved[executor] = rng.choice(targets)
            try:
                nimbus.install(Assignment(moved), f"{self.executors} executors moved at random")
            except InvalidAssignmentError as error:
                # Nimbus's own scheduler has left executors without a slot (Storm 0.8 may).
                control.log.note(ACTOR, "skip-move", self.topology, str(error))

        control.clock.every(ns(self.period_s), Rank.MONITOR, ACTOR, move, first_ns=ns(self.first_s))
