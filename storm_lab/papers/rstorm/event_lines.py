"""Lines for Yahoo's topologies: events of pages and advertisements, or any text file of the reader's choice.

The paper streams event-level advertising data that was never published. The authors' public code repeats
eight log lines. The eight lines here are new but have the same lengths.
"""

from __future__ import annotations

from pathlib import Path

from storm_lab.workloads.text import Text, read_text

EVENTS = "events"

_LINES = (
    "GET /finance/quotes 200 1843",
    "2014-12-02T08:15:07 page=/sport/tables ad=40817 slot=top user=9f3c view=1",
    "2014-12-02T08:15:09 page=/news/world/story-18442 ref=/news ad=51290 "
    "slot=side user=1b77e0 campaign=winter click=1 ms=1840",
    "ad=40817 slot=top impression=1",
    "logout",
    "beacon user=9f3c71 dwell=112.4s",
    "view /mail",
    "click ad=51290 cost=0.4",
)


def event_lines(choice: str) -> Text:
    """The lines of ``events`` or of a text file, without blank ones; `UserError` if unreadable or empty."""
    if choice == EVENTS:
        return Text(EVENTS, _LINES)
    text = read_text(Path(choice), name=choice, field="lines")
    return Text(text.name, tuple(line for line in text.lines if line.strip()))
