"""Notebook text that follows the numbers: sentences with variables in them, and the table of claims."""

from __future__ import annotations

from collections.abc import Sequence

from storm_lab.experiments.claim import Claim


def say(text: str) -> None:
    """Show Markdown text as the output of a cell, so that its numbers are those of the runs."""
    # Imported here, because the package is also used without IPython.
    from IPython.display import Markdown, display

    display(Markdown(text))  # type: ignore[no-untyped-call]


def claims_text(claims: Sequence[Claim]) -> str:
    """The printed claims as a Markdown table: id, place, statement and number."""
    if not claims:
        return "No paper prints a result to compare this notebook with."
    rows = [
        f"| {claim.id} | {_cell(claim.figure)} | {_cell(claim.statement)} | {_cell(claim.expected_text)} |"
        for claim in claims
    ]
    return "\n".join(["| claim | where | what it says | printed |", "|---|---|---|---|", *rows])


def _cell(text: str) -> str:
    # Orders contain characters that would be taken for markup.
    return text.replace("|", "/").replace("<", "&lt;").replace("~", "\\~") or "—"
