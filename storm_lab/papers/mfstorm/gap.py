"""How far each scheduler is from the least inter-node traffic that its own spread allows.

With Storm 2.x's locality-aware shuffle, traffic depends on the placement. So placements are compared on a
matrix that does not: the traffic of a run in one worker, where a shuffle reaches all tasks of the next bolt
equally. The best placement has as many nodes as the scheduler's, and no node with more executors than the
scheduler's fullest one. It comes from the scheduler ``optimal``, which reports whether it is proven optimal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
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
    sources = list(zip(rows["source_component"].tolist(), rows["source_task"].tolist(), strict=True))
    targets = list(zip(rows["target_component"].tolist(), rows["target_task"].tolist(), strict=True))
    # A component's tasks have consecutive numbers, and all of them have traffic.
    places: dict[str, count[int]] = defaultdict(count)
    ranks = {task: (task[0], next(places[task[0]])) for task in sorted({*sources, *targets})}
    found: dict[tuple[Rank, Rank], float] = {}
    for source, target, rate in zip(sources, targets, rows["tuples_per_s"].tolist(), strict=True):
        pair = (ranks[source], ranks[target])
        found[pair] = found.get(pair, 0.0) + rate
    return found


def averaged_by_role(kind: str, traffic: Mapping[tuple[Rank, Rank], float]) -> dict[tuple[Rank, Rank], float]:
    """The traffic without random variation: executors with the same role get the same traffic.

    All senders of a component are alike, and so are the receivers of a shuffle. Receivers of a fields
    grouping keep their own shares, which depend on the words.
    """
    shape = {component.id: component for component in starter(kind, 1).components}
    sums: dict[tuple[str, Rank], float] = {}
    for (source, target), rate in traffic.items():
        sums[source[0], target] = sums.get((source[0], target), 0.0) + rate
    found: dict[tuple[Rank, Rank], float] = {}
    for (sender, target), rate in sums.items():
        receivers = [target]
        (subscription,) = [s for s in shape[target[0]].inputs if s.source == sender]
        if subscription.grouping is Grouping.SHUFFLE:
            receivers = [(target[0], place) for place in range(shape[target[0]].executors)]
        part = rate / shape[sender].executors / len(receivers)
        for place in range(shape[sender].executors):
            for receiver in receivers:
                pair = ((sender, place), receiver)
                found[pair] = found.get(pair, 0.0) + part
    return found


def load_of(kind: str, required: int, traffic: Mapping[tuple[Rank, Rank], float]) -> MeasuredLoad:
    """The traffic between the executors of a topology that asks for ``required`` workers."""
    places: dict[str, count[int]] = defaultdict(count)
    executors = executors_of(starter(kind, required), VERSION)
    by_rank = {(each.component, next(places[each.component])): each for each in executors}
    return MeasuredLoad(
        traffic={(by_rank[a], by_rank[b]): rate for (a, b), rate in traffic.items() if rate > 0}
    )


def gaps(kind: str, traffic: Mapping[tuple[Rank, Rank], float], seed: int) -> pd.DataFrame:
    """One row for every cell of a topology's grid whose placement uses more than one node.

    Columns: scenario, scheduler, nodes, inter-node %, least %, above least (points), proven.
    """
    known: dict[tuple[int, int, int], tuple[float, bool]] = {}
    rows = []
    for name, scheduler in playable_cells(kind):
        scenario = SCENARIOS[name]
        load = load_of(kind, scenario.required, traffic)
        placed = scheduling_result(scheduler, kind, scenario, load=load, seed=seed).assignment
        nodes = len(placed.nodes_used())
        if nodes > 1:
            topology = starter(kind, scenario.required)
            own, least, proven = _gap(topology, placed, load, seed, known)
            rows.append((name, scheduler, nodes, own, least, own - least, "yes" if proven else "no"))
    columns = ["scenario", "scheduler", "nodes", "inter-node %", "least %", "above least", "proven"]
    return pd.DataFrame(rows, columns=columns)


def _gap(
    topology: Topology,
    placed: Assignment,
    load: MeasuredLoad,
    seed: int,
    known: dict[tuple[int, int, int], tuple[float, bool]],
) -> tuple[float, float, bool]:
    """Inter-node traffic of a placement in percent of all, the least found, and whether none has less."""
    nodes = placed.nodes_used()
    total = sum(load.traffic.values())
    fullest = max(sum(slot.node == node for slot in placed.slots.values()) for node in nodes)
    # Only traffic counts here, so it does not matter which nodes they are.
    key = (len(placed.slots), len(nodes), fullest)
    if key not in known:
        used = Cluster(tuple(node for node in desktops(1).nodes if node.id in nodes))
        gamma = max(1.0, fullest / (len(executors_of(topology, VERSION)) / len(nodes)))
        policy = OptimalScheduler(OptimalParameters(gamma=gamma, cap="round", effort=_EFFORT))
        best = policy.schedule(SchedulingView((topology,), used, VERSION, load=load, seed=seed))
        least = inter_node_traffic(best.assignment.slots, load.traffic)
        known[key] = least / total, best.notes.get("proven") == "yes"
    least, proven = known[key]
    return 100 * (inter_node_traffic(placed.slots, load.traffic) / total), 100 * least, proven
