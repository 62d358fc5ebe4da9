"""How far each scheduler is from the least inter-node traffic that its own spread allows.

With Storm 2.x's locality-aware shuffle, traffic depends on the placement. So placements are compared on the
traffic of a run in one worker, where a shuffle reaches all tasks of the next bolt equally. The best placement
has as many nodes as the scheduler's, and no node with more executors than the scheduler's fullest one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import count

import pandas as pd

from storm_lab.model import ACKER, Assignment, Cluster, Grouping, MeasuredLoad, Topology
from storm_lab.model.executor import executors_of
from storm_lab.papers.mfstorm.placement import playable_cells, scheduling_result
from storm_lab.papers.mfstorm.starter import starter
from storm_lab.papers.mfstorm.testbed import SCENARIOS, VERSION, desktops
from storm_lab.schedulers.baselines.optimal import OptimalParameters, OptimalScheduler
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.graph.traffic import inter_node_traffic

_EFFORT = 0.3
"""Deterministic time (about seconds) for the exact solver, per instance."""

Rank = tuple[str, int]
"""An executor, as its component and its position among the component's executors.

Task numbers cannot be used, because they shift with the number of ackers.
"""


def rank_traffic(traffic: pd.DataFrame) -> dict[tuple[Rank, Rank], float]:
    """The traffic matrix of one run in tuples/s, without ackers, from rows of the table executor_traffic."""
    rows = traffic[(traffic["source_component"] != ACKER) & (traffic["target_component"] != ACKER)]
    sources, targets = (
        list(zip(rows[f"{end}_component"].tolist(), rows[f"{end}_task"].tolist(), strict=True))
        for end in ("source", "target")
    )
    # A component's tasks have consecutive numbers, and all of them have traffic.
    places: dict[str, count[int]] = defaultdict(count)
    ranks = {task: (task[0], next(places[task[0]])) for task in sorted({*sources, *targets})}
    found: dict[tuple[Rank, Rank], float] = defaultdict(float)
    for source, target, rate in zip(sources, targets, rows["tuples_per_s"].tolist(), strict=True):
        found[ranks[source], ranks[target]] += rate
    return found


def averaged_by_role(kind: str, traffic: Mapping[tuple[Rank, Rank], float]) -> dict[tuple[Rank, Rank], float]:
    """The traffic without random variation: executors with the same role get the same traffic.

    All senders of a component are alike, and so are the receivers of a shuffle. Receivers of a fields
    grouping keep their own shares, which depend on the words.
    """
    shape = {component.id: component for component in starter(kind, 1).components}
    sums: dict[tuple[str, Rank], float] = defaultdict(float)
    for (source, target), rate in traffic.items():
        sums[source[0], target] += rate
    found: dict[tuple[Rank, Rank], float] = defaultdict(float)
    for (sender, target), rate in sums.items():
        receivers = [target]
        (subscription,) = [s for s in shape[target[0]].inputs if s.source == sender]
        if subscription.grouping is Grouping.SHUFFLE:
            receivers = [(target[0], place) for place in range(shape[target[0]].executors)]
        part = rate / shape[sender].executors / len(receivers)
        for place in range(shape[sender].executors):
            for receiver in receivers:
                found[(sender, place), receiver] += part
    return found


def load_of(topology: Topology, traffic: Mapping[tuple[Rank, Rank], float]) -> MeasuredLoad:
    """The traffic between the executors of a topology."""
    places: dict[str, count[int]] = defaultdict(count)
    executors = executors_of(topology, VERSION)
    by_rank = {(each.component, next(places[each.component])): each for each in executors}
    rates = {(by_rank[a], by_rank[b]): rate for (a, b), rate in traffic.items() if rate > 0}
    return MeasuredLoad(traffic=rates)


def gaps(kind: str, traffic: Mapping[tuple[Rank, Rank], float], seed: int) -> pd.DataFrame:
    """One row for every cell of a topology's grid whose placement uses more than one node.

    Columns: scenario, scheduler, nodes, inter-node %, least %, above least (points), proven.
    """
    known: dict[tuple[int, int, int], tuple[float, bool]] = {}
    rows = []
    for name, scheduler in playable_cells(kind):
        topology = starter(kind, SCENARIOS[name].required)
        load = load_of(topology, traffic)
        placed = scheduling_result(scheduler, kind, SCENARIOS[name], load=load, seed=seed).assignment
        nodes = placed.nodes_used()
        if len(nodes) > 1:
            fullest = max(sum(slot.node == node for slot in placed.slots.values()) for node in nodes)
            # Only traffic counts here, so it does not matter which nodes they are.
            key = (len(placed.slots), len(nodes), fullest)
            if key not in known:
                known[key] = _least_percent(topology, nodes, fullest, load, seed)
            least, proven = known[key]
            own = _percent(placed, load)
            rows.append((name, scheduler, len(nodes), own, least, own - least, "yes" if proven else "no"))
    columns = ["scenario", "scheduler", "nodes", "inter-node %", "least %", "above least", "proven"]
    return pd.DataFrame(rows, columns=columns)


def _least_percent(
    topology: Topology, nodes: Collection[str], fullest: int, load: MeasuredLoad, seed: int
) -> tuple[float, bool]:
    """The least inter-node traffic found on these nodes, and whether it is proven that none has less."""
    used = Cluster(tuple(node for node in desktops(1).nodes if node.id in nodes))
    gamma = max(1.0, fullest / (len(executors_of(topology, VERSION)) / len(nodes)))
    policy = OptimalScheduler(OptimalParameters(gamma=gamma, cap="round", effort=_EFFORT))
    best = policy.schedule(SchedulingView((topology,), used, VERSION, load=load, seed=seed))
    return _percent(best.assignment, load), best.notes.get("proven") == "yes"


def _percent(placed: Assignment, load: MeasuredLoad) -> float:
    return 100 * (inter_node_traffic(placed.slots, load.traffic) / sum(load.traffic.values()))
