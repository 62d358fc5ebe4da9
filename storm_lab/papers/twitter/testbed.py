"""Storm@Twitter's machines, and the topology that counts client events."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.model.cluster import Cluster
from storm_lab.model.machines import TWITTER, numbered, ports
from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.model.version import V0_8_2
from storm_lab.workloads.client_events import EVENT_FIELDS, REPORT_FIELDS

VERSION = V0_8_2
"""Played for Twitter's own build: its workers talk over ZeroMQ, as those of 0.8 do (section 2.2.3)."""

CORES = TWITTER.cores
"""Cores of a machine (section 3.3.2), each with two hardware threads."""
CORE_MHZ = TWITTER.core_mhz
"""Clock of a Xeon E5645 (section 3.3.2)."""
SLOTS = len(TWITTER.ports)
"""Slots a machine: the fewest that hold fifty workers on four machines."""
WORKERS = 50
SPOUTS = 200
COUNT_TOPOLOGY = "client-event-count"
REPORT_S = 1.0
"""User counters report once a second (section 3.4)."""


def machines(count: int, slots: int = SLOTS, *, process_sharing: float = 1.0) -> Cluster:
    """Machines of section 3.3.2: two Xeon E5645 of 2.4 GHz, so 12 cores and 24 threads, with 24 GB.

    Section 3.4 does not say what its machines are; those of 3.3.2 are taken. Their network is not printed
    either: 1 Gbit/s, which no experiment fills. ``process_sharing`` is what part of the cost model's
    ``process_penalty`` counts on them: all of it, unless a run asks what follows if not.
    """
    kind = replace(TWITTER, ports=ports(slots), process_sharing=process_sharing)
    return Cluster(numbered(kind, "machine{:02d}", count))


def client_event_count(
    *, ackers: int | None = None, max_spout_pending: int | None = None, message_timeout_s: float = 30.0
) -> Topology:
    """Section 3.4: spout 200, distributor 200, user count 300, aggregator 20 tasks on 50 workers."""
    return Topology(
        COUNT_TOPOLOGY,
        (
            Component("spout", SPOUTS, outputs={"default": EVENT_FIELDS}),
            Component("distributor", 200, inputs=(Subscription("spout"),), outputs={"default": EVENT_FIELDS}),
            Component(
                "user-count",
                300,
                inputs=(Subscription("distributor", grouping=Grouping.FIELDS, fields=("user_id",)),),
                outputs={"default": REPORT_FIELDS},
                tick_seconds=REPORT_S,
            ),
            Component(
                "aggregator",
                20,
                inputs=(Subscription("user-count", grouping=Grouping.FIELDS, fields=("timestamp",)),),
            ),
        ),
        workers=WORKERS,
        ackers=ackers,
        max_spout_pending=max_spout_pending,
        message_timeout_s=message_timeout_s,
    )
