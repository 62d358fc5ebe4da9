"""The contract of schedulers as test cases, for tests of a user's own scheduler.

>>> from storm_lab.league.contract_check import CASES, check
>>> from storm_lab.schedulers import make_scheduler
>>> for case in CASES:
...     check(make_scheduler("default"), case)
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from storm_lab.errors import UserError
from storm_lab.model import (
    Assignment,
    Cluster,
    Component,
    Grouping,
    MeasuredLoad,
    Node,
    Slot,
    Subscription,
    Topology,
)
from storm_lab.model.version import V1_0_0
from storm_lab.schedulers.ask import ask
from storm_lab.schedulers.contract import Scheduler, SchedulingView


@dataclass(frozen=True)
class ContractCase:
    """A question for a scheduler.

    ``description`` says what is special about it. A ``must_place`` case has a slot for every worker, so a
    scheduler must place something. In other cases, a scheduler may refuse to place anything.
    """

    description: str
    view: SchedulingView
    must_place: bool = False

    def __str__(self) -> str:
        return self.description


def _chain(name: str, workers: int = 2) -> Topology:
    """Two executors of a spout, three of a bolt, three of a bolt with a fields grouping, and an acker."""
    return Topology(
        name,
        (
            Component("spout", 2, outputs={"default": ("line",)}),
            Component("split", 3, inputs=(Subscription("spout"),), outputs={"default": ("word",)}),
            Component(
                "count", 3, inputs=(Subscription("split", grouping=Grouping.FIELDS, fields=("word",)),)
            ),
        ),
        workers=workers,
        ackers=1,
        name=name,
    )


_NODES = tuple(Node(f"node{n}", rack="/left" if n < 3 else "/right", ports=(6700, 6701)) for n in range(1, 5))
_FRESH = SchedulingView((_chain("one"),), Cluster(_NODES), V1_0_0, seed=7)


def _placed(view: SchedulingView, slots: tuple[Slot, ...]) -> Assignment:
    (topology,) = view.topologies
    executors = view.executors[topology.id]
    return Assignment.of((e, slots[number % len(slots)]) for number, e in enumerate(executors))


def _measured(view: SchedulingView) -> MeasuredLoad:
    """Give every executor 100 MHz, and uneven traffic between executors of successive components."""
    executors = [e for own in view.executors.values() for e in own]
    order = {"spout": "split", "split": "count"}
    traffic = {
        (a, b): 10.0 + a.start + b.start
        for a in executors
        for b in executors
        if a.topology == b.topology and order.get(a.component) == b.component
    }
    return MeasuredLoad(traffic=traffic, cpu_mhz=dict.fromkeys(executors, 100.0))


_RUNNING = replace(_FRESH, present=_placed(_FRESH, (Slot("node1", 6700), Slot("node2", 6700))))

CASES = (
    ContractCase("a topology that is new", _FRESH, must_place=True),
    ContractCase(
        "two topologies", replace(_FRESH, topologies=(_chain("one"), _chain("two"))), must_place=True
    ),
    ContractCase("a topology that runs", _RUNNING),
    ContractCase("a topology that runs, measured", replace(_RUNNING, load=_measured(_RUNNING))),
    ContractCase("a node that is gone", replace(_RUNNING, cluster=Cluster(_NODES[1:]))),
    ContractCase(
        "a worker that has just died", replace(_RUNNING, dead_slots=frozenset({_NODES[0].slots[0]}))
    ),
    ContractCase(
        "more workers asked for than there are slots", replace(_FRESH, topologies=(_chain("one", 99),))
    ),
    ContractCase("one node with one slot", replace(_FRESH, cluster=Cluster((Node("alone", ports=(6700,)),)))),
    ContractCase(
        "no slot for the second topology",
        replace(
            _RUNNING,
            topologies=(_chain("one"), _chain("two")),
            cluster=Cluster(tuple(Node(f"node{n}", ports=(6700,)) for n in (1, 2))),
        ),
    ),
)
"""All cases, from a cold start to a cluster without room."""


def check(scheduler: Scheduler[Any], case: ContractCase) -> None:
    """Ask the scheduler about a case twice and check the answers.

    Raises `UserError` if an answer is refused, a line changes the view, two answers to the same question
    differ, or nothing was placed although there is room.
    """
    first, again = (ask(deepcopy(scheduler), case.view, case=case.description) for _ in range(2))
    if first.assignment.slots != again.assignment.slots:
        what, remedy = "the same view gave two answers", "take random numbers only from view.random(purpose)"
    elif case.must_place and not first.assignment.slots:
        why = "; ".join(status.message for status in first.status.values())
        what, remedy = f"it placed nothing ({why})", "use the slots of view.usable_slots"
    else:
        return
    raise UserError(f"{what}, {case.description}", field="scheduler", value=scheduler.name, remedy=remedy)
