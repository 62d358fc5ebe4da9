"""User code of R-Storm's micro-benchmarks and Yahoo topologies: words and lines are passed on or changed.

The bolts do next to nothing. With debug logging, the log lines cost far more; the engine accounts for them
(``topology.debug``, see `storm_lab.emulator.cost`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, SteadySpout, Values

WORD = "storm"
"""What the micro-benchmarks emit: one fixed word of five letters."""

FIELDS = ("text",)
SLEEP = "sleep"
"""Name of the server of unlimited capacity that a bolt waits for while its thread sleeps."""

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_STEP_US = 2.0
"""CPU of a bolt's own few statements, in addition to the engine's work."""
CHARACTER_US = 0.005
"""CPU to walk over one character. The loop of the authors' ``TransformBolt`` over their eight lines takes 1.8
ns on a plain JVM with its first compiler, on a core that is 2.6 times as fast. The server compiler removes
the loop, and interpreted it takes 0.34 us. It takes up to 2 us if each step makes a new text.
"""
_APPENDED = "#counted"
_PASS_PERCENT = 80
_KEPT_PERCENT = 80


@dataclass(frozen=True, slots=True)
class Effort:
    """CPU cost of the user code of a complete topology, in microseconds at the cost model's clock.

    ``character_us`` is the cost of walking over one character. ``work_us`` is the cost of computing for each
    tuple, the same in spouts and bolts and for any tuple (the CPU-bound micro-benchmarks).
    """

    character_us: float = CHARACTER_US
    work_us: float = 0.0


NO_EFFORT = Effort()
"""Effort of components that compute nothing of their own."""


class _Step(Bolt):
    """A bolt that may sleep for each character of its input; ``seed`` is that of its random draws."""

    walks: ClassVar[bool] = False
    """Whether it walks over all characters of its input."""

    def __init__(self, effort: Effort, sleep_ms_per_char: float, seed: int) -> None:
        self._effort = effort
        self._sleep_ms_per_char = sleep_ms_per_char
        self._draw = SplitMix(seed)

    def cost(self, values: Values) -> Cost:
        length = len(str(values[0]))
        cpu_us = _STEP_US + self._effort.work_us + self.walks * length * self._effort.character_us
        if self._sleep_ms_per_char <= 0:
            return Cost(cpu_us)
        return Cost(cpu_us, SLEEP, length * self._sleep_ms_per_char * 1000.0)


class Pass(_Step):
    """Emits its input unchanged. The sinks also do this, although no component consumes their output."""

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the input."""
        emit(values[0])


class Shorten(_Step):
    """Keeps the first 80 % of the characters and walks over them."""

    walks = True

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the first 80 % of the text."""
        text = str(values[0])
        emit(text[: len(text) * _KEPT_PERCENT // 100])


class Filter(_Step):
    """Passes a tuple with probability 0.8."""

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the input with probability 0.8."""
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
    """Lines of these lengths; their content does not matter."""
    return tuple((_ALPHABET * (length // 26 + 1))[:length] for length in lengths)


def spout_of(does: str, lines: Sequence[str], effort: Effort, word: str) -> Spout:
    """The spout that a definition names, one of `SPOUTS`: the word, or lines in random order."""
    each = Cost(_STEP_US + effort.work_us)
    if does == "word":
        return SteadySpout(each, [(word,)])
    draw = SplitMix(1)
    # A few times each line is enough for a long file; eight lines need more draws to be even.
    return SteadySpout(each, ((lines[draw.below(len(lines))],) for _ in range(max(2000, len(lines)))))


def bolt_of(does: str, place: int, effort: Effort, sleep_ms_per_char: float) -> Bolt:
    """The bolt that a definition names, one of `BOLTS`; ``place`` gives filters different random draws."""
    return BOLTS[does](effort, sleep_ms_per_char, 2 + place)
