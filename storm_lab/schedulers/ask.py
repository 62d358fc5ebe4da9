"""Asks a policy for a schedule and checks the answer, because users may write policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storm_lab.errors import StormLabError, UserError, exception_summary, is_own_code
from storm_lab.machine.process_end import is_sigterm
from storm_lab.model import Assignment, Executor, InvalidAssignmentError, Slot
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView, TopologyStatus
from storm_lab.schedulers.view_checks import check_result

_REMEDY = "fix the scheduler or choose another"


def ask(scheduler: Scheduler[Any], view: SchedulingView, *, case: str = "") -> SchedulingResult:
    """Return the policy's checked answer; ``case`` names the question in error messages.

    Raises:
        UserError: the policy raised an exception, called ``sys.exit``, or returned something else or an
            assignment that no cluster could run; names policy, case, executor and slot. An exception from one
            of the project's own policies is a defect and is passed on unchanged.
    """
    about = f", {case}" if case else ""
    try:
        result = scheduler.schedule(view)
    except StormLabError:
        raise
    except (Exception, SystemExit) as error:
        if is_own_code(type(scheduler)) or is_sigterm(error):
            raise
        message = f"it raised {exception_summary(error)}{about}"
        raise UserError(message, field="scheduler", value=scheduler.name, remedy=_REMEDY) from error
    try:
        _check_types(result)
        check_result(view, result)
    except InvalidAssignmentError as error:
        message = f"its answer is not valid{about}: {error}"
        raise UserError(message, field="scheduler", value=scheduler.name, remedy=_REMEDY) from error
    return result


def _check_types(result: object) -> None:
    """Refuse values of other types that only look right: a plain tuple equals a slot but has no node."""
    if not isinstance(result, SchedulingResult):
        raise _wrong_type("schedule returned", result, "a SchedulingResult")
    assignment: object = result.assignment
    slots: object = getattr(assignment, "slots", None)
    status: object = result.status
    if not isinstance(assignment, Assignment) or not isinstance(slots, Mapping):
        raise _wrong_type("the assignment is", assignment, "an Assignment")
    if not isinstance(status, Mapping):
        raise _wrong_type("the status is", status, "a mapping by topology id")
    for executor, slot in slots.items():
        if not isinstance(executor, Executor):
            raise _wrong_type(f"{executor!r} is", executor, "an Executor")
        if not isinstance(slot, Slot):
            where = f"executor {executor} of {executor.topology!r} is placed in {slot!r}, which is"
            raise _wrong_type(where, slot, "a Slot")
        if not isinstance(slot.port, int):
            raise _wrong_type(f"the port of slot {slot} is", slot.port, "a whole number")
    for topology, entry in status.items():
        if not isinstance(entry, TopologyStatus):
            raise _wrong_type(f"the status of topology {topology!r} is", entry, "a TopologyStatus")
        if not isinstance(entry.message, str):
            raise _wrong_type(f"the status message of topology {topology!r} is", entry.message, "text")


def _wrong_type(what: str, value: object, wanted: str) -> InvalidAssignmentError:
    kind = "None" if value is None else f"of type {type(value).__name__}"
    return InvalidAssignmentError(f"{what} {kind}, not {wanted}")
