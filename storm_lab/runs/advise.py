"""Finding advice: plays a topology on its machines under policies, loads, losses and other costs.

Each figure is read from the metric tables of the runs, which lie among all runs and are played once. The
steps: policies and numbers of workers at the present load; the fewest nodes for it and for twice as much;
the rate up to which the best setting keeps up, by halving; latency at shares of that rate; the loss of each
of the nodes that hold most; and the same with figures that were assumed, halved and doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt

import pandas as pd

from storm_lab.emulator.constant import Constant, constants_of
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import SourceKind
from storm_lab.errors import UserError
from storm_lab.experiments.parameter import Parameters
from storm_lab.league.advice import (
    KEEPS_UP,
    Advice,
    Choice,
    Interval,
    Measured,
    NodeLoss,
    Sensitivity,
    best_of,
)
from storm_lab.league.entrant import Entrant
from storm_lab.league.imported_site import imported_site
from storm_lab.league.reader_site import Site
from storm_lab.league.stage import stage_parameters, stage_runs
from storm_lab.model import Assignment, Cluster, Executor, Slot, executors_of
from storm_lab.model.machines import Machines
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.summary import metrics_of
from storm_lab.runs.execute import JOBS, play_all
from storm_lab.schedulers import make_scheduler
from storm_lab.schedulers.baselines.given import GivenPlacement
from storm_lab.tuplelog import open_run
from storm_lab.workloads.importers.imported import Imported

POLICIES: Mapping[str, bool] = {"default": False, "rstorm": False, "tstorm": True}
"""Policies that are tried, and whether each runs on measured load, in T-Storm's place."""

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.2)
"""Shares of the capacity at which latency is measured."""

_PLAIN_S = 240.0
_ONLINE_S = 480.0
_GENERATION_S = 100.0
"""Virtual lengths; the second half of a run is measured, and policies on measured load need rounds before."""
_LOSS_AT_S, _LOSS_S = 120.0, 480.0
_BIN_S = 10.0
_STEPS = 6
"""Halvings of the interval in which the capacity lies."""
_MOST_LOSSES = 3
_MESSAGE_COSTS = ("serialise_us", "deserialise_us", "transfer_us", "receive_us", "read_us", "write_us")
_TABLES = (
    "steady", "steady_latency", "node_cpu_60s", "executor_cpu_60s", "throughput_10s", "failures_10s",
    "latency_10s",
)  # fmt: skip

Say = Callable[[str], None]


@dataclass(frozen=True)
class _Setting:
    """What is played: a site under an entrant."""

    site: Site
    entrant: Entrant
    duration_s: float = _PLAIN_S


@dataclass(frozen=True)
class _Asker:
    """Plays settings and reads their tables."""

    jobs: int
    show_progress: bool

    def tables(self, settings: Sequence[_Setting], seeds: Sequence[int]) -> list[MetricTables]:
        """One set of tables a setting."""
        specs = [stage_runs(s.site, [s.entrant], _parameters(s, seeds)) for s in settings]
        played = play_all(
            [spec for each in specs for spec in each], jobs=self.jobs, show_progress=self.show_progress
        )
        folders = iter([run.folder for run in played])
        # All at once first: one Spark job for them together.
        metrics_of([run.folder for run in played], names=_TABLES)
        return [metrics_of([next(folders) for _ in each], names=_TABLES) for each in specs]

    def measure(self, settings: Sequence[_Setting], seeds: Sequence[int]) -> list[Measured]:
        """What each setting did."""
        return [
            _measured(setting.site, tables)
            for setting, tables in zip(settings, self.tables(settings, seeds), strict=True)
        ]

    def placement(self, setting: _Setting, seed: int) -> Assignment:
        """Where the executors were at the end of a run."""
        (run,) = play_all(stage_runs(setting.site, [setting.entrant], _parameters(setting, [seed])), jobs=0)
        rows = open_run(run.folder).table("placements").to_pylist()
        last = {
            (row["component"], row["start_task"], row["end_task"]): Slot(row["node"], row["port"])
            for row in sorted(rows, key=lambda row: row["start_ns"])
        }
        topology = setting.site.plan.topology
        return Assignment.of(
            (executor, last[executor.component, executor.start, executor.end])
            for executor in executors_of(topology, setting.site.version)
        )


