"""The least traffic between nodes, for a case that is solved by hand."""

from __future__ import annotations

import pytest

from storm_lab.model import Cluster, Component, Node, Subscription, Topology
from storm_lab.model.version import V0_9_0
from storm_lab.schedulers import SchedulingView
from storm_lab.tournament.objective import excess_percent, least_traffic

# Two pairs with much traffic, and a little between the pairs; a node takes 3 of the 4 executors.
TOPOLOGY = Topology(
    "t", (Component("a", 2), Component("b", 2, inputs=(Subscription("a"),))), workers=2, ackers=0
)
A1, A2, B1, B2 = (("t", name, task) for name, task in (("a", 1), ("a", 2), ("b", 3), ("b", 4)))
TRAFFIC = {(A1, B1): 10.0, (A2, B2): 8.0, (A1, B2): 1.0, (A2, B1): 1.0}


def test_the_least_traffic_matches_the_solution_by_hand() -> None:
    # Three executors and one: all traffic of the single one, 9 or more. Two pairs: 2.
    view = SchedulingView((TOPOLOGY,), Cluster((Node("n1"), Node("n2"))), V0_9_0)
    assert least_traffic(view, TRAFFIC) == pytest.approx(2.0)


def test_the_excess_is_a_share_of_all_tuples() -> None:
    pairs = {A1: "n1", B1: "n1", A2: "n2", B2: "n2"}
    crossed = {A1: "n1", B2: "n1", A2: "n2", B1: "n2"}
    assert excess_percent(TRAFFIC, pairs, 2.0) == pytest.approx(0.0)
    assert excess_percent(TRAFFIC, crossed, 2.0) == pytest.approx(80.0)
    assert excess_percent(TRAFFIC, dict.fromkeys(pairs, "n1"), 2.0) == pytest.approx(-10.0)
