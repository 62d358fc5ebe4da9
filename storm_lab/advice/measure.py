"""Measure a setting for advice: rates, latency, the busiest part, and the cost of losing a node."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import pandas as pd

from storm_lab.advice.advice import FULL, HEADROOM_FACTOR, KEEPS_UP, Interval, Measured, NodeLoss
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.faults.commands import SetLoad
from storm_lab.experiments.experiment import RunSpec
from storm_lab.league.entrant import Entrant
from storm_lab.league.reader_site import Site
from storm_lab.league.site_variants import present_load, with_load
from storm_lab.league.stage import stage_runs
from storm_lab.model import Assignment, Executor, Slot
from storm_lab.model.version import V2_0_0
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.summary import metrics_of
from storm_lab.runs.execute import play_all
from storm_lab.tuplelog import open_run

_OFFLINE_RUN_S, _ONLINE_RUN_S = 300.0, 480.0
"""Virtual lengths. The second half of a run is measured; policies on measured load need scheduling rounds
before it.
"""
CURVE_S = 600.0
"""Length near the limit, where the queues that build up while the code is still slow take long to drain."""
_FULL_LOAD_FROM_S, _INITIAL_LOAD_SHARE = 60.0, 0.01
"""Time at which the load begins, when workers have started, and the share of it before that time."""
_GENERATION_S = 100.0
_LOSS_AT_S, _LOSS_S = 120.0, 480.0
_BIN_S = 10.0
_LEAST_RECORDS = 2.0
"""Least number of offered records by which a part of a run after a loss is judged."""
_LATENCY_TAIL_S = 60.0
"""Length of the part at the end of a run over which latency after a loss is averaged."""
_MAX_LOSSES = 3
_STEADY = ("steady", "steady_latency", "node_cpu_60s", "steady_thread_cpu", "capacity_60s")
_AFTER_LOSS = ("throughput_10s", "failures_10s", "latency_10s")


@dataclass(frozen=True)
class Setting:
    """A site under an entrant, to be played."""

    site: Site
    entrant: Entrant

    def run_specs(self, seeds: Sequence[int], duration_s: float | None = None) -> tuple[RunSpec, ...]:
        """Return the runs, one per seed; with ``duration_s`` None, they are as long as the policy needs."""
        length_s = duration_s or (_ONLINE_RUN_S if self.entrant.online else _OFFLINE_RUN_S)
        given = {"seeds": list(seeds), "duration_s": length_s, "generation_s": _GENERATION_S}
        return stage_runs(self.site, [self.entrant], given)


@dataclass(frozen=True)
class Headroom:
    """A setting at its load, which knows whether it has room, and under `HEADROOM_FACTOR` times its load."""

    at_load: Measured
    beyond: Measured


@dataclass(frozen=True)
class Measurer:
    """Plays settings, all those of a call together, and measures them."""

    jobs: int
    show_progress: bool

    def measure(
        self, settings: Sequence[Setting], seeds: Sequence[int], duration_s: float | None = None
    ) -> list[Measured]:
        """Measure each setting over the seeds; without ``duration_s``, for as long as the policy needs."""
        specs = [_with_low_initial_load(setting).run_specs(seeds, duration_s) for setting in settings]
        tables = self._tables(specs, _STEADY)
        return [_measured(setting.site, seeds, own) for setting, own in zip(settings, tables, strict=True)]

    def with_headroom(self, settings: Sequence[Setting], seeds: Sequence[int]) -> list[Headroom]:
        """Measure as `measure`, and with the first seed also under `HEADROOM_FACTOR` times the load."""
        more = [replace(setting, site=with_load(setting.site, HEADROOM_FACTOR)) for setting in settings]
        specs = [_with_low_initial_load(setting).run_specs(seeds) for setting in settings]
        specs += [_with_low_initial_load(setting).run_specs(seeds[:1]) for setting in more]
        tables = iter(self._tables(specs, _STEADY))
        at_load = [_measured(setting.site, seeds, next(tables)) for setting in settings]
        beyond = [_measured(setting.site, seeds[:1], next(tables)) for setting in more]
        return [
            Headroom(replace(own, has_room=larger.keeps_up), larger)
            for own, larger in zip(at_load, beyond, strict=True)
        ]

    def placement(self, setting: Setting, seed: int) -> Assignment:
        """Return the placement of the executors at the end of a run."""
        (run,) = play_all(setting.run_specs([seed]), jobs=self.jobs)
        rows = open_run(run.folder).table("placements").sort_by("start_ns").to_pylist()
        executor = itemgetter("topology", "start_task", "end_task", "component")
        last = {Executor(*executor(row)): Slot(row["node"], row["port"]) for row in rows}
        return Assignment.of(sorted(last.items()))

    def losses(self, setting: Setting, placed: Assignment, seed: int) -> tuple[NodeLoss, ...]:
        """Measure the loss of each of the nodes that hold most executors; the policy then schedules again."""
        executors_on = Counter(slot.node for slot in placed.slots.values())
        names = sorted(executors_on, key=lambda node: (-executors_on[node], node))[:_MAX_LOSSES]
        failing = []
        for node in names:
            faults = FaultPlan.of_rows([{"fault": "kill-node", "at_s": _LOSS_AT_S, "node": node}])
            conditions = replace(setting.site.conditions, placement=placed, faults=faults)
            failing.append(replace(setting, site=replace(setting.site, conditions=conditions)))
        tables = self._tables([each.run_specs([seed], _LOSS_S) for each in failing], _AFTER_LOSS)
        load = present_load(setting.site)
        return tuple(_loss(node, load, own) for node, own in zip(names, tables, strict=True))

    def _tables(self, specs: Sequence[Sequence[RunSpec]], names: tuple[str, ...]) -> list[MetricTables]:
        played = play_all(
            [spec for own in specs for spec in own], jobs=self.jobs, show_progress=self.show_progress
        )
        # Compute all of them first, in a single Spark job.
        metrics_of([run.folder for run in played], names=names, show_progress=self.show_progress)
        folders = iter([run.folder for run in played])
        return [metrics_of([next(folders) for _ in own], names=names) for own in specs]


def _with_low_initial_load(setting: Setting) -> Setting:
    """Return the setting with little load until the workers are up.

    Near the limit, the tuples that wait for the workers would never be worked off. Policies on measured load
    get the full load from the start.
    """
    if setting.entrant.online:
        return setting
    plan, low = setting.site.plan, with_load(setting.site, _INITIAL_LOAD_SHARE)
    full_load = tuple(
        SetLoad(_FULL_LOAD_FROM_S, plan.topology.id, spout, source.rate_per_s)
        for spout, source in plan.sources.items()
    )
    conditions = replace(low.conditions, faults=FaultPlan(full_load))
    return replace(setting, site=replace(low, conditions=conditions))


def _measured(site: Site, seeds: Sequence[int], tables: MetricTables) -> Measured:
    steady, latency = tables.steady, tables.steady_latency
    utilisation, busiest = _busiest(tables, idle_executors_poll=site.version >= V2_0_0)
    return Measured(
        offered_per_s=present_load(site),
        acked_per_s=Interval.of(steady["acked_per_s"].tolist()),
        latency_ms=Interval.of(latency["complete_mean_ms"].tolist()),
        p99_ms=Interval.of(latency["complete_p99_ms"].tolist()),
        failed_per_s=float((steady["failed"] / steady["measured_s"]).mean()),
        nodes=float(steady["nodes_last"].mean()),
        busiest=busiest,
        utilisation=utilisation,
        measured_s=float(steady["measured_s"].min()),
        unsettled=len(seeds) - len(steady),
    )


_Part = tuple[float, str]
"""Share of its time for which a part is busy, and what it is: a node's cores, an executor, another thread."""


