"""Storm@Twitter's machines and scheduler, and topologies that count client events."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan
from storm_lab.model.cluster import Cluster
from storm_lab.model.machines import TWITTER, numbered, ports
from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.model.version import V0_8_2, V0_9_3, StormVersion
from storm_lab.schedulers.contract import NoParameters, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.client_events import (
    EVENT_FIELDS,
    REPORT_FIELDS,
    AddReports,
    ClientEventCosts,
    CountUsers,
    Distribute,
    ReadEvents,
)
from storm_lab.workloads.usercode import Bolt, Spout
from storm_lab.workloads.workload_trace import WorkloadTrace

VERSION = V0_8_2
"""Played in place of Twitter's own build: its workers communicate over ZeroMQ, as in 0.8 (section 2.2.3)."""

CORES = TWITTER.cores
"""Cores of a machine (section 3.3.2), each with two hardware threads."""
CORE_MHZ = TWITTER.core_mhz
"""Clock of a Xeon E5645 (section 3.3.2)."""
SLOTS = len(TWITTER.ports)
"""Slots per machine: the smallest number that holds fifty workers on four machines."""
MACHINES = (16, 13, 10, 7, 4)
"""Machines of each stage of machine removal (section 3.4)."""
WORKERS = 50
SPOUTS = 200
COUNT_TOPOLOGY = "client-event-count"
REPORT_S = 1.0
"""User counters report once a second (section 3.4)."""
CHECKPOINT_S = 2.0
"""A Kafka spout stores its offset every 2 s (section 3.3.1)."""


def machines(count: int, slots: int = SLOTS) -> Cluster:
    """Machines of section 3.3.2: two Xeon E5645 of 2.4 GHz, so 12 cores and 24 threads, with 24 GB.

    Section 3.4 does not describe its machines, so those of 3.3.2 are used. Their network is not printed
    either; 1 Gbit/s is assumed, which no experiment fills.
    """
    return Cluster(numbered(replace(TWITTER, ports=ports(slots)), "machine{:02d}", count))


def machine_failures(at_s: float, before: int, after: int) -> list[dict[str, object]]:
    """Rows of a fault plan: the machines numbered above ``after``, up to ``before``, fail for good."""
    return [
        {"fault": "kill-node", "at_s": at_s, "node": f"machine{number:02d}"}
        for number in range(after + 1, before + 1)
    ]


IN_TURN = "0.8.2"
MOST_FREE_FIRST = "0.9.3"
SLOT_ORDERS = (IN_TURN, MOST_FREE_FIRST)
"""Up to 0.9.2 machines are used in the order of a map, from 0.9.3 on those with most free slots first."""


class DefaultSince093(Scheduler[NoParameters]):
    """``DefaultScheduler`` as of 0.9.3, whatever version the cluster plays.

    It is unknown which order Twitter's own build used in 2014.
    """

    name: ClassVar[str] = "default-0.9.3"
    version: ClassVar[str] = "1"

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Schedule as Storm 0.9.3 does."""
        return DefaultScheduler().schedule(replace(view, version=V0_9_3))


def default_scheduler(slot_order: str) -> Scheduler[NoParameters]:
    """The default scheduler with the slot order of this version."""
    return DefaultScheduler() if slot_order == IN_TURN else DefaultSince093()


def spouts(executors: int) -> Component:
    """Spouts that read events."""
    return Component("spout", executors, outputs={"default": EVENT_FIELDS})


def passing(name: str, executors: int) -> Component:
    """Bolts that pass on the spouts' events."""
    return Component(name, executors, inputs=(Subscription("spout"),), outputs={"default": EVENT_FIELDS})


def counting(name: str, executors: int, source: str, tick_seconds: float | None = None) -> Component:
    """Bolts that count the events of each user."""
    by_user = Subscription(source, grouping=Grouping.FIELDS, fields=("user_id",))
    outputs = {"default": REPORT_FIELDS}
    return Component(name, executors, inputs=(by_user,), outputs=outputs, tick_seconds=tick_seconds)


def kafka_log(rate_per_s: float) -> SourcePlan:
    """A log to which lines are added at a rate; a spout replays it from its last checkpoint."""
    checkpoint_ns = round(CHECKPOINT_S * 1e9)
    return SourcePlan(
        SourceKind.RATE, rate_per_s=rate_per_s, on_fail=FailurePolicy.REPLAY, checkpoint_ns=checkpoint_ns
    )


def trace_of(
    topology: Topology, costs: ClientEventCosts, seed: int, version: StormVersion, *, events: int, users: int
) -> WorkloadTrace:
    """The trace of spouts that read ``events`` events of ``users`` users, and of the bolts behind them."""
    code: dict[str, Spout | Bolt] = {"spout": ReadEvents(events, users, seed, costs)}
    kinds = (Distribute(costs), CountUsers(costs), AddReports(costs))
    code |= {bolt.id: kind for bolt, kind in zip(topology.bolts, kinds, strict=False)}
    return build_trace(topology, code, version, reference_mhz=CORE_MHZ)


def client_event_count(
    *, ackers: int | None = None, max_spout_pending: int | None = None, message_timeout_s: float = 30.0
) -> Topology:
    """Section 3.4: spout 200, distributor 200, user count 300, aggregator 20 tasks on 50 workers."""
    by_time = Subscription("user-count", grouping=Grouping.FIELDS, fields=("timestamp",))
    layers = (
        spouts(SPOUTS),
        passing("distributor", 200),
        counting("user-count", 300, "distributor", tick_seconds=REPORT_S),
        Component("aggregator", 20, inputs=(by_time,)),
    )
    return Topology(
        COUNT_TOPOLOGY,
        layers,
        workers=WORKERS,
        ackers=ackers,
        max_spout_pending=max_spout_pending,
        message_timeout_s=message_timeout_s,
    )
