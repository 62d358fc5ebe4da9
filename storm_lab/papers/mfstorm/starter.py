"""The shapes of MF-Storm's topologies, and the user code and input of their components.

Word Count and Exclamation have storm-starter's shapes. So have the tweet variants; the paper implies this,
because both word counts take five slots under the resource-aware scheduler. Diamond and Star are not in the
paper: they run Exclamation's user code on graphs that are not chains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.papers.mfstorm.messages import sentences, starter_words, tweet_words, tweets
from storm_lab.papers.mfstorm.testbed import VERSION
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.text import Text
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, SteadyBolt, SteadySpout, Values
from storm_lab.workloads.word_count import CountWords, SplitSentence, WordCountCosts
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


class Exclaim(SteadyBolt):
    """Adds three exclamation marks."""

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the text with three exclamation marks."""
        emit(f"{values[0]}!!!")


_WORD_COUNT = (
    Component("spout", 5, outputs=_WORD),
    Component("split", 8, inputs=(Subscription("spout"),), outputs=_WORD),
    Component(
        "count",
        12,
        inputs=(Subscription("split", grouping=Grouping.FIELDS, fields=("word",)),),
        outputs={"default": ("word", "count")},
    ),
)
_EXCLAMATION = (
    Component("word", 10, outputs=_WORD),
    Component("exclaim1", 3, inputs=(Subscription("word"),), outputs=_WORD),
    Component("exclaim2", 2, inputs=(Subscription("exclaim1"),), outputs=_WORD),
)
_DIAMOND = (
    Component("word", 4, outputs=_WORD),
    Component("left", 4, inputs=(Subscription("word"),), outputs=_WORD),
    Component("right", 4, inputs=(Subscription("word"),), outputs=_WORD),
    Component("join", 4, inputs=(Subscription("left"), Subscription("right")), outputs=_WORD),
)
"""One spout, two branches, and one bolt that joins both."""
_STAR = (
    Component("word-a", 3, outputs=_WORD),
    Component("word-b", 3, outputs=_WORD),
    Component("hub", 4, inputs=(Subscription("word-a"), Subscription("word-b")), outputs=_WORD),
    Component("left", 3, inputs=(Subscription("hub"),), outputs=_WORD),
    Component("right", 3, inputs=(Subscription("hub"),), outputs=_WORD),
)
"""Two spouts into one bolt, and two bolts behind it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A topology: its components, what its spouts choose from, and the parameter for the CPU of its bolts."""

    components: tuple[Component, ...]
    messages: Callable[[str], Text]
    work: str = "exclaim_us"


KINDS: Mapping[str, Kind] = {
    WORD_COUNT: Kind(_WORD_COUNT, sentences, "split_us"),
    EXCLAMATION: Kind(_EXCLAMATION, starter_words),
    TWEET_WORD_COUNT: Kind(_WORD_COUNT, tweets, "split_us"),
    TWEET_EXCLAMATION: Kind(_EXCLAMATION, tweet_words),
    DIAMOND: Kind(_DIAMOND, starter_words),
    STAR: Kind(_STAR, starter_words),
}


def starter(kind: str, workers: int, *, debug: bool = True) -> Topology:
    """A topology that asks for ``workers`` workers, with Storm's default of one acker per worker.

    With ``debug`` the workers log every tuple, as storm-starter's topologies do.
    """
    components, settings = KINDS[kind].components, {"topology.debug": debug}
    return Topology(kind, components, workers=workers, name=kind, settings=settings)


@cache
def trace(kind: str, text: str, work_us: float, seed: int) -> WorkloadTrace:
    """The trace of the user code over the text, for any number of workers; `UserError` if it cannot be read.

    ``work_us`` is the CPU of a split in word counts, of an exclamation elsewhere. A third of a split is for
    the line, the rest in equal parts for the words of a line of eight.
    """
    topology = starter(kind, 1)
    messages = KINDS[kind].messages(text)
    code = {component.id: _code(component, messages, work_us, seed) for component in topology.components}
    return build_trace(topology, code, VERSION)


def _code(component: Component, messages: Text, work_us: float, seed: int) -> Spout | Bolt:
    if component.is_spout:
        # A random line in every call, as storm-starter's spouts emit it after their sleep.
        draw, lines = SplitMix(seed), messages.lines
        picks = ((lines[draw.below(len(lines))],) for _ in range(max(MIN_PICKS, len(lines))))
        return SteadySpout(Cost(_PICK_US), picks)
    costs = WordCountCosts(
        read_us=_PICK_US, split_line_us=work_us / 3, split_word_us=work_us * 2 / 3 / 8, count_us=_COUNT_US
    )
    if component.id == "split":
        return SplitSentence(costs)
    return CountWords(costs) if component.id == "count" else Exclaim(Cost(work_us))
