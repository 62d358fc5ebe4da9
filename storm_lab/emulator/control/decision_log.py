"""The decision log: which actor took which action on what, when and why.

Entries are the rows of the tuple log's ``control`` table. Tests compare :meth:`DecisionLog.lines`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from storm_lab.emulator.control.clock import SECOND, VirtualClock
from storm_lab.tuplelog.buffer import Recorder

Fact = int | float | str | bool | None | list[str] | dict[str, int]


@dataclass(frozen=True, slots=True)
class Decision:
    """One entry; ``time_ns`` is virtual time, ``detail`` holds further facts by name."""

    time_ns: int
    actor: str
    action: str
    subject: str
    reason: str = ""
    detail: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The entry as one line: seconds, actor, action, subject, reason."""
        text = f"{self.time_ns / SECOND:.3f} {self.actor} {self.action} {self.subject}"
        return f"{text} ({self.reason})" if self.reason else text


class DecisionLog:
    """Entries in the order in which they were made."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.entries: list[Decision] = []

    def note(self, actor: str, action: str, subject: str, reason: str = "", **detail: Fact) -> None:
        """Add an entry at the current virtual time."""
        self.entries.append(Decision(self._clock.now_ns, actor, action, subject, reason, detail))

    def of(self, *actions: str) -> list[Decision]:
        """Return the entries with these actions, in order."""
        return [entry for entry in self.entries if entry.action in actions]

    def lines(self, *actions: str) -> list[str]:
        """Return entries as text, either all or those of some actions."""
        return [entry.line for entry in (self.of(*actions) if actions else self.entries)]


def write_decisions(recorder: Recorder, decisions: Sequence[Decision]) -> None:
    """Write the decision log to the tuple log's control table."""
    if not decisions:
        return
    to_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
    texts = ("actor", "action", "subject", "reason")
    rows = {
        "time_ns": np.array([entry.time_ns for entry in decisions], np.int64),
        **{name: [getattr(entry, name) for entry in decisions] for name in texts},
        "detail": [to_json(dict(entry.detail)) if entry.detail else "" for entry in decisions],
    }
    recorder.append("control", rows)