def policies_of(texts: Sequence[str]) -> Mapping[str, bool]:
    """Policies by name, and whether each runs on measured load (``online:`` before its name).

    Without any, `POLICIES`.

    Raises:
        UserError: there is no policy of that name.
    """
    found = {text.removeprefix("online:"): text.startswith("online:") for text in texts}
    for name in found:
        make_scheduler(name)
    return found or POLICIES


def advise(
    imported: Imported,
    machines: Machines | None = None,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    policies: Mapping[str, bool] = POLICIES,
    jobs: int = JOBS,
    show_progress: bool = False,
    say: Say = lambda line: None,
) -> Advice:
    """Advice on an imported topology: as `advise_site`, and how far it hangs on costs that were assumed.

    Raises:
        UserError: the topology cannot be played, or as `advise_site`.
        StormLabError: a run fails, or there is no Java for Spark.
    """
    build = partial(imported_site, machines=machines)
    playable = imported.ready()
    guessed = sorted({item.component for item in imported.assumed if item.what.startswith("cost of")})
    guessed = [name for name in guessed if name in playable.figures]
    others: dict[str, Callable[[float], Site]] = {}

    def scaled(factor: float) -> Site:
        figures = {
            name: replace(known, cost_us=known.cost_us.scaled(factor)) if name in guessed else known
            for name, known in playable.figures.items()
        }
        return build(replace(imported, playable=replace(playable, figures=figures)))

    if guessed:
        others[f"the assumed costs of {', '.join(guessed)}"] = scaled
    return advise_site(
        build(imported),
        seeds=seeds,
        policies=policies,
        others=others,
        assumed=[str(item) for item in imported.assumed],
        jobs=jobs,
        show_progress=show_progress,
        say=say,
    )


def advise_site(
    site: Site,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    policies: Mapping[str, bool] = POLICIES,
    others: Mapping[str, Callable[[float], Site]] | None = None,
    assumed: Sequence[str] = (),
    jobs: int = JOBS,
    show_progress: bool = False,
    say: Say = lambda line: None,
) -> Advice:
    """Advice on a topology, its input and machines.

    Args:
        site: the topology under its present load, on all machines that there are.
        seeds: runs of each setting whose intervals are shown.
        policies: names of policies, and whether each runs on measured load.
        others: what may be otherwise, with a function from a factor to the site with it.
        assumed: what was assumed, for the page.
        jobs: emulations at a time.
        show_progress: draw bars.
        say: told what is done.

    Raises:
        UserError: a spout has no rate, so there is no present load, or there is no such policy.
        StormLabError: a run fails, or there is no Java for Spark.
    """
    load = _load(site)
    ask = _Asker(jobs, show_progress)
    say("policies and workers")
    kinds = [(policy, workers) for policy in policies for workers in _workers(site)]
    settings = [_setting(_with_workers(site, count), name, policies[name]) for name, count in kinds]
    choices = tuple(
        Choice(policy, workers, measured)
        for (policy, workers), measured in zip(kinds, ask.measure(settings, seeds), strict=True)
    )
    best = best_of(choices)
    chosen = settings[choices.index(best)]
    say(f"best: {best.policy} with {best.workers} workers; how many nodes")

    def fewest(where: Site, factor: float) -> int | None:
        def fits(count: int) -> bool:
            fewer = _with_nodes(_with_rate(where, factor), count)
            fewer = _with_workers(fewer, max(best.workers, count))
            return ask.measure([_setting(fewer, best.policy, policies[best.policy])], seeds[:1])[0].fits

        return _first(fits, len(where.cluster.nodes))

    nodes, twice = fewest(site, 1.0), fewest(site, 2.0)
    say("how much it carries")
    placed = ask.placement(chosen, seeds[0])
    fixed = _Setting(chosen.site, Entrant("as-placed", GivenPlacement(placed)))

    def carries(setting: _Setting, start: Measured) -> float:
        def keeps_up(rate: float) -> bool:
            at = replace(setting, site=_with_rate(setting.site, rate / load))
            return ask.measure([at], seeds[:1])[0].keeps_up

        return _highest(keeps_up, load / max(start.utilisation, 0.01))

    capacity = carries(fixed, best.measured)
    at = [replace(fixed, site=_with_rate(fixed.site, share * capacity / load)) for share in SHARES]
    curve = tuple(zip(SHARES, ask.measure(at, seeds), strict=True))
    full = dict(curve)
    say("losses of nodes")
    losses = _losses(ask, chosen.site, placed, seeds[0])
    sensitivity: list[Sensitivity] = []
    for what, scaled in {**(others or {}), "costs of messages": partial(_messages, site)}.items():
        for factor in (0.5, 2.0):
            say(f"{what} times {factor:g}")
            other = _with_workers(scaled(factor), best.workers)
            (start,) = ask.measure([replace(fixed, site=other)], seeds[:1])
            sensitivity.append(
                Sensitivity(what, factor, carries(replace(fixed, site=other), start), fewest(other, 1.0))
            )
    return Advice(
        topology=site.plan.topology.id,
        load_per_s=load,
        choices=choices,
        nodes=nodes,
        nodes_twice=twice,
        machines=len(site.cluster.nodes),
        capacity_per_s=full[1.0].acked_per_s,
        saturates=full[1.2].busiest,
        curve=curve,
        losses=losses,
        sensitivity=tuple(sensitivity),
        assumed=tuple(assumed),
        seeds=tuple(seeds),
    )


