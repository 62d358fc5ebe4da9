"""Generated instances: the same for the same seed, with shapes and machines as their names say."""

from __future__ import annotations

import random

import pytest

from storm_lab.league.generated import FAMILIES, MACHINES, generated_site
from storm_lab.model import Grouping

EVERY = [(family, machines) for family in FAMILIES for machines in MACHINES]


@pytest.mark.parametrize(("family", "machines"), EVERY)
def test_the_same_seed_gives_the_same_instance(family: str, machines: str) -> None:
    one, same, other = (generated_site(family, machines, seed) for seed in (1, 1, 2))
    assert one.digest == same.digest != other.digest


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_its_shape(family: str) -> None:
    topology = generated_site(family, "equal", 3).plan.topology
    parents = {c.id: [s.source for s in c.inputs] for c in topology.components}
    children = {c.id: sum(c.id in own for own in parents.values()) for c in topology.components}
    most_parents, most_children = max(map(len, parents.values())), max(children.values())
    sinks = sum(count == 0 for count in children.values())
    shape = {
        "chain": most_parents == 1 and most_children == 1,
        "diamond": most_parents >= 2 and most_children >= 2 and sinks == 1,
        "star": most_parents >= 2 and most_children >= 2 and sinks >= 2 and len(topology.spouts) >= 2,
        "tree": most_parents == 1 and most_children >= 2,
        "random": len(topology.spouts) == 1,
    }
    assert shape[family]


@pytest.mark.parametrize(
    ("family", "fewest", "most"),
    [("chain", 3, 6), ("diamond", 4, 6), ("star", 5, 8), ("tree", 7, 9), ("random", 5, 8)],
)
def test_every_family_has_topologies_of_several_sizes(family: str, fewest: int, most: int) -> None:
    drawn = [FAMILIES[family](random.Random(seed)) for seed in range(100)]
    sizes = {len({name for edge in edges for name in edge}) for edges in drawn}
    assert sizes == set(range(fewest, most + 1))


def test_machines_have_equal_cores_unequal_speeds_or_several_racks() -> None:
    nodes = {kind: generated_site("chain", kind, 1).cluster.nodes for kind in MACHINES}
    assert len({node.cores for node in nodes["equal"]}) == 1
    assert len({node.core_mhz for node in nodes["unequal"]}) == 3
    assert len({node.rack for node in nodes["racks"]}) >= 2


def test_some_random_topologies_use_a_fields_grouping() -> None:
    topologies = [generated_site("random", "equal", seed).plan.topology for seed in range(1, 6)]
    inputs = [s for t in topologies for c in t.components for s in c.inputs]
    assert any(s.grouping is Grouping.FIELDS for s in inputs)
