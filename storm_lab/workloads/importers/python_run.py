"""Run Python components in a process of their own, with bounds on time and memory.

The outcome goes into a draft: calls, costs, rates, ticks and notes.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import storm_lab
from storm_lab.workloads.importers.calls import RecordedCalls, calls_of
from storm_lab.workloads.importers.draft import Draft, DraftComponent
from storm_lab.workloads.importers.figures import Spread
from storm_lab.workloads.importers.plain import Wanted
from storm_lab.workloads.multilang.plan import Given, Plan

LARGEST_OUTCOME = 1 << 30
SLACK_S = 60.0
"""Seconds in addition to those of a plan, to start and load modules, before the process is ended."""


class RunFailedError(Exception):
    """The process did not return a usable outcome; the message says why, in one line."""


def run_into(draft: Draft, plan: Plan, folder: Path, wanted: Wanted) -> None:
    """Put what a draft's components do into it, or note why they cannot be run; errors as `Overlay.rows`."""
    try:
        with run_components(plan, folder, wanted) as (outcome, given):
            for item in outcome.get("components", ()):
                component = draft.components.get(item["name"])
                if component is not None and item["tick_s"] is not None:
                    component.tick_s = float(item["tick_s"])
            put_outcome(outcome, draft, given)
    except RunFailedError as error:
        draft.notes.cannot_use(draft.place, "running the components", str(error))


@contextmanager
def run_components(
    plan: Plan, folder: Path, wanted: Wanted
) -> Iterator[tuple[Mapping[str, Any], frozenset[str]]]:
    """Run a plan with what an overlay gives; yield its outcome and the spouts whose records were given.

    Raises `RunFailedError` if the process took too long, was ended, or returned an outcome that the block
    cannot read, and `UserError` if a file of records cannot be read.
    """
    overlay = wanted.overlay
    for name, entry in overlay.given.get("components", {}).items():
        tasks, rate = entry.get("tasks", entry.get("executors")), entry.get("rate_per_s")
        plan.given[name] = Given(
            tasks=None if tasks is None else int(tasks),
            tick_s=entry.get("tick", {}).get("every_s"),
            rate_per_s=(float(rate) or None) if isinstance(rate, int | float) else None,
            records=overlay.rows(name),
        )
    plan.rate_per_s = overlay.defaults.rate_per_s or plan.rate_per_s
    plan.seconds = wanted.python_seconds
    given = frozenset(name for name, item in plan.given.items() if item.records is not None)
    with tempfile.TemporaryDirectory(prefix="storm-lab-python-") as scratch:
        outcome = _run(plan, folder, Path(scratch))
    try:
        yield json.loads(outcome), given
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise RunFailedError("the result is damaged") from None


def _run(plan: Plan, folder: Path, scratch: Path) -> bytes:
    plan_file, outcome, errors = (scratch / name for name in ("plan.pickle", "outcome.json", "errors.txt"))
    plan_file.write_bytes(pickle.dumps(plan))
    package = Path(storm_lab.__file__).resolve().parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(package), os.environ.get("PYTHONPATH", "")))),
        # The same order of sets in every run, and no files beside the user's.
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "storm_lab.workloads.multilang.main", str(plan_file), str(outcome)]
    with errors.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=plan.seconds + SLACK_S)
        except subprocess.TimeoutExpired:
            raise RunFailedError(f"it was ended after {plan.seconds + SLACK_S:g} s") from None
        finally:
            # End the processes that it has started, too.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if not outcome.is_file():
        raise RunFailedError(_why(status, errors))
    if outcome.stat().st_size > LARGEST_OUTCOME:
        raise RunFailedError("what it did is too large to keep")
    return outcome.read_bytes()


def _why(status: int, errors: Path) -> str:
    lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    said = " ".join(lines[0].split())[:300] if lines else ""
    if "MemoryError" in said:
        return f"it needed more memory than it may have ({said})"
    ended = f"it was ended by signal {-status}" if status < 0 else f"it ended with status {status}"
    return f"{ended}: {said}" if said else ended


