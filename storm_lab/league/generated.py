"""Generated instances: random topologies and machines, drawn from a seed, that occur in no paper.

The rate is set so that the work takes a stated share of all cores, and no executor more than a stated share
of one core. This leaves room for a good placement but not for a bad one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from storm_lab.league.reader_site import Site
from storm_lab.model import Cluster, Component, Grouping, Node, Subscription, Topology
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, SteadySpout, Values

RECORDS, KEYS = 2000, 200
"""Number of records of the input, which is read over and over, and of their distinct keys."""

REFERENCE_MHZ = 2000.0
SPOUT_US = 30.0
"""Clock that the costs refer to, and CPU time of a spout per record."""

CLUSTER_SHARE, EXECUTOR_SHARE = 0.35, 0.35
"""Share of all cores that the topology's work takes at most; largest share of a core at the reference clock
that a component's executors use on average (skew makes some busier).
"""

_FIELDS = ("key", "number")


def _records(seed: int, skew: float) -> Iterator[tuple[object, ...]]:
    """Yield records with keys, which follow Zipf's law with exponent ``skew``; the same for the same seed."""
    draw = random.Random(f"{seed}/keys")
    weights = [1.0 / (rank + 1) ** skew for rank in range(KEYS)]
    for number, key in enumerate(draw.choices(range(KEYS), weights, k=RECORDS)):
        yield (f"key{key}", number)