def _parameters(setting: _Setting, seeds: Sequence[int]) -> Parameters:
    given = {"seeds": list(seeds), "duration_s": setting.duration_s, "generation_s": _GENERATION_S}
    return stage_parameters(setting.site, given)


def _setting(site: Site, policy: str, online: bool) -> _Setting:
    return _Setting(
        site, Entrant(policy, make_scheduler(policy), online=online), _ONLINE_S if online else _PLAIN_S
    )


def _load(site: Site) -> float:
    for spout, source in site.plan.sources.items():
        if source.kind is not SourceKind.RATE:
            raise UserError(
                "has no rate, so there is no present load",
                field=f"source of spout {spout}",
                value=source.kind.value,
                remedy="give its records a second",
            )
    return sum(source.rate_per_s for source in site.plan.sources.values())


def _workers(site: Site) -> list[int]:
    """Numbers of workers that are tried: one, one a node, two a node, and the topology's own."""
    nodes = len(site.cluster.nodes)
    slots = sum(len(node.ports) for node in site.cluster.nodes)
    executors = len(executors_of(site.plan.topology, site.version))
    wanted = {1, nodes, 2 * nodes, site.plan.topology.workers}
    return sorted({min(count, slots, executors) for count in wanted})


def _with_workers(site: Site, count: int) -> Site:
    topology = replace(site.plan.topology, workers=count)
    return replace(site, plan=replace(site.plan, topology=topology))


def _with_nodes(site: Site, count: int) -> Site:
    return replace(site, cluster=Cluster(site.cluster.nodes[:count]))


def _with_rate(site: Site, factor: float) -> Site:
    sources = {
        name: replace(source, rate_per_s=source.rate_per_s * factor)
        for name, source in site.plan.sources.items()
    }
    return replace(site, plan=replace(site.plan, sources=sources))


def _messages(site: Site, factor: float) -> Site:
    """The site with other costs of messages between workers, inside the constants' ranges."""
    ranges = {item.name: item for item in _constants()}
    cost = site.conditions.cost
    values = {
        name: min(max(getattr(cost, name) * factor, ranges[name].low), ranges[name].high)
        for name in _MESSAGE_COSTS
    }
    return replace(site, conditions=replace(site.conditions, cost=replace(cost, **values)))


def _constants() -> list[Constant]:
    return list(constants_of(CostModel()))


