"""User code of MF-Storm's topologies: storm-starter's word count and exclamation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from storm_lab.papers.mfstorm.messages import Messages
from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, Values

MIN_PICKS = 5000
"""Least number of random choices recorded before they repeat; as many as there are lines, if that is more."""

_PICK_US = 10.0
"""CPU of a random choice and of the statements of one emit call."""
_COUNT_US = 20.0
"""CPU to count a word in a hash map, as in T-Storm's word count."""


class Pick(Spout):
    """Emits a random line in every call, as storm-starter's spouts do after their sleep."""

    def __init__(self, messages: Messages, seed: int) -> None:
        self._lines = messages.lines
        self._seed = seed

    def records(self) -> Iterator[tuple[object, ...]]:
        """Draw lines at random: as many as the text has, or `MIN_PICKS` if that is more."""
        draw = SplitMix(self._seed)
        for _ in range(max(MIN_PICKS, len(self._lines))):
            yield (self._lines[draw.below(len(self._lines))],)

    def cost(self, record: tuple[object, ...]) -> Cost:
        """The same for every line."""
        return Cost(_PICK_US)


class Split(Bolt):
    """Emits the words of a line.

    ``us`` is the CPU for a line of eight words: a third for the line, the rest in equal parts for the words.
    """

    def __init__(self, us: float) -> None:
        self._line_us = us / 3
        self._word_us = us * 2 / 3 / 8

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the words of a line."""
        for word in str(values[0]).split():
            emit(word)

    def cost(self, values: Values) -> Cost:
        """A fixed cost for the line plus a cost per word."""
        return Cost(self._line_us + self._word_us * len(str(values[0]).split()))


class Count(Bolt):
    """Counts words and emits each new count, which no component reads."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def execute(self, values: Values, emit: Emit) -> None:
        """Count a word and emit its new count."""
        word = str(values[0])
        self.counts[word] += 1
        emit(word, self.counts[word])

    def cost(self, values: Values) -> Cost:
        """The same for every word."""
        return Cost(_COUNT_US)


class Exclaim(Bolt):
    """Adds three exclamation marks, for ``us`` of CPU."""

    def __init__(self, us: float) -> None:
        self._cost = Cost(us)

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the text with three exclamation marks."""
        emit(f"{values[0]}!!!")

    def cost(self, values: Values) -> Cost:
        """The same for every text."""
        return self._cost
