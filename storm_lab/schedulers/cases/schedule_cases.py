"""What stands behind ``storm-lab schedule``: cases in, one JSON object a line out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

from storm_lab.errors import StormLabError, UserError
from storm_lab.model import InvalidAssignmentError, StormVersion
from storm_lab.schedulers.cases.case_format import Case, read_cases
from storm_lab.schedulers.contract import DEFAULT_STORM_VERSION, SchedulingResult
from storm_lab.schedulers.registry import make_scheduler
from storm_lab.schedulers.view_checks import check_result


def parse_version(text: str | None) -> StormVersion:
    """The Storm version named by ``text``, or the newest one known.

    Raises:
        UserError: the text is no version.
    """
    if text is None:
        return DEFAULT_STORM_VERSION
    try:
        return StormVersion.parse(text)
    except ValueError as error:
        raise UserError(str(error), field="storm-version") from None


def load_cases(path: str, version: StormVersion, *, explain: bool = False) -> list[Case]:
    """The cases of a file, or of standard input for ``-``.

    Raises:
        UserError: no such file, no case in it, or a case that is wrong.
    """
    try:
        with nullcontext(sys.stdin) if path == "-" else Path(path).open(encoding="utf-8") as lines:
            cases = list(read_cases(lines, version, explain=explain))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read: {error}", field="cases", value=path) from None
    if not cases:
        raise UserError("holds no case", field="cases", value=path)
    return cases


def schedule_cases(
    cases: Iterable[Case], scheduler: str, parameters: Iterable[str] = ()
) -> Iterator[dict[str, object]]:
    """Each case's answer: ``name``, ``assignments`` and ``status``; see ``docs/schedulers.md``.

    Raises:
        UserError: unknown scheduler or parameter, or a case that cannot be scheduled at all; names the case.
        StormLabError: the policy returned an assignment that no cluster could run.
    """
    policy = make_scheduler(scheduler, parameters)
    for case in cases:
        try:
            result = policy.schedule(case.view)
        except UserError as error:
            raise UserError(
                f"case {case.name!r}: {error.message}",
                field=error.field,
                value=error.value,
                remedy=error.remedy,
            ) from error
        try:
            check_result(case.view, result)
        except InvalidAssignmentError as error:
            raise StormLabError(f"scheduler {scheduler!r}, case {case.name!r}: {error}") from error
        yield answer_json(case, result)


def answer_json(case: Case, result: SchedulingResult) -> dict[str, object]:
    """One answer: per topology its slots with rows ``[startTask, endTask, component]``, and its status."""
    assignments: dict[str, dict[str, list[list[object]]]] = {t.id: {} for t in case.view.topologies}
    for executor, slot in result.assignment.slots.items():
        rows = assignments[executor.topology].setdefault(str(slot), [])
        rows.append([executor.start, executor.end, executor.component])
    return {
        "name": case.name,
        "assignments": {
            topology: {slot: sorted(rows) for slot, rows in sorted(workers.items())}
            for topology, workers in assignments.items()
        },
        "status": {topology: status.message for topology, status in result.status.items()},
    }


def to_line(answer: dict[str, object]) -> str:
    """One line of JSON; the same answer gives the same bytes."""
    return json.dumps(answer, ensure_ascii=False)
