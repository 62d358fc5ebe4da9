"""The shapes of MF-Storm's topologies, and the user code and input of their components.

Word Count and Exclamation have storm-starter's shapes. So have the tweet variants; the paper implies this,
because both word counts take five slots under the resource-aware scheduler. Diamond and Star are not in the
paper: they run Exclamation's user code on graphs that are not chains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.papers.mfstorm.messages import sentences, starter_words, tweet_words, tweets
from storm_lab.papers.mfstorm.testbed import VERSION
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.text import Text
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, Values
from storm_lab.workloads.workload_trace import WorkloadTrace

WORD_COUNT = "word-count"
EXCLAMATION = "exclamation"
TWEET_WORD_COUNT = "tweet-word-count"
TWEET_EXCLAMATION = "tweet-exclamation"
DIAMOND = "diamond"
STAR = "star"

MIN_PICKS = 5000
"""Least number of random choices recorded before they repeat; as many as there are lines, if that is more."""

_PICK_US = 10.0
"""CPU of a random choice and of the statements of one emit call."""
_COUNT_US = 20.0
"""CPU to count a word in a hash map, as in T-Storm's word count."""

_WORD = {"default": ("word",)}


class Pick(Spout):
    """Emits a random line in every call, as storm-starter's spouts do after their sleep."""

    def __init__(self, messages: Text, seed: int) -> None:
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


def _word_count() -> tuple[Component, ...]:
    by_word = Subscription("split", grouping=Grouping.FIELDS, fields=("word",))
    return (
        Component("spout", 5, outputs=_WORD),
        Component("split", 8, inputs=(Subscription("spout"),), outputs=_WORD),
        Component("count", 12, inputs=(by_word,), outputs={"default": ("word", "count")}),
    )


def _exclamation() -> tuple[Component, ...]:
    return (
        Component("word", 10, outputs=_WORD),
        Component("exclaim1", 3, inputs=(Subscription("word"),), outputs=_WORD),
        Component("exclaim2", 2, inputs=(Subscription("exclaim1"),), outputs=_WORD),
    )


def _diamond() -> tuple[Component, ...]:
    """One spout, two branches, and one bolt that joins both."""
    ends = (Subscription("left"), Subscription("right"))
    return (
        Component("word", 4, outputs=_WORD),
        Component("left", 4, inputs=(Subscription("word"),), outputs=_WORD),
        Component("right", 4, inputs=(Subscription("word"),), outputs=_WORD),
        Component("join", 4, inputs=ends, outputs=_WORD),
    )


def _star() -> tuple[Component, ...]:
    """Two spouts into one bolt, and two bolts behind it."""
    into = (Subscription("word-a"), Subscription("word-b"))
    return (
        Component("word-a", 3, outputs=_WORD),
        Component("word-b", 3, outputs=_WORD),
        Component("hub", 4, inputs=into, outputs=_WORD),
        Component("left", 3, inputs=(Subscription("hub"),), outputs=_WORD),
        Component("right", 3, inputs=(Subscription("hub"),), outputs=_WORD),
    )


@dataclass(frozen=True, slots=True)
class Kind:
    """A topology: its components, what its spouts choose from, and the parameter for the CPU of its bolts."""

    components: Callable[[], tuple[Component, ...]]
    messages: Callable[[str], Text]
    work: str = "exclaim_us"


KINDS: Mapping[str, Kind] = {
    WORD_COUNT: Kind(_word_count, sentences, "split_us"),
    EXCLAMATION: Kind(_exclamation, starter_words),
    TWEET_WORD_COUNT: Kind(_word_count, tweets, "split_us"),
    TWEET_EXCLAMATION: Kind(_exclamation, tweet_words),
    DIAMOND: Kind(_diamond, starter_words),
    STAR: Kind(_star, starter_words),
}


def starter(kind: str, workers: int, *, debug: bool = True) -> Topology:
    """A topology that asks for ``workers`` workers, with Storm's default of one acker per worker.

    With ``debug`` the workers log every tuple, as storm-starter's topologies do.
    """
    return Topology(
        kind, KINDS[kind].components(), workers=workers, name=kind, settings={"topology.debug": debug}
    )


@cache
def trace(kind: str, text: str, work_us: float, seed: int) -> WorkloadTrace:
    """The trace of the user code over the text, for any number of workers; `UserError` if it cannot be read.

    ``work_us`` is the CPU of a split (of 8 words) in word counts, of an exclamation elsewhere.
    """
    topology = starter(kind, 1)
    messages = KINDS[kind].messages(text)
    code = {component.id: _code(component, messages, work_us, seed) for component in topology.components}
    return build_trace(topology, code, VERSION)


def _code(component: Component, messages: Text, work_us: float, seed: int) -> Spout | Bolt:
    if component.is_spout:
        return Pick(messages, seed)
    if component.id == "split":
        return Split(work_us)
    return Count() if component.id == "count" else Exclaim(work_us)
