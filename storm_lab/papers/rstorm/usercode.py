"""User code of R-Storm's micro-benchmarks and Yahoo topologies: words and lines are passed on or changed.

The bolts do next to nothing. With debug logging, the log lines cost far more; the engine accounts for them
(``topology.debug``, see `storm_lab.emulator.cost`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    """CPU cost of a topology's user code, in microseconds at the cost model's clock.

    ``character_us``: to walk over one character. ``work_us``: for any tuple, in spouts and bolts alike.
    """

    character_us: float = CHARACTER_US
    work_us: float = 0.0


NO_EFFORT = Effort()
"""Effort of components that compute nothing of their own."""

SPOUTS = ("word", "line")
BOLTS = ("pass", "shorten", "filter", "lengthen")


class _Step(Bolt):
    """A bolt that does one of `BOLTS` (sinks pass tuples on, too) and may sleep for each character."""

    def __init__(self, does: str, effort: Effort, sleep_ms_per_char: float, seed: int) -> None:
        self._does = does
        self._effort = effort
        self._sleep_ms_per_char = sleep_ms_per_char
        self._draw = SplitMix(seed)

    def cost(self, values: Values) -> Cost:
        length = len(str(values[0]))
        walked = length if self._does == "shorten" else 0
        cpu_us = _STEP_US + self._effort.work_us + walked * self._effort.character_us
        if self._sleep_ms_per_char <= 0:
            return Cost(cpu_us)
        return Cost(cpu_us, SLEEP, length * self._sleep_ms_per_char * 1000.0)

    def execute(self, values: Values, emit: Emit) -> None:
        text = str(values[0])
        if self._does == "shorten":
            text = text[: len(text) * _KEPT_PERCENT // 100]
        elif self._does == "lengthen":
            text += _APPENDED
        if self._does != "filter" or self._draw.below(100) < _PASS_PERCENT:
            emit(text)


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
    return _Step(does, effort, sleep_ms_per_char, 2 + place)
