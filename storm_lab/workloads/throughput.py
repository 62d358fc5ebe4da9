"""The Throughput Test (T-Storm, sections III and V): large random tuples pass bolts that do almost nothing.

Each spout executor draws an identifier and a random text once, when it opens, and emits the pair repeatedly.
Identity bolts pass on what they receive, and counters count tuples by identifier.
"""

from __future__ import annotations

from collections import Counter

from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.usercode import Cost, Emit, SteadyBolt, SteadySpout, Values

FIELDS = ("id", "item")  # fields of every stream of the Throughput Test

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


class EmitRandomTexts(SteadySpout):
    """One record per executor: its identifier and its text of ``characters``, drawn from ``seed``.

    The executors take records in turn. Each identifier therefore has an equal share of the tuples, as if
    equal executors sent only their own. Taking the same pair again costs nothing.
    """

    def __init__(self, executors: int, characters: int, seed: int) -> None:
        draw = SplitMix(seed)
        pairs = (
            (f"{draw.next64():016x}", "".join(draw.one(_LETTERS) for _ in range(characters)))
            for _ in range(executors)
        )
        super().__init__(Cost(0.0), pairs)


class Identity(SteadyBolt):
    """Emits the values that it receives, after ``service_us`` of CPU."""

    def __init__(self, service_us: float = 0.0) -> None:
        super().__init__(Cost(service_us))

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the values unchanged."""
        emit(*values)


class CountById(SteadyBolt):
    """Counts tuples by identifier, at ``service_us`` of CPU each, and emits nothing."""

    def __init__(self, service_us: float = 0.0) -> None:
        super().__init__(Cost(service_us))
        self.counts: Counter[str] = Counter()

    def execute(self, values: Values, emit: Emit) -> None:
        """Count the identifier."""
        self.counts[str(values[0])] += 1
