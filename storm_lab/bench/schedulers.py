"""Measure how the time of each policy grows with the size of the problem, for ``storm-lab bench schedulers``.

Executors and nodes grow together (ten executors per node), in topologies of a hundred executors each with
sparse traffic. A policy that considers every node for every executor, as in T-Storm's ``O(Ne log Ne + Ne
Ns)``, may therefore grow with the square of the executors.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise

import click

from storm_lab.machine.options import answer, json_option
from storm_lab.model import (
    Cluster,
    Component,
    Executor,
    MeasuredLoad,
    Node,
    Resources,
    StormVersion,
    Subscription,
    Topology,
)
from storm_lab.model.grouped import grouped
from storm_lab.schedulers import SchedulingView, make_scheduler, scheduler_names

SIZES = ((100, 10), (300, 30), (1000, 100), (3000, 300), (10_000, 1000))
"""Numbers of executors and nodes at each step."""

HEURISTICS = tuple(name for name in scheduler_names() if name != "optimal")
"""Every policy but the optimum."""

STATED_EXPONENT = {"tstorm": 2.0}
"""Exponent that a paper states, in executors with nodes growing alike: ``Ne * Ns`` for T-Storm."""

_STAGES, _TOPOLOGY_SIZE = 4, 100
_MIN_MEASURABLE_S = 0.002
_REPEATS, _QUICK_S = 3, 0.5


@dataclasses.dataclass(frozen=True, slots=True)
class Timing:
    """Time of one call of ``schedule``: the smallest of three if the call is quick.

    ``seconds`` is CPU time, which other work on the machine hardly affects; policies run in one thread.
    """

    scheduler: str
    storm_version: str
    executors: int
    nodes: int
    traffic_pairs: int
    seconds: float
    scheduled_topologies: int
    topologies: int
    wall_seconds: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Growth:
    """A policy's timings, and the exponent of the power law in executors that fits them best."""

    scheduler: str
    storm_version: str
    exponent: float | None
    stated_exponent: float | None
    timings: tuple[Timing, ...]


def problem(executors: int, nodes: int, version: StormVersion) -> SchedulingView:
    """Build a view with chains of four equal components; each executor sends to all of the next stage."""
    count = max(1, executors // _TOPOLOGY_SIZE)
    topologies = tuple(_chain(f"chain-{i + 1:03d}", executors // count) for i in range(count))
    numbered = ((i, f"{i + 1:04d}") for i in range(nodes))
    cluster = Cluster(tuple(Node(f"node{n}", host=f"host{n}", rack=f"rack{i % 10}") for i, n in numbered))
    bare = SchedulingView(topologies, cluster, version)
    traffic: dict[tuple[Executor, Executor], float] = {}
    for topology in topologies:
        stages = grouped(bare.executors[topology.id], lambda executor: executor.component)
        for first, second in pairwise(stages.values()):
            for a, source in enumerate(first):
                for b, target in enumerate(second):
                    # Rates differ, so that sorting by traffic has work to do.
                    traffic[source, target] = 10.0 + (7 * a + 3 * b) % 11
    cpu = {e: 10.0 for group in bare.executors.values() for e in group}
    isolated = {topology.name: 5 for topology in topologies[::2]}
    return dataclasses.replace(bare, load=MeasuredLoad(cpu_mhz=cpu, traffic=traffic), isolated=isolated)


def _chain(topology_id: str, executors: int) -> Topology:
    stages = []
    for i in range(_STAGES):
        inputs = (Subscription(f"stage{i - 1}"),) if i else ()
        demand = Resources(cpu_points=10.0, memory_mb=128.0)
        stages.append(Component(f"stage{i}", executors // _STAGES, inputs=inputs, resources=demand))
    return Topology(topology_id, tuple(stages), workers=20, ackers=0, name=topology_id)


def bench_schedulers(
    schedulers: Iterable[str] = HEURISTICS, sizes: Sequence[tuple[int, int]] = SIZES
) -> list[Growth]:
    """Time every policy at every number of executors and nodes; `ras` in the form of two Storm versions."""
    versions = {"ras": (StormVersion((2, 8, 8)), StormVersion((1, 0, 6)))}
    newest = versions["ras"][:1]
    runs = [(name, version) for name in schedulers for version in versions.get(name, newest)]
    found: dict[tuple[str, StormVersion], list[Timing]] = {run: [] for run in runs}
    for executors, nodes in sizes:
        for name, version in runs:
            found[name, version].append(_time(name, problem(executors, nodes, version)))
    return [
        Growth(name, str(version), growth_exponent(timings), STATED_EXPONENT.get(name), tuple(timings))
        for (name, version), timings in found.items()
    ]


def _time(name: str, view: SchedulingView) -> Timing:
    policy = make_scheduler(name)
    cpu = wall = math.inf
    for _ in range(_REPEATS):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        result = policy.schedule(view)
        used = time.process_time() - cpu_start
        if used < cpu:
            cpu, wall = used, time.perf_counter() - wall_start
        if used > _QUICK_S:
            break
    assert view.load is not None
    return Timing(
        scheduler=name,
        storm_version=str(view.version),
        executors=sum(map(len, view.executors.values())),
        nodes=len(view.cluster.nodes),
        traffic_pairs=len(view.load.traffic),
        seconds=cpu,
        scheduled_topologies=sum(status.scheduled for status in result.status.values()),
        topologies=len(view.topologies),
        wall_seconds=wall,
    )


def growth_exponent(timings: Sequence[Timing]) -> float | None:
    """Slope of log seconds over log executors by least squares, over the larger half of the sizes.

    Small sizes measure fixed costs, so times under two milliseconds are left out if at least two others
    remain. None if there are fewer than two sizes.
    """
    slow = [timing for timing in timings if timing.seconds >= _MIN_MEASURABLE_S]
    used = (slow if len(slow) >= 2 else timings)[-3:]
    executors = [math.log(timing.executors) for timing in used]
    if len(set(executors)) < 2:
        return None
    return statistics.linear_regression(executors, [math.log(max(t.seconds, 1e-9)) for t in used]).slope


def growth_text(growths: Iterable[Growth]) -> Iterable[str]:
    """Yield the lines of a table with one line per policy: its times and exponent."""
    rows = list(growths)
    if not rows:
        return
    sizes = [f"{t.executors}x{t.nodes}" for t in rows[0].timings]
    yield f"{'scheduler':<18}{'storm':<8}" + "".join(f"{size:>14}" for size in sizes) + f"{'exponent':>10}"
    for growth in rows:
        times = "".join(f"{t.seconds:>12.3f} s" for t in growth.timings)
        exponent = "-" if growth.exponent is None else f"{growth.exponent:.2f}"
        yield f"{growth.scheduler:<18}{growth.storm_version:<8}{times}{exponent:>10}"


@click.command("schedulers")
@json_option
@click.option(
    "--scheduler", "names", multiple=True, metavar="NAME", help="Time only this policy; may be repeated."
)
@click.option(
    "--most-executors",
    default=SIZES[-1][0],
    show_default=True,
    type=click.IntRange(min=SIZES[0][0]),
    help="Skip larger sizes.",
)
def bench_schedulers_command(as_json: bool, names: tuple[str, ...], most_executors: int) -> None:
    """Time every scheduling policy against the number of executors and nodes."""
    sizes = [size for size in SIZES if size[0] <= most_executors]
    growths = bench_schedulers(names or HEURISTICS, sizes)
    rows = [dataclasses.asdict(growth) for growth in growths]
    document = {"unit": "seconds of CPU time", "schedulers": rows}
    answer(as_json, document, "\n".join(growth_text(growths)))