def put_outcome(outcome: Mapping[str, Any], draft: Draft, given: frozenset[str]) -> None:
    """Put an outcome into the draft; ``given`` are the spouts with given records."""
    calls = calls_of(outcome) if "spouts" in outcome else RecordedCalls()
    recorded = [name for name in draft.components if name in calls.components]
    _note_failures(outcome, recorded, draft)
    if not recorded:
        draft.notes.read.append("none of its Python could be run")
        return
    draft.calls = calls
    for name in recorded:
        _put_costs(draft.components[name], outcome)
    for name in calls.spouts:
        if name not in given:
            _put_source(draft.components[name], outcome, draft)
    for name in calls.ticks:
        _put_tick(draft.components[name], outcome["tick_counts"][name], draft)
    total = sum(map(len, calls.spouts.values()))
    draft.notes.read.append(f"ran {', '.join(recorded)} over {total} records")
    _tell(outcome, recorded, draft)
    draft.measured = "the CPU time of Python here"
    draft.measured_here = True


def _note_failures(outcome: Mapping[str, Any], recorded: Sequence[str], draft: Draft) -> None:
    """Note the modules that are not installed, and the components that could not be run."""
    notes, broken = draft.notes, outcome.get("broken", {})
    for name in outcome.get("absent", ()):
        package = name.rpartition(".")[0]
        why = f"{package} has no such module" if package else "it is not installed here: install it to use it"
        notes.cannot_use(draft.place, f"the Python module {name}", why)
    why = "what it reads could not be run, so that it has no input"
    behind = {name: why for name in draft.components if name not in recorded and name not in broken}
    for name, reason in {**broken, **behind}.items():
        notes.cannot_use(draft.components[name].place, f"running {name}", f"{reason}: played by its figures")


def _put_costs(component: DraftComponent, outcome: Mapping[str, Any]) -> None:
    component.cost_us = _mean_us(outcome["cost_ns"].get(component.id)) or component.cost_us
    if len(component.inputs) > 1:
        by_input = {tuple(row[1:3]): row[3:] for row in outcome["input_ns"] if row[0] == component.id}
        for item in component.inputs:
            item.cost_us = _mean_us(by_input.get((item.source, item.stream))) or item.cost_us
    tick = _mean_us(outcome["tick_ns"].get(component.id))
    if tick is not None:
        component.tick_cost_us = tick.mean


def _mean_us(tally: Sequence[float] | None) -> Spread | None:
    """Return the mean in us of a sum in ns and its count; None if there is nothing to count."""
    # Rounded to a tenth of a microsecond: the clock is no finer, and people read the figure, too.
    return Spread(round(tally[0] / tally[1] / 1000, 1)) if tally and tally[1] else None


def _put_source(component: DraftComponent, outcome: Mapping[str, Any], draft: Draft) -> None:
    name = component.id
    component.anchored = name in outcome["anchored"]
    component.replays = name in outcome["replays"]
    rate = outcome["rate_per_s"].get(name)
    if component.rate_per_s is None and rate is not None:
        component.rate_per_s = round(rate, 3)
        draft.notes.read.append(f"rate of {name} from what it sleeps: {component.rate_per_s:g} records/s")


def _put_tick(component: DraftComponent, counts: tuple[int, int], draft: Draft) -> None:
    emitting, every = counts
    if component.tick_s is None or not 0 < emitting < every:
        return
    component.tick_s *= every / emitting
    why = f"{emitting} of {every} emit: played as a tick every {component.tick_s:.4g} s that does"
    draft.notes.cannot_use(component.place, f"ticks of {component.id} that emit nothing", why)


def _tell(outcome: Mapping[str, Any], recorded: Sequence[str], draft: Draft) -> None:
    for name in recorded:
        place = draft.components[name].place
        failed, calls = outcome["failures"].get(name, (0, 0))
        for text in outcome["notes"].get(name, ()):
            draft.notes.cannot_use(place, f"what {name} does", str(text))
        if failed:
            what = f"{failed} of {calls} calls of {name}"
            why = "they failed their tuples; after an exception Storm would also start the process again"
            draft.notes.cannot_use(place, what, why)
