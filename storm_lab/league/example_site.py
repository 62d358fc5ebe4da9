"""A small example site: a word count on a few machines."""

from __future__ import annotations

from typing import Any

from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan
from storm_lab.league.reader_site import Site
from storm_lab.model import Cluster, Component, Grouping, Node, Subscription, Topology
from storm_lab.model.checks import check_whole
from storm_lab.model.machines import ports
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, SteadyBolt, SteadySpout, Values

SENTENCES = (
    "the cow jumped over the moon",
    "an apple a day keeps the doctor away",
    "four score and seven years ago",
    "snow white and the seven dwarfs",
    "i am at two with nature",
)
"""The sentences of storm-starter's word count."""


class Split(SteadyBolt):
    """Splits a sentence into words."""

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit each word of the sentence."""
        for word in str(values[0]).split():
            emit(word)


class Count(SteadyBolt):
    """Counts words."""

    def execute(self, values: Values, emit: Emit) -> None:
        """Count the word, which emits nothing."""


def example_site(
    sentences_per_s: float = 50.0,
    *,
    nodes: int = 3,
    workers: int = 3,
    splitters: int = 2,
    counters: int = 4,
    split_us: float = 400.0,
    count_us: float = 200.0,
    replay: bool = False,
    **conditions: Any,
) -> Site:
    """Return the example site: one spout, its splitters and counters, on nodes with two cores and two slots.

    ``split_us`` and ``count_us`` are the CPU time per sentence and per word at 2000 MHz. With ``replay``, the
    spout emits failed tuples again. Conditions and errors are those of `Site.of`.
    """
    check_whole("the example site", "nodes", nodes, low=1, high=1000)
    topology = Topology(
        "words",
        (
            Component("sentences", 1, outputs={"default": ("sentence",)}),
            Component(
                "split", splitters, inputs=(Subscription("sentences"),), outputs={"default": ("word",)}
            ),
            Component(
                "count", counters, inputs=(Subscription("split", grouping=Grouping.FIELDS, fields=("word",)),)
            ),
        ),
        workers=workers,
    )
    machines = Cluster(
        tuple(Node(f"node{number}", cores=2, ports=ports(2)) for number in range(1, nodes + 1))
    )
    source = SourcePlan(
        SourceKind.RATE,
        rate_per_s=sentences_per_s,
        on_fail=FailurePolicy.REPLAY if replay else FailurePolicy.FORGET,
    )
    code: dict[str, Spout | Bolt] = {
        "sentences": SteadySpout(Cost(10.0), ((sentence,) for sentence in SENTENCES)),
        "split": Split(Cost(split_us)),
        "count": Count(Cost(count_us)),
    }
    return Site.of(topology, code, machines, sources={"sentences": source}, **conditions)