def _busiest(tables: MetricTables, idle_executors_poll: bool) -> _Part:
    """Return the part that is busy for the largest share of its time after the warm-up; no name if none is.

    An executor is also busy while it waits for a server inside ``execute``. That counts only if no CPU is
    full, because time inside ``execute`` includes waits for a core. If idle executors poll their queues (from
    Storm 2 on), their CPU use means nothing until it is full.
    """
    cores = [
        (row["utilisation"], f"the cores of {row['node']}")
        for row in _means(_after_warm_up(tables, tables.node_cpu_60s), ["node"], "utilisation")
    ]
    keys = ["component", "task", "thread", "worker", "node"]
    threads = _means(tables.steady_thread_cpu, keys, "cores_used")
    found = max([(0.0, ""), *cores, *map(_thread, threads)])
    if found[0] < FULL:
        working = [row for row in threads if not (idle_executors_poll and row["thread"] == "main")]
        inside = [
            (row["capacity"], f"an executor of {row['component']}")
            for row in _means(_after_warm_up(tables, tables.capacity_60s), ["component", "task"], "capacity")
        ]
        found = max([(0.0, ""), *cores, *map(_thread, working), *inside])
    return min(found[0], 1.0), found[1]


def _thread(row: Mapping[str, Any]) -> _Part:
    if not row["component"]:
        name = f"the {row['thread']} thread of a worker on {row['node']}"
    elif row["thread"] == "main":
        name = f"an executor of {row['component']}"
    else:
        name = f"the {row['thread']} thread of an executor of {row['component']}"
    return row["cores_used"], name


def _means(frame: pd.DataFrame, keys: list[str], value: str) -> list[dict[str, Any]]:
    """Return the mean of a column by keys, over bins and seeds."""
    means = frame.groupby(keys)[value].mean().reset_index()
    return [{str(name): item for name, item in row.items()} for row in means.to_dict("records")]


def _after_warm_up(tables: MetricTables, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the bins that are entirely after the warm-up."""
    joined = frame.merge(tables.runs[["run", "warm_up_s"]], on="run")
    return joined[joined["t_s"] >= joined["warm_up_s"]]


def _loss(node: str, load: float, tables: MetricTables) -> NodeLoss:
    done, failures, latency = tables.throughput_10s, tables.failures_10s, tables.latency_10s
    # The end of the run cuts off the last bin.
    after = done[(done["t_s"] >= _LOSS_AT_S) & (done["t_s"] < _LOSS_S - _BIN_S)]
    width_s = _BIN_S * math.ceil(_LEAST_RECORDS / (load * _BIN_S))
    parts = after.groupby((after["t_s"] - _LOSS_AT_S) // width_s).agg(
        last_s=("t_s", "max"), bins=("t_s", "size"), acked=("acked", "sum")
    )
    short = parts[parts["acked"] < KEEPS_UP * load * parts["bins"] * _BIN_S - 1.0]
    until = float(short["last_s"].max()) + _BIN_S if len(short) else _LOSS_AT_S
    recovers = until < _LOSS_S - _LATENCY_TAIL_S
    failed = failures[failures["t_s"] >= _LOSS_AT_S][["failed", "lost"]].to_numpy().sum()
    last = latency[latency["t_s"] >= _LOSS_S - _LATENCY_TAIL_S]
    settled = last["complete_mean_ms"].mean() if recovers else float("nan")
    return NodeLoss(node, float(failed), until - _LOSS_AT_S, float(settled), recovers)
