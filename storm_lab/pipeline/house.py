"""The house set: the metrics that every run gets, each under the name that it has in `MetricTables`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame

from storm_lab.pipeline.capacity import capacity, component_capacity, final_capacity
from storm_lab.pipeline.cpu import component_cpu, executor_cpu, node_cpu, steady_cpu
from storm_lab.pipeline.degradation import degradation, smooth_mean
from storm_lab.pipeline.elapsed import steady_elapsed
from storm_lab.pipeline.events import control_log, events, stretches
from storm_lab.pipeline.execution import execution_times
from storm_lab.pipeline.failures import failures
from storm_lab.pipeline.latency import latencies, latency_distribution
from storm_lab.pipeline.occupancy import occupancy, stays, steady_occupancy
from storm_lab.pipeline.outcomes import outcomes
from storm_lab.pipeline.stability import spikes, stabilisation
from storm_lab.pipeline.steady import steady
from storm_lab.pipeline.tables import Logs
from storm_lab.pipeline.throughput import by_component, coarser, component_throughput, throughput
from storm_lab.pipeline.traffic import by_locality, executor_traffic, steady_traffic_share, traffic_share

MINUTE = 60.0
SHORT = 10.0

TWO_PASSES_ABOVE = 2_000_000
"""Root tuples of one run above which percentiles are taken in two passes: up to there, all latencies of a run
are 32 MB, beyond there is no limit to them.
"""

_READ_ONCE = ("placements", "nodes", "control", "cpu", "counts")
"""Tables of few rows that several metrics need. Opening the files of hundreds of runs costs more than reading
them, so Spark keeps these while they are in use.
"""


@contextmanager
def house_set(logs: Logs) -> Iterator[Mapping[str, DataFrame]]:
    """The metrics of all runs of ``logs``, lazily, by name.

    Intermediate results that several metrics share are kept by Spark while the block lasts.
    """
    roots, executions, traffic = logs.table("roots"), logs.table("executions"), logs.table("traffic")
    read_once = [logs.table(name).cache() for name in _READ_ONCE]
    placements, nodes, control, cpu, counts = read_once
    runs, scopes = logs.runs, logs.scopes
    disturbances = events(control).cache()
    counted = outcomes(roots, runs, scopes).cache()
    seconds = throughput(counted, scopes, 1.0).cache()
    components = by_component(counts).cache()
    localities = by_locality(traffic).cache()
    large = logs.most_rows("roots") > TWO_PASSES_ABOVE
    took = latencies(roots, runs, scopes, SHORT, MINUTE, two_passes=large)
    latency_10s = took.narrow
    steps = occupancy(placements, runs).cache()
    executor_capacity = capacity(counts, placements, runs, MINUTE)
    kept = (*read_once, disturbances, counted, seconds, components, localities, *took.kept, steps)
    try:
        yield {
            "latency_10s": latency_10s,
            "latency_60s": took.wide,
            "steady_latency": took.steady,
            "latency_distribution": latency_distribution(roots, runs),
            "throughput_1s": seconds,
            "throughput_10s": coarser(seconds, SHORT),
            "throughput_60s": coarser(seconds, MINUTE),
            "component_throughput_10s": component_throughput(components, scopes, SHORT),
            "component_throughput_60s": component_throughput(components, scopes, MINUTE),
            "failures_10s": failures(counted, scopes, SHORT),
            "failures_60s": failures(counted, scopes, MINUTE),
            "degradation": degradation(seconds, smooth_mean(seconds, runs, disturbances)),
            "executor_traffic": executor_traffic(traffic, localities, placements, runs),
            "traffic_share_60s": traffic_share(localities, MINUTE),
            "steady_traffic_share": steady_traffic_share(localities, runs),
            "occupancy": steps,
            "stays": stays(placements, runs),
            "node_cpu_60s": node_cpu(cpu, nodes, runs, MINUTE),
            "executor_cpu_60s": executor_cpu(cpu, nodes, runs, MINUTE),
            "component_cpu_60s": component_cpu(cpu, runs, MINUTE),
            "steady_cpu": steady_cpu(cpu, nodes, runs, placements.select("run", "node")),
            "capacity_60s": executor_capacity,
            "final_capacity": component_capacity(final_capacity(counts, placements, runs)),
            "execution_times_60s": execution_times(executions, MINUTE),
            "steady_elapsed": steady_elapsed(roots, executions, runs),
            "steady": steady(counted, components, scopes, runs, steady_occupancy(steps, runs)),
            "stabilisation": stabilisation(latency_10s, stretches(runs, disturbances), "processing_mean_ms"),
            "spikes": spikes(latency_10s, disturbances, "processing_mean_ms"),
            "events": disturbances,
            "control": control_log(control),
            "nodes": nodes,
        }
    finally:
        for frame in kept:
            frame.unpersist()
