"""The standard metrics, available for every run, each under its name in `MetricTables`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

from pyspark.sql import DataFrame

from storm_lab.pipeline.cpu import capacity, node_cpu, steady_cpu, steady_thread_cpu
from storm_lab.pipeline.events import (
    control_log,
    degradation,
    events,
    smooth_mean,
    spikes,
    stabilisation,
    stretches,
)
from storm_lab.pipeline.execution import execution_times, steady_elapsed
from storm_lab.pipeline.latency import Latencies, latencies, latency_distribution
from storm_lab.pipeline.occupancy import occupancy, stays, steady_occupancy
from storm_lab.pipeline.tables import Logs
from storm_lab.pipeline.throughput import (
    by_component,
    component_throughput,
    failures,
    outcomes,
    steady,
    throughput,
)
from storm_lab.pipeline.traffic import by_locality, executor_traffic, steady_traffic_share

MINUTE = 60.0
SHORT = 10.0


def _cached(make: Callable[[_Shared], DataFrame]) -> cached_property[DataFrame]:
    """Return a property whose frame is created at first use and cached by Spark from then on."""
    return cached_property(lambda shared: shared._cache(make(shared)))


def _short_table(name: str) -> cached_property[DataFrame]:
    """Return a cached table of few rows: opening files of hundreds of runs costs more than reading them."""
    return _cached(lambda of: of.logs.table(name))


class _Shared:
    """Intermediate results of several metrics, created at first use and cached by Spark until released."""

    def __init__(self, logs: Logs) -> None:
        self.logs = logs
        self.runs, self.scopes = logs.runs, logs.scopes
        self.cached: list[DataFrame] = []

    def _cache(self, frame: DataFrame) -> DataFrame:
        self.cached.append(frame.cache())
        return frame

    placements = _short_table("placements")
    nodes = _short_table("nodes")
    control = _short_table("control")
    cpu = _short_table("cpu")
    counts = _short_table("counts")

    roots = cached_property(lambda of: of.logs.table("roots"))
    traffic = cached_property(lambda of: of.logs.table("traffic"))

    disturbances = _cached(lambda of: events(of.control))
    counted = _cached(lambda of: outcomes(of.roots, of.runs, of.scopes))
    seconds = _cached(lambda of: throughput(of.counted, of.scopes, 1.0))
    components = _cached(lambda of: by_component(of.counts))
    localities = _cached(lambda of: by_locality(of.traffic))
    steps = _cached(lambda of: occupancy(of.placements, of.runs))

    @cached_property
    def latencies(self) -> Latencies:
        found = latencies(self.roots, self.runs, self.scopes, SHORT, MINUTE)
        self.cached += found.cached
        return found


_METRICS: Mapping[str, Callable[[_Shared], DataFrame]] = {
    "latency_10s": lambda of: of.latencies.narrow,
    "latency_60s": lambda of: of.latencies.wide,
    "steady_latency": lambda of: of.latencies.steady,
    "latency_distribution": lambda of: latency_distribution(of.roots, of.runs),
    "throughput_1s": lambda of: of.seconds,
    "throughput_10s": lambda of: throughput(of.counted, of.scopes, SHORT),
    "throughput_60s": lambda of: throughput(of.counted, of.scopes, MINUTE),
    "component_throughput_10s": lambda of: component_throughput(of.components, of.scopes, SHORT),
    "component_throughput_60s": lambda of: component_throughput(of.components, of.scopes, MINUTE),
    "failures_10s": lambda of: failures(of.counted, of.scopes, SHORT),
    "failures_60s": lambda of: failures(of.counted, of.scopes, MINUTE),
    "degradation": lambda of: degradation(of.seconds, smooth_mean(of.seconds, of.runs, of.disturbances)),
    "executor_traffic": lambda of: executor_traffic(of.traffic, of.localities, of.placements, of.runs),
    "steady_traffic_share": lambda of: steady_traffic_share(of.localities, of.runs),
    "occupancy": lambda of: of.steps,
    "stays": lambda of: stays(of.placements, of.runs),
    "node_cpu_60s": lambda of: node_cpu(of.cpu, of.nodes, of.runs, MINUTE),
    "steady_cpu": lambda of: steady_cpu(of.cpu, of.nodes, of.runs, of.placements.select("run", "node")),
    "steady_thread_cpu": lambda of: steady_thread_cpu(of.cpu, of.runs),
    "capacity_60s": lambda of: capacity(of.counts, of.placements, of.runs, MINUTE),
    "execution_times_60s": lambda of: execution_times(of.logs.table("executions"), of.placements, MINUTE),
    "steady_elapsed": lambda of: steady_elapsed(of.roots, of.logs.table("executions"), of.runs),
    "steady": lambda of: steady(
        of.counted, of.components, of.scopes, of.runs, steady_occupancy(of.steps, of.runs)
    ),
    "stabilisation": lambda of: stabilisation(
        of.latencies.narrow, stretches(of.runs, of.disturbances), "processing_mean_ms"
    ),
    "spikes": lambda of: spikes(of.latencies.narrow, of.disturbances, "processing_mean_ms", SHORT),
    "events": lambda of: of.disturbances,
    "control": lambda of: control_log(of.control),
    "nodes": lambda of: of.nodes,
}


@contextmanager
def standard_metrics(logs: Logs, names: Collection[str]) -> Iterator[Mapping[str, DataFrame]]:
    """Yield the named metrics of all runs of ``logs`` as lazy frames, by name.

    Spark caches intermediate results that several metrics share while the block lasts. Raises `KeyError` for
    an unknown name.
    """
    shared = _Shared(logs)
    try:
        yield {name: _METRICS[name](shared) for name in names}
    finally:
        for frame in shared.cached:
            frame.unpersist()