@dataclass(frozen=True)
class Step(Bolt):
    """A bolt that emits ``copies`` tuples per input (0.5: for every other input), or none if ``last``."""

    cpu_us: float
    copies: float
    last: bool = False

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the copies of a tuple."""
        if self.last:
            return
        key, number = values
        assert isinstance(number, int)
        whole = int(self.copies)
        extra = self.copies - whole
        if extra and number % round(1 / extra) == 0:
            whole += 1
        for _ in range(whole):
            emit(key, number)

    def cost(self, values: Values) -> Cost:
        """Return the declared cost."""
        return Cost(self.cpu_us)


Edges = list[tuple[str, str]]


def _chain(draw: random.Random) -> Edges:
    names = ["source", *(f"step{n}" for n in range(1, draw.randint(3, 6)))]
    return list(pairwise(names))


def _diamond(draw: random.Random) -> Edges:
    middle = [f"branch{n}" for n in range(1, draw.randint(3, 5))]
    return [("source", name) for name in middle] + [(name, "join") for name in middle]


def _star(draw: random.Random) -> Edges:
    sources = [f"source{n}" for n in range(1, draw.randint(3, 4))]
    sinks = [f"sink{n}" for n in range(1, draw.randint(3, 5))]
    return [(name, "centre") for name in sources] + [("centre", name) for name in sinks]


def _tree(draw: random.Random) -> Edges:
    edges = [("source", "left"), ("source", "right")]
    leaves = [(side, f"{side}{n}") for side in ("left", "right") for n in range(1, draw.randint(2, 3) + 1)]
    return edges + leaves


def _random(draw: random.Random) -> Edges:
    names = ["source", *(f"step{n}" for n in range(1, draw.randint(5, 8)))]
    edges = []
    for place, name in enumerate(names[1:], 1):
        parents = draw.sample(names[:place], min(place, draw.choice((1, 1, 2))))
        edges += [(parent, name) for parent in parents]
    return edges


FAMILIES: Mapping[str, Callable[[random.Random], Edges]] = {
    "chain": _chain, "diamond": _diamond, "star": _star, "tree": _tree, "random": _random,
}  # fmt: skip
"""For each family, a function that draws the edges of a topology. A name without incoming edge is a spout."""


def _equal(draw: random.Random) -> Cluster:
    count = draw.randint(4, 8)
    return Cluster(tuple(Node(f"node{n:02d}", cores=4) for n in range(1, count + 1)))


def _unequal(draw: random.Random) -> Cluster:
    kinds = (("big", 8, 2600.0), ("middle", 4, 2000.0), ("small", 2, 1600.0))
    nodes = [
        Node(f"{kind}{number}", cores=cores, core_mhz=mhz)
        for kind, cores, mhz in kinds
        for number in range(1, draw.randint(2, 3) + 1)
    ]
    draw.shuffle(nodes)
    return Cluster(tuple(nodes))


def _racks(draw: random.Random) -> Cluster:
    racks, each = draw.randint(2, 3), draw.randint(2, 4)
    # Supervisors may report in any order, so nodes of different racks are mixed.
    nodes = [
        Node(f"r{rack}n{number}", rack=f"/rack{rack}", cores=4)
        for rack in range(1, racks + 1)
        for number in range(1, each + 1)
    ]
    draw.shuffle(nodes)
    return Cluster(tuple(nodes))


MACHINES: Mapping[str, Callable[[random.Random], Cluster]] = {
    "equal": _equal, "unequal": _unequal, "racks": _racks,
}  # fmt: skip
"""For each kind of machines, a function that draws a cluster."""


def generated_site(family: str, machines: str, seed: int) -> Site:
    """Generate an instance of one of `FAMILIES` and `MACHINES`; the same arguments give the same instance."""
    draw = random.Random(f"{family}/{machines}/{seed}")
    cluster = MACHINES[machines](draw)
    edges = FAMILIES[family](draw)
    named = list(dict.fromkeys(name for edge in edges for name in edge))
    into = {name: [a for a, b in edges if b == name] for name in named}
    spouts = [name for name in named if not into[name]]
    names = [*spouts, *(name for name in named if into[name])]
    sinks = [name for name in names if name not in {a for a, _ in edges}]
    skew = draw.choice((0.0, 0.6, 1.0)) if family != "random" else draw.choice((0.8, 1.1))
    components, code = [], {}
    for name in names:
        executors = draw.randint(1, 2) if name in spouts else draw.randint(2, 5)
        inputs = tuple(_subscription(parent, draw) for parent in into[name])
        outputs = {} if name in sinks else {"default": _FIELDS}
        components.append(Component(name, executors, inputs=inputs, outputs=outputs))
        step = Step(draw.choice((100.0, 300.0, 900.0)), draw.choice((0.5, 1.0, 1.0, 2.0)), name in sinks)
        code[name] = SteadySpout(Cost(SPOUT_US), _records(seed, skew)) if name in spouts else step
    topology = Topology(
        f"{family}-{machines}-{seed}",
        tuple(components),
        workers=draw.randint(max(2, len(cluster.nodes) // 2), len(cluster.nodes)),
        ackers=2,
    )
    rate = round(_rate(topology, code, into, cluster), 1)
    return Site.of(topology, code, cluster, sources=dict.fromkeys(spouts, rate))


def _subscription(parent: str, draw: random.Random) -> Subscription:
    if draw.random() < 0.5:
        return Subscription(parent, grouping=Grouping.FIELDS, fields=("key",))
    return Subscription(parent)


def _rate(
    topology: Topology, code: Mapping[str, Spout | Bolt], into: Mapping[str, list[str]], cluster: Cluster
) -> float:
    """Return the records per second of each spout that the two shares allow."""
    tuples: dict[str, float] = {}
    total_us = busiest_us = 0.0
    for component in topology.components:
        step = code[component.id]
        if isinstance(step, Step):
            received = sum(tuples[parent] for parent in into[component.id])
            tuples[component.id] = received * (0.0 if step.last else step.copies)
            load_us = received * step.cpu_us
        else:
            tuples[component.id], load_us = 1.0, SPOUT_US
        total_us += load_us
        busiest_us = max(busiest_us, load_us / component.executors)
    mhz = sum(node.cores * node.core_mhz for node in cluster.nodes)
    return min(CLUSTER_SHARE * mhz / REFERENCE_MHZ / total_us, EXECUTOR_SHARE / busiest_us) * 1e6
