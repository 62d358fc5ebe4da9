"""The commands ``storm-lab schedule`` and ``storm-lab explain``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from storm_lab.errors import StormLabError, UserError
from storm_lab.machine.options import FILE, json_option, param_option, print_json
from storm_lab.model import StormVersion
from storm_lab.schedulers.ask import ask
from storm_lab.schedulers.cases.case_format import Case, read_cases
from storm_lab.schedulers.contract import DEFAULT_STORM_VERSION, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.explain import explained, explanation, explanation_document, explanation_text
from storm_lab.schedulers.scheduler_file import complete_scheduler, scheduler_of, stdout_to_stderr

Refusal = tuple[str, StormLabError]
"""The name of a refused case and the error."""
Outcome = tuple[SchedulingView, SchedulingResult] | StormLabError

_scheduler = click.option(
    "--scheduler",
    required=True,
    metavar="NAME|FILE.py:CLASS",
    shell_complete=complete_scheduler,
    help="Name of the policy, or your own scheduler.",
)
_version = click.option(
    "--storm-version", metavar="V", default=None, help="Storm version that version-dependent policies follow."
)
_parameters = param_option("Parameter of the policy; may be repeated.")


@click.command()
@click.argument("cases", metavar="CASES.jsonl", type=FILE)
@_scheduler
@_version
@_parameters
def schedule(cases: str, scheduler: str, storm_version: str | None, parameters: tuple[str, ...]) -> None:
    """Schedule cases, one JSON object per line (- reads standard input), and print one answer per line.

    The format is described in docs/schedulers.md. The answer to a refused case says why it is refused. If all
    cases are refused, the command fails.
    """
    loaded = _load(cases, storm_version)
    policy = scheduler_of(scheduler, parameters)
    refused: list[Refusal] = []
    for name, outcome in outcomes(loaded, policy):
        click.echo(answer_line(name, outcome))
        if isinstance(outcome, StormLabError):
            refused.append((name, outcome))
    _report_refused(refused, len(loaded))


@click.command()
@click.argument("cases", metavar="CASES.jsonl", type=FILE)
@_scheduler
@_version
@_parameters
@click.option("--case", "case_name", metavar="NAME", default=None, help="Only the case of this name.")
@click.option(
    "--candidates",
    default=12,
    show_default=True,
    type=click.IntRange(0),
    help="Maximum number of candidate slots to show per executor.",
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
    """Show for each executor in order: candidate slots, scores, why slots were ruled out, and the choice."""
    if as_csv and as_json:
        raise UserError("only one of the two formats is possible", field="--json", value="--csv")
    policy = scheduler_of(scheduler, parameters)
    loaded = _load(cases, storm_version)
    if case_name is not None:
        loaded = [(name, case) for name, case in loaded if name == case_name]
        if not loaded:
            raise click.UsageError(f"{cases} has no case with the name {case_name!r}")
    refused: list[Refusal] = []
    documents: list[dict[str, object]] = []
    shown = 0
    for name, outcome in outcomes(loaded, policy, explained):
        if isinstance(outcome, StormLabError):
            refused.append((name, outcome))
            continue
        _, result = outcome
        shown += 1
        if as_json:
            documents.append(explanation_document(name, policy.name, result))
        elif as_csv:
            table = explanation(result)
            table.insert(0, "case", name)
            click.echo(table.to_csv(index=False, header=shown == 1), nl=False)
        else:
            click.echo(f"case {name}, scheduler {policy.name}")
            for line in explanation_text(result, most=candidates):
                click.echo(line)
    if as_json:
        print_json(documents)
    _report_refused(refused, len(loaded))


def _report_refused(refused: Sequence[Refusal], cases: int) -> None:
    """Print the number of refused cases to standard error; fail if all cases are refused."""
    if not refused:
        return
    name, first = refused[0]
    if isinstance(first, UserError):
        message = f"case {name!r}: {first.message}"
        first = UserError(message, field=first.field, value=first.value, remedy=first.remedy)
    if len(refused) == cases:
        raise first
    click.echo(f"{len(refused)} of {cases} cases were refused, first {first}", err=True)


def _load(path: str, storm_version: str | None) -> list[Case]:
    """Read the cases of a file, or of standard input for ``-``, including lines that are not valid cases."""
    version = DEFAULT_STORM_VERSION if storm_version is None else StormVersion.parse(storm_version)
    try:
        with nullcontext(sys.stdin) if path == "-" else Path(path).open(encoding="utf-8") as lines:
            cases = list(read_cases(lines, version))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read: {error}", field="cases", value=path) from None
    if not cases:
        raise UserError("has no cases", field="cases", value=path)
    return cases


def outcomes(
    cases: Iterable[Case], policy: Scheduler[Any], how: Callable[..., SchedulingResult] = ask
) -> Iterator[tuple[str, Outcome]]:
    """Ask the policy about each case; yield the name, and view and result or the error of a refused case.

    A case is refused if it is invalid or cannot be scheduled, or if no cluster could run the assignment.
    """
    for name, view in cases:
        try:
            if isinstance(view, StormLabError):
                raise view
            with stdout_to_stderr():
                result = how(policy, view)
        except StormLabError as error:
            yield name, error
        else:
            yield name, (view, result)


def answer_line(name: str, outcome: Outcome) -> str:
    """Return the answer to a case as a line of JSON; the same answer gives the same bytes.

    It has ``name``, ``assignments`` (rows ``[startTask, endTask, component]`` by topology and slot),
    ``status`` and, for a refused case, the reason as ``refused``; see ``docs/schedulers.md``.
    """
    answer: dict[str, object] = {"name": name, "assignments": {}, "status": {}}
    if isinstance(outcome, StormLabError):
        answer["refused"] = str(outcome)
    else:
        view, result = outcome
        assignments: dict[str, dict[str, list[list[object]]]] = {t.id: {} for t in view.topologies}
        for executor, slot in result.assignment.slots.items():
            rows = assignments[executor.topology].setdefault(str(slot), [])
            rows.append([executor.start, executor.end, executor.component])
        answer["assignments"] = {
            topology: {slot: sorted(rows) for slot, rows in sorted(workers.items())}
            for topology, workers in assignments.items()
        }
        answer["status"] = {topology: status.message for topology, status in result.status.items()}
    text = json.dumps(answer, ensure_ascii=False)
    # Half of a surrogate pair is valid in JSON but cannot be encoded, so it is escaped.
    return text if text.isprintable() else json.dumps(answer)
