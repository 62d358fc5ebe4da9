"""The result of a run of components: trees of calls, costs, and notes for the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

Call = list[Any]
"""``[component, [[stream, values, size, task], ...], source or None, failed]``, as stored in JSON."""
Tree = list[Call]
"""The calls that follow from one, breadth first."""
Tally = list[int]
"""A sum and the number of its summands."""

_MOST_NOTES = 20


@dataclass(slots=True)
class Recording:
    """A run: ``trees`` by spout, one for each tuple that it emitted, and ``ticks`` by bolt.

    CPU times are in ns: ``cost_ns`` by component, ``input_ns`` by component and the stream it reads,
    ``tick_ns`` of ticks. ``rate_per_s`` holds the spouts that sleep again and again. ``failures`` counts
    failed calls. ``broken`` maps a component to the reason why it cannot be run after all.
    """

    trees: dict[str, list[Tree]] = field(default_factory=dict)
    ticks: dict[str, list[Tree]] = field(default_factory=dict)
    cost_ns: dict[str, Tally] = field(default_factory=dict)
    input_ns: dict[tuple[str, str, str], Tally] = field(default_factory=dict)
    tick_ns: dict[str, Tally] = field(default_factory=dict)
    rate_per_s: dict[str, float] = field(default_factory=dict)
    anchored: set[str] = field(default_factory=set)
    replays: set[str] = field(default_factory=set)
    failures: dict[str, Tally] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def note(self, component: str, text: str) -> None:
        """Note something about a component, once."""
        texts = self.notes.setdefault(component, [])
        if text not in texts and len(texts) < _MOST_NOTES:
            texts.append(text)

    def outcome(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the run as stored in JSON; ``names`` are the components that were run."""
        return {
            **{item.name: getattr(self, item.name) for item in fields(self) if item.name != "broken"},
            "recorded": list(names),
            "ticks": {
                name: {
                    "tree": _median(trees),
                    "emitting": sum(1 for tree in trees if tree[0][1]),
                    # Ticks after the last one that emits belong to a period that has not ended.
                    "all": max((n for n, tree in enumerate(trees, start=1) if tree[0][1]), default=0),
                }
                for name, trees in self.ticks.items()
            },
            "input_ns": [[*key, *tally] for key, tally in self.input_ns.items()],
            "anchored": sorted(self.anchored),
            "replays": sorted(self.replays),
        }


def add(table: dict[Any, Tally], key: Any, amount: int, count: int) -> None:
    """Add to a tally."""
    entry = table.setdefault(key, [0, 0])
    entry[0] += amount
    entry[1] += count


def _median(trees: list[Tree]) -> Tree:
    """Return the tree of the tick that emitted the median number of tuples, among those that emitted any."""
    emitting = [tree for tree in trees if tree[0][1]] or trees[-1:]
    emitting.sort(key=lambda tree: len(tree[0][1]))
    return emitting[(len(emitting) - 1) // 2]
