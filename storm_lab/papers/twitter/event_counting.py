"""Plays the topology that counts client events (section 3.4), tuple by tuple or in bundles.

The full rate is 113 thousand root tuples per second. A bundle of k is k tuples played as one at k-fold cost
(`storm_lab.emulator.bundle`). Logs of such runs count bundles and contain stretched latencies, which `series`
converts back.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pandas as pd

from storm_lab.emulator.bundle import Bundle
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import Parameter
from storm_lab.model import StormVersion
from storm_lab.papers.twitter import testbed
from storm_lab.workloads.client_events import ClientEventCosts
from storm_lab.workloads.workload_trace import WorkloadTrace

EVENTS = 20_000
"""Events in the trace, which the spouts read repeatedly: hundreds for every counter."""
USERS = 10_000_000

QUIET_UNTIL_S = 60.0
"""A ramped log is empty until here, when all workers know each other: 0.8 loses tuples sent earlier."""
FULL_FROM_S = 180.0
"""From here on, when code is warm, a ramped log holds more than can be read."""
TRICKLE_PER_S = 400.0
FLOOD_PER_S = 2e6

READ_US = 23.3
"""CPU to fetch and deserialise a message: the Java loop's 700 % for 300 thousand a second (section 3.3.2)."""
READ = Parameter(
    "read_us",
    READ_US,
    "CPU to fetch and deserialise a message: the Java loop's printed 700 % for 300 thousand a second",
    within=(15, 50, "us"),
)

COUNT_US = 12.0
"""CPU of a bolt to count an event. Not printed; the middle of 5 to 30 on a logarithmic scale."""

FOUR_MACHINE_CLAIMS = ("twitter-thr-4m", "twitter-lat-4m")
"""The printed row of four machines, throughput and latency."""

TOPOLOGY_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "max_spout_pending",
        9,
        "root tuples in flight per spout task, not printed; throughput times latency is 884 to 1875 for 200 "
        "tasks. Chosen on the row of 4 machines in the reading with Kafka's fetches, where this limit is "
        "nearly always reached",
        within=(5, 20),
        chosen_on=FOUR_MACHINE_CLAIMS,
    ),
    Parameter(
        "ackers",
        testbed.WORKERS,
        "number of ackers, not printed; one per worker, Storm's default from 0.9 on: with the single acker "
        "of 0.8, one executor would handle the acks of 113 thousand tuples per second",
        within=(20, 50),
    ),
    READ,
    Parameter("distribute_us", 10.0, "CPU to pass an event on; not printed", within=(5, 20, "us")),
    Parameter("count_us", COUNT_US, "CPU to count an event; not printed", within=(5, 30, "us")),
    Parameter(
        "message_timeout_s",
        120.0,
        "message timeout; 30 s by default in Storm. Longer here, so that the slowest tuples of a run with "
        "bundles do not time out only because they are played slowly. Tuples lost with a machine are "
        "therefore replayed later",
        within=(30, 600, "s"),
    ),
    Parameter("event_bytes", 150, "size of an event; not printed", within=(50, 1000, "bytes")),
)
"""What determines the topology's steady state, besides machines and bundle. CPU is that of the machines."""
TOPOLOGY_NAMES = tuple(parameter.name for parameter in TOPOLOGY_PARAMETERS)


@lru_cache(maxsize=8)
def _trace(seed: int, costs: ClientEventCosts, version: StormVersion) -> WorkloadTrace:
    """Cached, as it is the same for every number of machines and ackers and every pending limit."""
    topology = testbed.client_event_count(ackers=1, max_spout_pending=1, message_timeout_s=30.0)
    return testbed.trace_of(topology, costs, seed, version, events=EVENTS, users=USERS)


def plan(spec: RunSpec, *, ramped: bool = False) -> TopologyPlan:
    """Topology, trace and source of a run: a log with as many partitions as spouts that never runs out.

    With ``ramped`` the log is empty until the fault plan sets its rate.
    """
    values = spec.parameters
    declared = testbed.client_event_count(
        ackers=values.integer("ackers"),
        max_spout_pending=values.integer("max_spout_pending"),
        message_timeout_s=values.number("message_timeout_s"),
    )
    costs = ClientEventCosts(
        read_us=values.number("read_us"),
        distribute_us=values.number("distribute_us"),
        count_us=values.number("count_us"),
        aggregate_us=values.number("count_us"),
        event_bytes=values.integer("event_bytes"),
    )
    fetch_ms = values.number("fetch_ms") if "fetch_ms" in values else 0.0
    log = SourcePlan(
        SourceKind.RATE if ramped else SourceKind.SATURATED,
        on_fail=FailurePolicy.REPLAY,
        checkpoint_ns=round(testbed.CHECKPOINT_S * 1e9),
        fetch_ns=round(fetch_ms * 1e6),
        fetch_lines=values.integer("fetch_lines") if fetch_ms > 0 else 1,
        fetch_thread=bool(values.get("fetch_thread", False)),
    )
    return TopologyPlan(declared, _trace(spec.seed, costs, spec.storm_version), {"spout": log})


def load_ramp(full_per_s: float = FLOOD_PER_S) -> list[dict[str, object]]:
    """Rows of a fault plan that fill a log that is empty at first (``ramped``), finally at ``full_per_s``."""
    load = {"fault": "set-load", "topology": testbed.COUNT_TOPOLOGY, "spout": "spout"}
    return [
        {**load, "at_s": QUIET_UNTIL_S, "rate_per_s": TRICKLE_PER_S},
        {**load, "at_s": FULL_FROM_S, "rate_per_s": full_per_s},
    ]


def counting(
    spec: RunSpec,
    faults: list[dict[str, object]],
    *,
    count: int = testbed.MACHINES[0],
    duration_s: float,
    warm_up_s: float,
    window_s: float | None = None,
    ramped: bool = False,
) -> EmulationSpec:
    """Describe a run on ``count`` machines with the rows of a fault plan and the parameter ``bundle``.

    ``window_s`` is the length of the windows of traffic and CPU, by default of the run: a window holds a row
    for each of the 150 thousand pairs of tasks that exchange tuples.
    """
    values = spec.parameters
    order = str(values.get("slot_order", testbed.IN_TURN))
    plans = (plan(spec, ramped=ramped),)
    return replace(
        spec.described(testbed.machines(count), plans, testbed.default_scheduler(order), duration_s),
        faults=FaultPlan.of_rows(faults),
        window_s=duration_s if window_s is None else window_s,
        bundle=Bundle(values.integer("bundle"), bool(values.get("delays", True))),
        warm_up_s=warm_up_s,
    )


def series(throughput: pd.DataFrame, latency: pd.DataFrame, bundle: int) -> pd.DataFrame:
    """A run's bins in units of tuples: ``throughput`` (million per minute) and ``latency`` (ms)."""
    rates = throughput.set_index("t_s")["acked_per_s"].sort_index()
    means = latency.set_index("t_s")["complete_mean_ms"].reindex(rates.index)
    return pd.DataFrame({"throughput": rates * bundle * 60 / 1e6, "latency": means / bundle})
