"""What stands behind ``storm-lab schedule``: cases in, one JSON object a line out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

from storm_lab.errors import StormLabError, UserError
from storm_lab.model import StormVersion
from storm_lab.schedulers.ask import ask
from storm_lab.schedulers.cases.case_format import Case, RefusedCase, read_cases
from storm_lab.schedulers.contract import DEFAULT_STORM_VERSION, SchedulingResult
from storm_lab.schedulers.scheduler_file import scheduler_of


def parse_version(text: str | None) -> StormVersion:
    """The Storm version named by ``text``, or the newest one known.

    Raises:
        UserError: the text is no version.
    """
    return DEFAULT_STORM_VERSION if text is None else StormVersion.parse(text)


def load_cases(path: str, version: StormVersion, *, explain: bool = False) -> list[Case | RefusedCase]:
    """The cases of a file, or of standard input for ``-``, and its lines that are none.

    Raises:
        UserError: no such file, or nothing in it.
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
    cases: Iterable[Case | RefusedCase], scheduler: str, parameters: Iterable[str] = ()
) -> Iterator[tuple[dict[str, object], StormLabError | None]]:
    """Each case's answer: ``name``, ``assignments`` and ``status``; see ``docs/schedulers.md``.

    A case that cannot be scheduled at all, or whose assignment no cluster could run, has an answer too, with
    the reason under ``refused``; the error comes with it.

    Raises:
        UserError: unknown scheduler or parameter, or as `storm_lab.schedulers.scheduler_file.scheduler_of`.
    """
    policy = scheduler_of(scheduler, parameters)
    for case in cases:
        if isinstance(case, RefusedCase):
            yield refusal_json(case.name, case.error), case.error
            continue
        try:
            result = ask(policy, case.view)
        except StormLabError as error:
            yield refusal_json(case.name, error), error
        else:
            yield answer_json(case, result), None


def refusal_json(name: str, error: StormLabError) -> dict[str, object]:
    """The answer to a case that is refused."""
    return {"name": name, "assignments": {}, "status": {}, "refused": str(error)}


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
    text = json.dumps(answer, ensure_ascii=False)
    # Half of a surrogate pair, which JSON can spell and no encoding can write.
    return text if text.isprintable() else json.dumps(answer)
