"""The commands ``storm-lab schedule`` and ``storm-lab explain``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from storm_lab.errors import StormLabError, UserError
from storm_lab.machine.options import complete_file, json_option, print_json
from storm_lab.schedulers.cases.case_format import RefusedCase
from storm_lab.schedulers.cases.schedule_cases import (
    load_cases,
    parse_version,
    schedule_cases,
    to_line,
)
from storm_lab.schedulers.completion import complete_scheduler
from storm_lab.schedulers.explain import (
    explained,
    explanation,
    explanation_document,
    explanation_text,
)
from storm_lab.schedulers.scheduler_file import scheduler_of

_scheduler = click.option(
    "--scheduler",
    required=True,
    metavar="NAME|FILE.py:CLASS",
    shell_complete=complete_scheduler,
    help="Name of the policy, or a scheduler of yours.",
)
_version = click.option(
    "--storm-version", metavar="V", default=None, help="Storm version that version-dependent policies follow."
)
_parameters = click.option(
    "-p",
    "--param",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the policy; may be repeated.",
)


@click.command()
@click.argument("cases", metavar="CASES.jsonl", shell_complete=complete_file)
@_scheduler
@_version
@_parameters
def schedule(cases: str, scheduler: str, storm_version: str | None, parameters: tuple[str, ...]) -> None:
    """Schedule cases, one JSON object a line (- reads standard input), and print one answer a line.

    The format is described in docs/schedulers.md. A case that is refused has an answer that says why; where
    all are, the command fails.
    """
    loaded = load_cases(cases, parse_version(storm_version))
    refused: list[RefusedCase] = []
    for answer, error in schedule_cases(loaded, scheduler, parameters):
        click.echo(to_line(answer))
        if error is not None:
            refused.append(RefusedCase(str(answer["name"]), error))
    _tell(refused, len(loaded))


@click.command()
@click.argument("cases", metavar="CASES.jsonl", shell_complete=complete_file)
@_scheduler
@_version
@_parameters
@click.option("--case", "case_name", metavar="NAME", default=None, help="Only the case of this name.")
@click.option(
    "--candidates", default=12, show_default=True, help="Most candidate slots to show per executor."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print one CSV row per candidate instead of text.")
@json_option
def explain(
    cases: str,
    scheduler: str,
    storm_version: str | None,
    parameters: tuple[str, ...],
    case_name: str | None,
    candidates: int,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show for each executor in order: candidate slots, scores, what ruled slots out, and the choice."""
    if as_csv and as_json:
        raise UserError("only one of the two forms", field="--json", value="--csv")
    policy = scheduler_of(scheduler, parameters)
    loaded = load_cases(cases, parse_version(storm_version))
    if case_name is not None:
        loaded = [case for case in loaded if case.name == case_name]
        if not loaded:
            raise click.UsageError(f"{cases} holds no case of the name {case_name!r}")
    refused: list[RefusedCase] = []
    documents: list[dict[str, object]] = []
    shown = 0
    for case in loaded:
        if isinstance(case, RefusedCase):
            refused.append(case)
            continue
        try:
            result = explained(policy, case.view)
        except StormLabError as error:
            refused.append(RefusedCase(case.name, error))
            continue
        shown += 1
        if as_json:
            documents.append(explanation_document(case.name, policy.name, result))
            continue
        if as_csv:
            table = explanation(result)
            table.insert(0, "case", case.name)
            click.echo(table.to_csv(index=False, header=shown == 1), nl=False)
            continue
        click.echo(f"case {case.name}, scheduler {policy.name}")
        for line in explanation_text(result, most=candidates):
            click.echo(line)
    if as_json:
        print_json(documents)
    _tell(refused, len(loaded))


def _tell(refused: Sequence[RefusedCase], cases: int) -> None:
    """Count the refused cases on standard error; without any other case they are the command's failure."""
    if refused and len(refused) == cases:
        raise refused[0].named()
    if refused:
        click.echo(f"{len(refused)} of {cases} cases were refused, first {refused[0].named()}", err=True)
