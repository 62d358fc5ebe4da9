"""Storm's even scheduler: executors round robin over slots, slots spread over nodes.

Source: ``EvenScheduler`` of Storm 0.8.2, 0.9.7 and 2.8.8; the view's version selects the form. Existing
executors never move, and new ones go only to new slots.
"""

from __future__ import annotations

from collections.abc import Collection

from storm_lab.model import Slot, Topology
from storm_lab.schedulers.contract import (
    Candidate,
    NoParameters,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
from storm_lab.schedulers.storm.cluster_state import ClusterState, sort_slots


class EvenScheduler(Scheduler[NoParameters]):
    """``EvenScheduler`` of the view's Storm version."""

    name = "even"
    version = "1"

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Give every topology that needs scheduling its round-robin share of the free slots."""
        state = ClusterState(view)
        schedule_evenly(state, state.topologies_to_schedule())
        return storm_result(state)


def schedule_evenly(
    state: ClusterState, topologies: list[Topology], closed: Collection[Slot] = frozenset()
) -> None:
    """Schedule the topologies one after the other; earlier ones may leave no slots for later ones.

    ``closed`` are available slots on nodes where a topology is to get no second worker; Storm has none.
    """
    for topology in topologies:
        executors = state.unassigned(topology)
        available = [slot for slot in state.available_slots() if slot not in closed]
        in_use = len(set(state.slot_of[topology.id].values()))
        total = min(topology.workers, len(available) + in_use)
        # Storm 2.x throws if more slots are held than asked for; take none, like the older code.
        slots = sort_slots(available, state.version)[: max(0, total - in_use)]
        if not slots:
            for executor in executors:
                state.journal.record(executor, None, note=_why_no_slot(state))
            continue
        if state.view.explain:
            for i, executor in enumerate(executors):
                candidates = _candidates(state, slots, i, closed)
                state.journal.record(executor, slots[i % len(slots)], candidates, score_name=_SCORE)
        for i, slot in enumerate(slots[: len(executors)]):
            state.assign(slot, topology.id, executors[i :: len(slots)])


_SCORE = "turns until the slot is dealt to (lowest wins)"


def _candidates(
    state: ClusterState, slots: list[Slot], turn: int, closed: Collection[Slot]
) -> list[Candidate]:
    chosen = {slot: (i - turn) % len(slots) for i, slot in enumerate(slots)}
    rest = sort_slots((s for s in state.available_slots() if s not in chosen), state.version)
    enough, second = "the topology has its number of workers already", "the topology has a worker on the node"
    return [Candidate(slot, float(wait)) for slot, wait in chosen.items()] + [
        Candidate(slot, None, second if slot in closed else enough) for slot in rest
    ]


def _why_no_slot(state: ClusterState) -> str:
    if not state.available_slots():
        return "no free slot in the cluster"
    return "the topology holds all the workers it asked for, and new executors go to new slots only"


def storm_result(state: ClusterState) -> SchedulingResult:
    """Return the result of a round; a topology is scheduled if every executor has a slot."""
    status = {}
    for topology in state.view.topologies:
        text = "Fully Scheduled"
        if missing := state.unassigned(topology):
            of_all = f"{len(missing)} of {len(state.view.executors[topology.id])} executors"
            text = f"{of_all} without a slot, the first is {missing[0]}: {_why_no_slot(state)}"
        status[topology.id] = TopologyStatus(not missing, text)
    return SchedulingResult(state.assignment(), status, state.journal.decisions)
