"""User code of R-Storm's micro-benchmarks and Yahoo topologies: words and lines passed on or changed.

The bolts do next to nothing; with debug logging on, the log lines cost far more, and those are the engine's
(``topology.debug``, see `storm_lab.emulator.cost`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, Values

WORD = "storm"
"""What the micro-benchmarks emit: one fixed word of five letters."""

FIELDS = ("text",)
SLEEP = "sleep"
"""Name of the server without limit of places that a bolt waits for when its thread sleeps."""

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_STEP_US = 2.0
"""CPU of a bolt's own few statements, beside what the engine does."""
CHARACTER_US = 0.005
"""CPU to walk over one character: the loop of the authors' ``TransformBolt`` over their eight lines, on a
plain JVM with its first compiler, takes 1.8 ns on a core that does 2.6 times as much; the server compiler
leaves it out, and interpreted it takes 0.34 us. Up to 2 where each step makes a new text."""
_APPENDED = "#counted"
_PASS_PERCENT = 80
_KEPT_PERCENT = 80


@dataclass(frozen=True, slots=True)
class Effort:
    """What the user code of a whole topology costs, in microseconds of CPU at the cost model's clock.

    ``character_us``: walking over one character. ``work_us``: computing done for each tuple by spouts and
    bolts alike, whatever the tuple (the CPU-bound micro-benchmarks).
    """

    character_us: float = CHARACTER_US
    work_us: float = 0.0


NO_EFFORT = Effort()
"""Of components that compute nothing of their own."""


class Words(Spout):
    """Emits the same word over and over."""

    def __init__(self, effort: Effort, word: str) -> None:
        self._record = (word,)
        self._cost = Cost(_STEP_US + effort.work_us)

    def records(self) -> Iterator[tuple[object, ...]]:
        """The one word."""
        yield self._record

    def cost(self, record: tuple[object, ...]) -> Cost:
        """The spout's effort."""
        return self._cost


class Lines(Spout):
    """Emits lines in random order, each as often as any other."""

    def __init__(self, lines: Sequence[str], effort: Effort) -> None:
        self._lines = tuple(lines)
        self._cost = Cost(_STEP_US + effort.work_us)

    def records(self) -> Iterator[tuple[object, ...]]:
        """Lines drawn at random."""
        draw = SplitMix(1)
        # Of a long file every line a few times is enough; of eight lines it takes more to be even.
        for _ in range(max(2000, len(self._lines))):
            yield (self._lines[draw.below(len(self._lines))],)

    def cost(self, record: tuple[object, ...]) -> Cost:
        """The spout's effort."""
        return self._cost


class _Step(Bolt):
    """A bolt that may sleep for each character of its input."""

    def __init__(self, effort: Effort, sleep_ms_per_char: float) -> None:
        self._effort = effort
        self._sleep_ms_per_char = sleep_ms_per_char

    def cost(self, values: Values) -> Cost:
        length = len(str(values[0]))
        cpu_us = _STEP_US + self._effort.work_us + self.looked_at(length) * self._effort.character_us
        if self._sleep_ms_per_char <= 0:
            return Cost(cpu_us)
        return Cost(cpu_us, SLEEP, length * self._sleep_ms_per_char * 1000.0)

    def looked_at(self, length: int) -> int:
        """Characters of the input that the bolt looks at."""
        return 0


class Pass(_Step):
    """Emits its input again; also what the sinks do, though nobody listens."""

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit what came."""
        emit(values[0])


class Shorten(_Step):
    """Keeps the first 80 % of the characters and walks over them."""

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the first 80 % of the text."""
        text = str(values[0])
        emit(text[: len(text) * _KEPT_PERCENT // 100])

    def looked_at(self, length: int) -> int:
        """All characters."""
        return length


class Filter(_Step):
    """Passes a tuple with probability 0.8."""

    def __init__(self, effort: Effort, sleep_ms_per_char: float, seed: int = 2) -> None:
        super().__init__(effort, sleep_ms_per_char)
        self._draw = SplitMix(seed)

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit what came, four times in five."""
        if self._draw.below(100) < _PASS_PERCENT:
            emit(values[0])


class Lengthen(_Step):
    """Appends eight characters."""

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the text with eight more characters."""
        emit(str(values[0]) + _APPENDED)


BOLTS: dict[str, type[_Step]] = {"pass": Pass, "shorten": Shorten, "filter": Filter, "lengthen": Lengthen}
SPOUTS = ("word", "line")


def lines_of(lengths: Sequence[int]) -> tuple[str, ...]:
    """Lines of these lengths, where nothing but the length is known."""
    return tuple((_ALPHABET * (length // 26 + 1))[:length] for length in lengths)


def spout_of(does: str, lines: Sequence[str], effort: Effort, word: str) -> Spout:
    """The spout that a definition names, one of `SPOUTS`."""
    return Words(effort, word) if does == "word" else Lines(lines, effort)


def bolt_of(does: str, place: int, effort: Effort, sleep_ms_per_char: float) -> Bolt:
    """The bolt that a definition names, of `BOLTS`; ``place`` keeps two filters from drawing alike."""
    if does == "filter":
        return Filter(effort, sleep_ms_per_char, seed=2 + place)
    return BOLTS[does](effort, sleep_ms_per_char)
