"""The parts of README.md that come from data: the verdicts, and one picture if it exists.

Run ``python -m storm_lab.reporting.readme`` in the checkout to update them; a test fails if they are out of
date.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from storm_lab.errors import UserError, refused_by_system
from storm_lab.experiments.claim import number
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.reporting.figures.saved import read_figure
from storm_lab.reporting.record import collect_verdicts
from storm_lab.reporting.tally import Standing, Tally, by_basis, by_paper, count_chosen, count_standings
from storm_lab.reporting.verdict import Outcome, Verdict

PICTURE = Path("figures") / "tstorm-word-count" / "figure-6.svg"
"""The picture, relative to the reports folder."""


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """Counts by paper and by basis, as a Markdown table."""
    rows = [
        "| | claims | " + " | ".join(Outcome) + " |",
        "|---|" + "--:|" * (len(Outcome) + 1),
        *(_row(tally.name, tally) for tally in by_paper(verdicts)),
        _row("**all papers**", Tally.of("", verdicts)),
        *(_row(f"of these {tally.name}", tally) for tally in by_basis(verdicts)),
    ]
    return "\n".join(rows)


def _row(name: str, tally: Tally) -> str:
    return f"| {name} | {tally.total} | " + " | ".join(str(count) for count in tally.counts) + " |"


def standings(verdicts: Sequence[Verdict]) -> str:
    """Number of claims of each standing, as two lines of Markdown."""
    counts = count_standings(verdicts)
    return (
        f"Of the others, {counts[Standing.READING]} are reproduced under a stated reading of what a paper "
        f"leaves open ({count_chosen(verdicts)} of them\nonly under one that was chosen with the claim in "
        f"view), {counts[Standing.IMPOSSIBLE]} contradict numbers of their own paper, and "
        f"{counts[Standing.OPEN]} are open."
    )


def picture(reports: Path) -> str:
    """The picture as Markdown with its caption; empty if there is no picture.

    Raises `UserError` if the file is not a complete figure, or a verdict file is damaged.
    """
    path = reports / PICTURE
    if not path.is_file():
        return ""
    alt = read_figure(path).alt.replace("[", "(").replace("]", ")")
    image = f"![{alt}](reports/{PICTURE.as_posix()})"
    text = caption({verdict.claim.id: verdict for verdict in collect_verdicts(reports / "verdicts")})
    return f"{image}\n\n{text}" if text else image


def caption(verdicts: Mapping[str, Verdict]) -> str:
    """The result that the picture shows, in numbers; empty if they were not measured."""
    shown = [verdicts[f"tstorm-fig6{panel}-{what}"] for what in ("nodes", "speedup") for panel in "bc"]
    measured = [verdict.measurement.value().value if verdict.measurement else None for verdict in shown]
    if any(value is None for value in measured):
        return ""
    values = [number(round(value, 1)) for value in measured if value is not None]
    printed = [number(verdict.claim.target("").expected or 0.0) for verdict in shown]
    return (
        "One result: with gamma 1.8 and 2.2 T-Storm puts Word Count on "
        f"{values[0]} and {values[1]} of ten nodes (printed: {printed[0]} and {printed[1]}).\n"
        f"A line then takes {values[2]} and {values[3]} % less time than under Storm on all ten "
        f"(printed: {printed[2]} and {printed[3]} %).\n"
        "`storm-lab claims tstorm-fig6b-speedup` explains the difference."
    )


def updated(text: str, name: str, content: str) -> str:
    """Replace the text between the markers ``<!-- name:begin -->`` and ``<!-- name:end -->`` by ``content``.

    Raises `UserError` unless there is exactly one pair of them.
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise UserError("the text needs one pair of markers", field=name, remedy=f"add {begin} and {end}")
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    middle = f"\n{content}\n" if content else "\n"
    return f"{head}{begin}{middle}{end}{tail}"


def updated_readme(text: str, reports: Path) -> str:
    """Update the generated parts of README's text from the reports folder.

    Raises `UserError` if the text lacks its markers, or a verdict file is damaged.
    """
    verdicts = collect_verdicts(reports / "verdicts")
    text = updated(text, "verdicts", f"{verdict_table(verdicts)}\n\n{standings(verdicts)}")
    return updated(text, "picture", picture(reports))


def main() -> None:
    """Command line: update README.md in the current folder."""
    readme = Path("README.md")
    try:
        with refused_by_system("cannot be read", field=readme.name):
            before = readme.read_text(encoding="utf-8")
        after = updated_readme(before, Path("reports"))
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    if after != before:
        write_atomic(readme, after)
    print(f"README.md: {'is up to date' if after == before else 'updated'}")


if __name__ == "__main__":
    main()
