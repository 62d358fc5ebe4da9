"""Bundles: k tuples played as one at k-fold cost, so that very high rates can be played in minutes.

A source delivers one line in k, and every cost of a tuple is multiplied by k: the cluster is played in slow
motion. CPU use, queue lengths, root tuples in flight, the window of max spout pending and times of control
events stay the same. In the log, n roots, executions or messages stand for k n tuples, and a latency or
waiting time t stands for t / k, as long as it consists of costs and network delays.

The control plane (heartbeats, JVM starts, message timeout, checkpoints), the warm-up of code and the
housekeeping of JVMs do not slow down. So keep k times the latency well below the message timeout, and below
the length of any disturbance that the run should resolve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from storm_lab.emulator.state.arrays import Kernel
from storm_lab.errors import UserError
from storm_lab.model.checks import check_whole

LARGEST = 10_000
"""Tuples in the largest bundle: at this size a tuple of 10 microseconds takes a tenth of a second."""

_PER_TUPLE = (
    "dispatch", "emit", "serialise", "deserialise", "serialise_kb", "deserialise_kb", "send", "transfer",
    "receive", "read", "write", "deliver", "log_emit", "log_receive", "acker", "spout_ack", "poll", "switch",
    "slice", "turn", "wait_work", "asleep", "cold_cache", "empty_batch", "uplink_ps_per_byte", "call",
    "clocked",
    # A wait for a bundle stands for k waits, each a k-th as long.
    "wait_timeout",
)  # fmt: skip
"""Costs that are paid once per tuple."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """How many tuples are played as one.

    With ``delays`` False, costs are multiplied but delays that use no CPU (connections, wake-ups, sleeps,
    round trips to servers) are not. Throughput and CPU are then still right, but latencies are not: neither
    k-fold nor real. Raises `UserError` for a size outside the allowed range.
    """

    size: int = 1
    delays: bool = True

    def __post_init__(self) -> None:
        check_whole("a bundle", "bundle.size", self.size, low=1, high=LARGEST)

    def scaled_delay_ns(self, delay_ns: int) -> int:
        """Return a delay that uses no CPU as long as it is played."""
        return delay_ns * self.size if self.delays else delay_ns

    def apply(self, k: Kernel) -> None:
        """Turn a newly built kernel of single tuples into one of bundles.

        Raises `UserError` if the recorded arrivals of one period do not fill a bundle, or if bundles come so
        seldom that a source's rate would change by more than a thousandth.
        """
        if self.size == 1:
            return
        delays = (
            (k.cost, ("wake", "late", "idle_sleep", "empty_turn")),
            (k.cost, ("look", "room_poll", "fine_poll", "coarse_poll", "room_sleep")),
            (k.cost, ("sleep_half", "cold_cache_half")),
            (k.channel, ("latency", "undisturbed")),
            (k.server, ("latency",)),
            (k.topology, ("flush",)),
            (k.source, ("pause", "sleep", "fetch", "client_fetch", "answer", "patience")),
        )
        for table, names in (
            (k.cost, _PER_TUPLE),
            (k.record, ("cpu_ns", "server_ns")),
            (k.node, ("nic_ps_per_byte",)),
            # A tick is a tuple like any other.
            (k.component, ("tick_period",)),
            *(delays if self.delays else ()),
        ):
            for name in names:
                table[name] *= self.size
        rates = k.source["rate_milli"]
        if np.any(rates % self.size * 1000 > rates):
            message = "bundles of this size would round a source's rate by more than a thousandth"
            remedy = "give smaller bundles, or a higher rate"
            raise UserError(message, field="bundle.size", value=self.size, remedy=remedy)
        rates //= self.size
        # A log's partitions begin one line after the other, from the topology's submission on.
        for component in np.unique(k.source["component"]):
            own = k.source["component"] == component
            begin = k.source["origin"][own].min()
            k.source["origin"][own] = begin + (k.source["origin"][own] - begin) * self.size
        self._thin_arrivals(k)

    def _thin_arrivals(self, k: Kernel) -> None:
        """Keep every k-th recorded arrival: the one that completes a bundle."""
        first = 0
        for source in k.source:
            if source.arrivals == 0:
                continue
            arrivals = k.arrival[source.first_arrival : source.first_arrival + source.arrivals]
            thinned = arrivals[self.size - 1 :: self.size].copy()
            if len(thinned) == 0:
                message = "a period of the recorded arrivals does not fill a bundle"
                remedy = "give smaller bundles or a longer recording"
                raise UserError(message, field="bundle.size", value=self.size, remedy=remedy)
            # Sources' arrivals follow each other, so no later source's are overwritten.
            k.arrival[first : first + len(thinned)] = thinned
            source.first_arrival, source.arrivals = first, len(thinned)
            first += len(thinned)
