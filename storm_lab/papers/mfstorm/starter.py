"""The shapes of MF-Storm's topologies, and the user code and input of their components.

Word Count and Exclamation have storm-starter's shapes. So have the tweet variants; the paper implies this,
because both word counts take five slots under the resource-aware scheduler. Diamond and Star are not in the
paper: they run Exclamation's user code on graphs that are not chains.

No messages of real people are used. The default messages consist of the generated text's words and have the
lengths that the paper and storm-starter give. Readers can use their own file instead, with one sentence or
message per line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import cycle

from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.papers.mfstorm.testbed import VERSION
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.text import BOOK, GENERATED, Text, load_text
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

SENTENCE_WORDS = (6, 8, 6, 6, 6)
"""Word counts of the five sentences that storm-starter's RandomSentenceSpout chooses from: 6.4 on average."""
STARTER_WORDS = 5
"""Number of words that storm-starter's TestWordSpout chooses from."""
TWEETS = 5000
"""Number of messages of the tweet word count (section on tweet topologies)."""
TWEET_WORDS = 2500
"""Number of words of the tweet exclamation (same section)."""

_OWN = (GENERATED, BOOK)
"""The project's own texts, of which samples as large as the paper's are taken."""
_SHORTEST, _LONGEST = 20, 140
"""Lengths of generated messages, in characters; all lengths are equally frequent."""
_SEED = 7

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


def sentences(choice: str) -> Text:
    """Five sentences cut from generated text or the book, or a file's lines; errors as in `load_text`."""
    text = load_text(choice)
    if choice not in _OWN:
        return Text(text.name, _with_words(text))
    words = _words(text)
    return Text(text.name, tuple(" ".join(next(words) for _ in range(size)) for size in SENTENCE_WORDS))


def starter_words(choice: str) -> Text:
    """The first five distinct words of four letters or more, or all of a file; errors as in `sentences`."""
    text = load_text(choice)
    words = tuple(dict.fromkeys(_words(text)))
    if choice in _OWN:
        words = tuple(word for word in words if len(word) > 3)[:STARTER_WORDS]
    return Text(text.name, words)


def tweets(choice: str) -> Text:
    """5,000 messages of up to 140 characters, or a file's first lines with words; errors as above."""
    text = load_text(choice)
    return _tweets_from(text) if choice in _OWN else Text(text.name, _with_words(text)[:TWEETS])


@lru_cache(maxsize=2)
def _tweets_from(text: Text) -> Text:
    """Messages made of a text's words, the same for every seed and grid."""
    draw = SplitMix(_SEED)
    words = cycle(_words(text))
    return Text(text.name, tuple(_message(words, draw) for _ in range(TWEETS)))


def tweet_words(choice: str) -> Text:
    """The first 2,500 words of the messages; `UserError` as in `sentences`."""
    made = tweets(choice)
    words = [word for line in made.lines for word in line.split()]
    return Text(made.name, tuple(words[:TWEET_WORDS]))


def _with_words(text: Text) -> tuple[str, ...]:
    return tuple(line for line in text.lines if line.strip())


def _words(text: Text) -> Iterator[str]:
    return (word for line in text.lines for word in line.split())


def _message(words: Iterator[str], draw: SplitMix) -> str:
    """Words until a random length is reached, cut at the limit of a message."""
    length = _SHORTEST + draw.below(_LONGEST - _SHORTEST + 1)
    message = next(words)
    while len(message) < length:
        message = f"{message} {next(words)}"
    return message[:_LONGEST].rstrip()


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
    """A topology that asks for ``workers`` workers, which log every tuple with ``debug``."""
    components, settings = KINDS[kind].components, {"topology.debug": debug}
    return Topology(kind, components, workers=workers, name=kind, settings=settings)


@cache
def trace(kind: str, text: str, work_us: float, seed: int) -> WorkloadTrace:
    """The trace of the user code over the text, for any number of workers; `UserError` if it cannot be read.

    ``work_us`` is the CPU of an exclamation, or of a split: a third for the line, the rest in equal parts for
    the words of a line of eight.
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
    costs = WordCountCosts.of(work_us, read_us=_PICK_US, count_us=_COUNT_US)
    if component.id == "split":
        return SplitSentence(costs)
    return CountWords(costs) if component.id == "count" else Exclaim(Cost(work_us))
