"""networkx graphs and tables of topologies, executors and placements, for notebooks."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from storm_lab.model import (
    ACKER,
    Assignment,
    Cluster,
    Executor,
    MeasuredLoad,
    Slot,
    StormVersion,
    Topology,
    executors_of,
)
from storm_lab.schedulers.graph.traffic import estimated_traffic


def topology_graph(topology: Topology) -> Any:
    """Return components and streams as a ``MultiDiGraph``.

    Nodes have ``kind`` (spout or bolt), ``executors`` and ``tasks``. Edges have the stream as key, and
    ``grouping``.
    """
    graph = nx.MultiDiGraph(name=topology.name or topology.id)
    for c in topology.components:
        kind = "spout" if c.is_spout else "bolt"
        graph.add_node(c.id, kind=kind, executors=c.executors, tasks=c.task_count)
    for c in topology.components:
        for given in c.inputs:
            graph.add_edge(given.source, c.id, key=given.stream, grouping=given.grouping.value)
    return graph


def executor_graph(
    topology: Topology, version: StormVersion, load: MeasuredLoad | None = None, *, ackers: bool = True
) -> Any:
    """Return executors and the traffic between them as a ``DiGraph``.

    Nodes are :class:`Executor` objects with ``component`` and, if measured, ``cpu_mhz``. Edges have ``rate``
    in tuples per second: measured, or estimated from the topology if ``load`` is None (`UserError` if the
    topology then has a cycle).
    """
    executors = [e for e in executors_of(topology, version) if ackers or e.component != ACKER]
    graph = nx.DiGraph(name=topology.name or topology.id)
    for executor in executors:
        graph.add_node(executor, component=executor.component)
        if load is not None and executor in load.cpu_mhz:
            graph.nodes[executor]["cpu_mhz"] = load.cpu_mhz[executor]
    traffic = load.traffic if load else estimated_traffic(topology, executors)
    for (source, target), rate in traffic.items():
        if source in graph and target in graph:
            graph.add_edge(source, target, rate=rate)
    return graph


def placement_graph(cluster: Cluster, assignment: Assignment) -> Any:
    """Return racks, nodes, slots and executors as a tree-like ``DiGraph``; nodes have ``kind``."""
    graph = nx.DiGraph()
    for node in cluster.nodes:
        graph.add_node(("rack", node.rack), kind="rack")
        graph.add_node(("node", node.id), kind="node", cores=node.cores)
        graph.add_edge(("rack", node.rack), ("node", node.id))
    for executor, slot in assignment.slots.items():
        graph.add_node(("slot", str(slot)), kind="slot", topology=executor.topology)
        graph.add_edge(("node", slot.node), ("slot", str(slot)))
        graph.add_node(executor, kind="executor", component=executor.component, topology=executor.topology)
        graph.add_edge(("slot", str(slot)), executor)
    return graph


PLACEMENT_COLUMNS = (
    "rack", "node", "port", "slot", "topology", "component", "start_task", "end_task", "executor",
)  # fmt: skip
"""Columns of :func:`placement_table`."""


def placement_table(cluster: Cluster, assignment: Assignment) -> pd.DataFrame:
    """Return one row per placed executor, by machine (in cluster order), port, topology and first task.

    Executors on nodes that the cluster does not have come last, with rack None.
    """
    rack = {node.id: node.rack for node in cluster.nodes}
    rows = [
        (rack.get(s.node), s.node, s.port, str(s), e.topology, e.component, e.start, e.end, str(e))
        for e, s in _by_machine(cluster, assignment)
    ]
    return pd.DataFrame(rows, columns=list(PLACEMENT_COLUMNS))


def _by_machine(cluster: Cluster, assignment: Assignment) -> list[tuple[Executor, Slot]]:
    rank = {node.id: i for i, node in enumerate(cluster.nodes)}

    def place(item: tuple[Executor, Slot]) -> tuple[int, Slot, str, int]:
        executor, slot = item
        return rank.get(slot.node, len(rank)), slot, executor.topology, executor.start

    return sorted(assignment.slots.items(), key=place)


def traffic_matrix(cluster: Cluster, assignment: Assignment, load: MeasuredLoad) -> pd.DataFrame:
    """Return the traffic from executor (row) to executor (column) in tuples per second, ordered by machine.

    Index and columns have two levels: node id, and topology with executor. The matrix is square, with zeros
    where there is no traffic.
    """
    ordered = _by_machine(cluster, assignment)
    position = {executor: i for i, (executor, _) in enumerate(ordered)}
    names = [(slot.node, f"{e.topology} {e}") for e, slot in ordered]
    labels = pd.MultiIndex.from_tuples(names, names=["node", "executor"])
    values = np.zeros((len(ordered), len(ordered)))
    for (source, target), rate in load.traffic.items():
        if source in position and target in position:
            values[position[source], position[target]] += rate
    return pd.DataFrame(values, index=labels, columns=labels)