def _first(fits: Callable[[int], bool], most: int) -> int | None:
    """The first number from 1 to ``most`` that fits, where more fit if fewer do; None if none does."""
    if not fits(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _highest(keeps_up: Callable[[float], bool], guess: float) -> float:
    """The highest rate that is kept up with, to some percent."""
    low = high = guess
    while not keeps_up(low):
        high, low = low, low / 2
        if low < guess / 1000:
            raise UserError("nothing is completed at any rate", field="topology", remedy="look at its acks")
    while low == high or keeps_up(high):
        low, high = high, high * 1.5
    for _ in range(_STEPS):
        middle = sqrt(low * high)
        low, high = (middle, high) if keeps_up(middle) else (low, middle)
    return low


def _measured(site: Site, tables: MetricTables) -> Measured:
    steady, latency = tables.steady, tables.steady_latency
    busiest, utilisation = _busiest(tables)
    return Measured(
        offered_per_s=_load(site),
        acked_per_s=Interval.of(steady["acked_per_s"].tolist()),
        latency_ms=Interval.of(latency["complete_mean_ms"].tolist()),
        p99_ms=Interval.of(latency["complete_p99_ms"].tolist()),
        failed_per_s=float((steady["failed"] / steady["measured_s"]).mean()),
        nodes=float(steady["nodes_last"].mean()),
        busiest=busiest,
        utilisation=utilisation,
    )


def _busiest(tables: MetricTables) -> tuple[str, float]:
    """The resource with the highest mean utilisation after the warm-up, and that utilisation."""
    warm = tables.runs[["run", "warm_up_s"]]

    def later(frame: pd.DataFrame) -> pd.DataFrame:
        joined = frame.merge(warm, on="run")
        return joined[joined["t_s"] >= joined["warm_up_s"]]

    nodes = later(tables.node_cpu_60s).groupby("node")["utilisation"].mean()
    threads = later(tables.executor_cpu_60s).groupby(["component", "task"])["cores_used"].mean()
    found = [(float(share), f"the cores of {node}") for node, share in nodes.items()]
    found += [
        (min(float(share), 1.0), f"the thread of an executor of {component}")
        for (component, _), share in threads.items()
    ]
    share, name = max(found, default=(0.0, "nothing"))
    return name, share


def _losses(ask: _Asker, site: Site, placed: Assignment, seed: int) -> tuple[NodeLoss, ...]:
    held: dict[str, list[Executor]] = {}
    for executor, slot in placed.slots.items():
        held.setdefault(slot.node, []).append(executor)
    names = sorted(held, key=lambda node: (-len(held[node]), node))[:_MOST_LOSSES]
    settings = []
    for node in names:
        plan = FaultPlan.of_rows([{"fault": "kill-node", "at_s": _LOSS_AT_S, "node": node}])
        under = replace(
            site.conditions,
            placement=placed,
            faults=FaultPlan((*site.conditions.faults.faults, *plan.faults)),
        )
        entrant = Entrant("default", make_scheduler("default"))
        settings.append(_Setting(replace(site, conditions=under), entrant, _LOSS_S))
    return tuple(
        _loss(node, _load(site), tables)
        for node, tables in zip(names, ask.tables(settings, [seed]), strict=True)
    )


def _loss(node: str, load: float, tables: MetricTables) -> NodeLoss:
    done, failures, latency = tables.throughput_10s, tables.failures_10s, tables.latency_10s
    # The last bin is cut off by the end of the run.
    after = done[(done["t_s"] >= _LOSS_AT_S) & (done["t_s"] < _LOSS_S - _BIN_S)]
    short = after[after["acked_per_s"] < KEEPS_UP * load - 1.0]
    until = float(short["t_s"].max()) + _BIN_S if len(short) else _LOSS_AT_S
    recovers = until < _LOSS_S - 3 * _BIN_S
    failed = failures[failures["t_s"] >= _LOSS_AT_S][["failed", "lost"]].to_numpy().sum()
    settled = latency[latency["t_s"] >= until]["complete_mean_ms"].mean() if recovers else float("nan")
    return NodeLoss(node, float(failed), until - _LOSS_AT_S, float(settled), recovers)
