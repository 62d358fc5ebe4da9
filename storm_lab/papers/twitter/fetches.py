"""The reading with Kafka's fetches: what it takes for inputs of machine removal that are not printed.

Storm's own Kafka spout of that time (storm-kafka of storm-contrib) fetches in nextTuple, so that acks wait
for the fetch and count it as latency: fetches of tens of milliseconds then give no latency of 7.8 ms. The
spout that Twitter released with Heron in 2016 fetches by a thread of its own into a bounded queue
(``SingleThreadIOExecutorService``, ``TransferCollector``): nextTuple finds nothing while a fetch is under way
and the last one is used up, and the spout hears acks meanwhile. The reading takes that for what Twitter ran
in 2014.

A fetch begins when the last event of the one before has been taken, so the pending limit decides when: with
two windows a fetch, when the first window's acks are back. A spout then completes a fetch's events in a
fetch and a latency, which is the law that the printed rows nearly obey.
"""

from __future__ import annotations

from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.twitter.event_counting import FEW

MANY = ("twitter-thr-16m", "twitter-lat-16m")
"""The printed row of sixteen machines, throughput and latency."""
CHOSEN_ON = (*MANY, *FEW)
"""What the reading's numbers are chosen on, its window with that of the other readings."""
WINDOWS = 2
"""Windows of pending tuples that a fetch brings: the fewest for which a fetch waits for acks."""

FETCH_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "fetch_ms",
        23.0,
        "reading with Kafka's fetches: how long a fetch of two windows of pending tuples takes. Chosen on "
        "the row of 16 machines",
        unit="ms",
        low=1,
        high=1000,
        chosen_on=MANY,
    ),
    Parameter(
        "fetch_bolt_us",
        240.0,
        "reading with Kafka's fetches: CPU of a call of a bolt, in place of distribute_us and count_us. "
        "Chosen on the row of 4 machines, whose processors are full",
        unit="us",
        low=5,
        high=1000,
        chosen_on=FEW,
    ),
)


def fetched(values: Parameters, parameters: Parameters) -> Parameters:
    """The inputs of a run as the reading has them."""
    bolt_us = parameters.number("fetch_bolt_us")
    return values.changed(
        fetch_ms=parameters.number("fetch_ms"),
        fetch_lines=WINDOWS * values.integer("max_spout_pending"),
        fetch_thread=True,
        distribute_us=bolt_us,
        count_us=bolt_us,
    )
