"""The reading with Kafka's fetches: what it assumes for inputs of machine removal that are not printed.

Storm's own Kafka spout of that time (storm-kafka of storm-contrib) fetches in nextTuple, so acks wait for the
fetch and their latency includes it. Fetches of tens of milliseconds then cannot give a latency of 7.8 ms. The
spout that Twitter released with Heron in 2016 fetches in a separate thread into a bounded queue
(``SingleThreadIOExecutorService``, ``TransferCollector``). If a fetch is under way and the last one is used
up, nextTuple finds nothing, but the spout still receives acks. The reading assumes that Twitter ran this
spout in 2014.

A fetch begins when the last event of the previous one has been taken, so its start depends on the pending
limit: with two windows per fetch, it begins when the first window's acks are back. A spout then completes the
events of one fetch per fetch time plus latency, and the printed rows nearly obey this law.
"""

from __future__ import annotations

from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.twitter.event_counting import FOUR_MACHINE_CLAIMS

SIXTEEN_MACHINE_CLAIMS = ("twitter-thr-16m", "twitter-lat-16m")
"""The printed row of sixteen machines, throughput and latency."""
CHOSEN_ON = (*SIXTEEN_MACHINE_CLAIMS, *FOUR_MACHINE_CLAIMS)
"""The claims on which the reading's numbers are chosen, and with them the window of all readings."""
WINDOWS = 2
"""Windows of pending tuples that a fetch brings: the smallest number with which a fetch waits for acks."""

FETCH_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "fetch_ms",
        23.0,
        "reading with Kafka's fetches: how long a fetch of two windows of pending tuples takes. Chosen on "
        "the row of 16 machines",
        unit="ms",
        low=1,
        high=1000,
        chosen_on=SIXTEEN_MACHINE_CLAIMS,
    ),
    Parameter(
        "fetch_bolt_us",
        240.0,
        "reading with Kafka's fetches: CPU of a call of a bolt, in place of distribute_us and count_us. "
        "Chosen on the row of 4 machines, whose processors are full",
        unit="us",
        low=5,
        high=1000,
        chosen_on=FOUR_MACHINE_CLAIMS,
    ),
)


def with_fetches(values: Parameters, parameters: Parameters) -> Parameters:
    """The inputs of a run under this reading."""
    bolt_us = parameters.number("fetch_bolt_us")
    return values.changed(
        fetch_ms=parameters.number("fetch_ms"),
        fetch_lines=WINDOWS * values.integer("max_spout_pending"),
        fetch_thread=True,
        distribute_us=bolt_us,
        count_us=bolt_us,
    )
