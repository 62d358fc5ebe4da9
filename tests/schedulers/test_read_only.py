"""A user's scheduler that changes its view fails at its own line, and nothing else sees the change."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import pytest

from storm_lab.errors import UserError
from storm_lab.model import Assignment, MeasuredLoad, Resources, Topology
from storm_lab.schedulers import SchedulingResult, SchedulingView
from storm_lab.schedulers.explain import explained
from storm_lab.schedulers.read_only import read_only
from tests.schedulers.test_ask import HERE, TOPOLOGY, VIEW, Mine, all_in, placed

FULL = SchedulingView(
    (Topology("wc", TOPOLOGY.components, ackers=0, settings={"topology.component.cpu.pcore.percent": 20.0}),),
    VIEW.cluster,
    present=Assignment(all_in(HERE)),
    load=MeasuredLoad(dict.fromkeys(VIEW.executors["wc"], 5.0), {}, {"n1": 9.0}),
    user_pools={"anna": Resources(1.0)},
    isolated={"wc": 1},
)

MAPPINGS: dict[str, Callable[[SchedulingView], Any]] = {
    "executors": lambda view: view.executors,
    "nodes": lambda view: view.nodes,
    "topology": lambda view: view.topology,
    "present": lambda view: view.present.slots,
    "cpu": lambda view: view.load.cpu_mhz if view.load else None,
    "traffic": lambda view: view.load.traffic if view.load else None,
    "node_mhz": lambda view: view.load.node_mhz if view.load else None,
    "pools": lambda view: view.user_pools,
    "isolated": lambda view: view.isolated,
    "settings": lambda view: view.topologies[0].settings,
    "outputs": lambda view: view.topology["wc"].components[0].outputs,
}


@pytest.mark.parametrize("name", MAPPINGS)
def test_a_scheduler_that_changes_its_view_is_told_its_own_line(name: str) -> None:
    def answer(view: SchedulingView) -> SchedulingResult:
        MAPPINGS[name](view).clear()
        return placed(all_in(HERE))

    before = deepcopy(FULL)
    message = r"it raised TypeError: the view is read-only; copy .* \(test_read_only\.py, line \d+\)"
    with pytest.raises(UserError, match=message):
        explained(Mine(answer), FULL)
    assert before == FULL and before.executors == FULL.executors


@pytest.mark.parametrize(
    "change",
    [
        lambda slots: slots.update({}),
        lambda slots: slots.pop(None, None),
        lambda slots: slots.popitem(),
        lambda slots: slots.setdefault("a", 1),
        lambda slots: slots.__setitem__("a", 1),
        lambda slots: slots.__delitem__("a"),
        lambda slots: slots.__ior__({}),
    ],
)
def test_every_change_of_a_mapping_is_refused(change: Callable[[Any], None]) -> None:
    with pytest.raises(TypeError, match="read-only"):
        change(read_only(FULL).present.slots)


@pytest.mark.parametrize("copied", [deepcopy, lambda view: pickle.loads(pickle.dumps(view))])
def test_a_read_only_view_is_equal_and_its_copies_may_be_changed(
    copied: Callable[[SchedulingView], SchedulingView],
) -> None:
    closed = read_only(FULL)
    assert closed == FULL and closed.executors == FULL.executors and closed.nodes == FULL.nodes
    again = copied(closed)
    assert again == FULL and type(again.isolated) is dict
    own: Mapping[str, int] = {**closed.isolated, "other": 2}
    assert set(own) == {"wc", "other"}
