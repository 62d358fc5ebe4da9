"""Word Count as in T-Storm (section V): read a line, split it, count its words, store each count.

The reader takes lines from a queue server (Redis in the paper). `SplitSentence` emits a line's words,
`CountWords` keeps a running count per word, and `StoreCounts` writes every new count into a document database
(MongoDB).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from storm_lab.workloads.text import Text
from storm_lab.workloads.usercode import Bolt, Cost, Emit, SteadyBolt, SteadySpout, Values

STORE = "mongo"  # name of the external server that the last bolt waits for


@dataclass(frozen=True, slots=True)
class WordCountCosts:
    """Cost of each step, in microseconds at the trace's reference clock; server time is not CPU."""

    read_us: float
    split_line_us: float
    split_word_us: float
    count_us: float
    store_cpu_us: float = 0.0
    store_server_us: float = 0.0

    @classmethod
    def of(cls, split_us: float, **others: float) -> WordCountCosts:
        """Costs by those of splitting a line of 8 words: a third is per line, the rest per word."""
        return cls(split_line_us=split_us / 3, split_word_us=split_us * 2 / 3 / 8, **others)


class ReadLines(SteadySpout):
    """Emits the lines of a text, including blank ones."""

    def __init__(self, text: Text, costs: WordCountCosts) -> None:
        super().__init__(Cost(costs.read_us), ((line,) for line in text.lines))


class SplitSentence(Bolt):
    """Emits the words of a line; a blank line has none, so its tuple tree ends here."""

    def __init__(self, costs: WordCountCosts) -> None:
        self._costs = costs

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the words of a line."""
        for word in str(values[0]).split():
            emit(word)

    def cost(self, values: Values) -> Cost:
        """Return a cost with one part for the line and one for each word."""
        words = len(str(values[0]).split())
        return Cost(self._costs.split_line_us + words * self._costs.split_word_us)


class CountWords(SteadyBolt):
    """Counts words and emits each new count."""

    def __init__(self, costs: WordCountCosts) -> None:
        super().__init__(Cost(costs.count_us))
        self.counts: Counter[str] = Counter()

    def execute(self, values: Values, emit: Emit) -> None:
        """Count a word and emit its new count."""
        word = str(values[0])
        self.counts[word] += 1
        emit(word, self.counts[word])


class StoreCounts(SteadyBolt):
    """Writes a count into the database and waits for the answer."""

    def __init__(self, costs: WordCountCosts) -> None:
        super().__init__(Cost(costs.store_cpu_us, STORE, costs.store_server_us))
        self.stored: dict[str, int] = {}

    def execute(self, values: Values, emit: Emit) -> None:
        """Store a word's count."""
        word, count = values
        assert isinstance(count, int)
        self.stored[str(word)] = count
