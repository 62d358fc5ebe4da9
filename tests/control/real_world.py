"""Runs of the complete emulator: real data plane, a small topology with known trees, all rows kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from storm_lab.emulator.control.control_plane import Service
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.migration.method import MigrationMethod, Restart
from storm_lab.emulator.control.times import Timers, timers_of
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.emulation import Emulation, EmulationOutcome, EmulationSpec
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, TopologyPlan
from storm_lab.model import Cluster, Component, Node, StormVersion, Subscription, Topology
from storm_lab.model.version import V0_9_7
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.tuplelog.buffer import Coded
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.usercode import Cost, Emit, SteadyBolt, SteadySpout, Values
from storm_lab.workloads.workload_trace import WorkloadTrace

LINES = 5000
"""Records of the source; no run takes as many, so a line's number identifies it."""


def copies_of(line: int) -> int:
    """Number of tuples that ``fan`` makes of a line; it may be none."""
    return line % 4


class _Fan(SteadyBolt):
    def execute(self, values: Values, emit: Emit) -> None:
        for copy in range(copies_of(int(str(values[0])))):
            emit(copy)


class _Sink(SteadyBolt):
    def execute(self, values: Values, emit: Emit) -> None:
        pass


CODE = {
    "lines": SteadySpout(Cost(20.0), [(line,) for line in range(LINES)]),
    "fan": _Fan(Cost(100.0)),
    "sink": _Sink(Cost(200.0)),
}


TOPOLOGY = Topology(
    "tree",
    (
        Component("lines", 2, outputs={"default": ("line",)}),
        Component("fan", 3, inputs=(Subscription("lines"),), outputs={"default": ("copy",)}),
        Component("sink", 3, inputs=(Subscription("fan"),)),
    ),
    workers=4,
    ackers=2,
    message_timeout_s=10.0,
)
BRISK: dict[str, Any] = {
    "nimbus_round_s": 5.0,
    "task_timeout_s": 10.0,
    "task_launch_s": 20.0,
    "supervisor_heartbeat_s": 2.0,
    "supervisor_timeout_s": 10.0,
    "assignment_sync_s": 4.0,
    "worker_timeout_s": 10.0,
}
"""Short timers, so that failures are noticed and repaired within a short run."""


@cache
def trace(version: StormVersion) -> WorkloadTrace:
    """Trace of what the user code does with every line."""
    return build_trace(TOPOLOGY, CODE, version)


class Rows:
    """A recorder that keeps all rows as data frames."""

    def __init__(self) -> None:
        self._parts: dict[str, list[pd.DataFrame]] = {}

    def append(self, table: str, columns: Mapping[str, Any]) -> None:
        plain = {
            name: np.asarray(column.names, object)[np.asarray(column.codes)]
            if isinstance(column, Coded)
            else np.array(column)
            for name, column in columns.items()
        }
        self._parts.setdefault(table, []).append(pd.DataFrame(plain))

    def table(self, name: str) -> pd.DataFrame:
        """Return all rows of a table, in order of arrival."""
        parts = self._parts.get(name)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


@dataclass
class Played:
    """A finished run."""

    outcome: EmulationOutcome
    rows: Rows


def spec(
    *,
    duration_s: float = 60.0,
    on_fail: FailurePolicy = FailurePolicy.REPLAY,
    anchored: bool = True,
    migration: MigrationMethod | None = None,
    faults: FaultPlan | None = None,
    services: tuple[Service, ...] = (),
    seed: int = 1,
    version: StormVersion = V0_9_7,
    timers: Timers | None = None,
    rate_per_s: float = 10.0,
    source: SourcePlan | None = None,
) -> EmulationSpec:
    """A run of the tree topology on four nodes in two racks; ``source`` replaces the queue.

    All JVMs take the same CPU to start.
    """
    if source is None:
        source = SourcePlan(SourceKind.RATE, rate_per_s=rate_per_s, on_fail=on_fail, anchored=anchored)
    nodes = tuple(Node(f"node{i + 1:02}", rack=f"r{i % 2}") for i in range(4))
    return EmulationSpec(
        cluster=Cluster(nodes),
        version=version,
        topologies=(TopologyPlan(TOPOLOGY, trace(version), {"lines": source}),),
        scheduler=DefaultScheduler(),
        cost=CostModel(jvm_start_cv=0.0),
        duration_s=duration_s,
        seed=seed,
        migration=migration or Restart(),
        faults=faults or FaultPlan(),
        services=services,
        timers=timers or replace(timers_of(version), **BRISK),
    )


def play(run: EmulationSpec) -> Played:
    """Play a run and keep its rows."""
    rows = Rows()
    return Played(Emulation(run).run(rows), rows)
