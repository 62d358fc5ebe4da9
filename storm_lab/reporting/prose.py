"""Text in notebooks that follows the numbers: sentences with variables in them, and the opening's claims."""

from __future__ import annotations

from collections.abc import Sequence

from storm_lab.experiments.claim import Claim


def say(text: str) -> None:
    """Show Markdown text as the output of a cell, so that the numbers in it are those of the runs."""
    # Here, since the package is used without IPython too.
    from IPython.display import Markdown, display

    display(Markdown(text))  # type: ignore[no-untyped-call]


def claims_text(claims: Sequence[Claim]) -> str:
    """What the papers print, as a Markdown table: claim, where it stands, what it says, the number."""
    if not claims:
        return "No paper prints a result that this notebook could be held against."
    rows = [
        f"| {claim.id} | {_cell(claim.figure)} | {_cell(claim.statement)} | {_cell(claim.expected_text)} |"
        for claim in claims
    ]
    return "\n".join(["| claim | where | what it says | printed |", "|---|---|---|---|", *rows])


def _cell(text: str) -> str:
    # Orders contain signs that would be taken for markup.
    return text.replace("|", "/").replace("<", "&lt;").replace("~", "\\~") or "—"
