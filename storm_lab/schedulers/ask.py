"""Asks a policy for a schedule; checks the question, and the answer, because users may write policies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from storm_lab.errors import StormLabError, UserError, exception_summary, is_own_code
from storm_lab.machine.process_end import is_sigterm
from storm_lab.model import (
    ACKER,
    Assignment,
    Executor,
    InvalidAssignmentError,
    Slot,
    check_assignment,
    check_slots,
)
from storm_lab.model.checks import check_distinct
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView, TopologyStatus
from storm_lab.schedulers.read_only import read_only


def check_view(view: SchedulingView) -> None:
    """Refuse an impossible view with an error that names the fault.

    Topologies and nodes check themselves when they are made; this checks that they fit together: a
    `UserError` if there is no slot, a topology without executors, a duplicate id, a slot with two topologies,
    or a placed executor of an unknown topology or component.
    """
    check_distinct("the view", "topology", [topology.id for topology in view.topologies])
    check_slots(view.cluster)
    for topology in view.topologies:
        if not any(component.executors > 0 for component in topology.components):
            message = "no component of the topology has an executor"
            raise UserError(message, field="topology", value=topology.id)
    components = {t.id: {ACKER, *(c.id for c in t.components)} for t in view.topologies}
    tenants: dict[Slot, Executor] = {}
    for executor, slot in view.present.slots.items():
        first = tenants.setdefault(slot, executor)
        if first.topology != executor.topology:
            both = f"topology {first.topology!r} and to {executor.topology!r}"
            message = f"the present assignment gives a slot to {both}; a worker serves one topology"
            raise UserError(message, field="slot", value=str(slot))
        if executor.topology not in components:
            message = f"the present assignment holds executor {executor} of an unknown topology"
            raise UserError(message, field="topology", value=executor.topology)
        if executor.component not in components[executor.topology]:
            message = f"executor {executor} of topology {executor.topology!r} has an unknown component"
            raise UserError(message, field="component", value=executor.component)


def check_result(view: SchedulingView, result: SchedulingResult) -> None:
    """Refuse an answer that no cluster could run.

    Every topology must have a status, and a scheduled topology must be complete. Executors and slots must
    exist, and each slot may serve only one topology. An executor may stay in a slot that is hidden now or on
    a blacklisted host, but none may be placed there anew. The `InvalidAssignmentError` names the executor and
    the slot.
    """
    slots = result.assignment.slots
    for topology in view.topologies:
        if topology.id not in result.status:
            raise InvalidAssignmentError(f"topology {topology.id!r} has no status")
        missing = [executor for executor in view.executors[topology.id] if executor not in slots]
        if missing and result.status[topology.id].scheduled:
            raise InvalidAssignmentError(
                f"executor {missing[0]} of {topology.id!r} has no slot, "
                "but the topology is reported as scheduled"
            )
    tenants: dict[Slot, Executor] = {}
    for executor, slot in slots.items():
        first = tenants.setdefault(slot, executor)
        if first.topology != executor.topology:
            raise InvalidAssignmentError(
                f"slot {slot} holds {first} of {first.topology!r} and {executor} of {executor.topology!r}: "
                "a worker serves one topology"
            )
    known = {executor for executors in view.executors.values() for executor in executors}
    stays = view.present.slots
    moved = Assignment({e: s for e, s in slots.items() if stays.get(e) != s or e not in known})
    check_assignment(moved, view.cluster, known & set(moved.slots))
    usable = set(view.usable_slots)
    for executor, slot in moved.slots.items():
        if slot not in usable:
            raise InvalidAssignmentError(
                f"executor {executor} of {executor.topology!r} is placed anew in {slot}, "
                "which is hidden in this round or on a blacklisted host"
            )


def ask(scheduler: Scheduler[Any], view: SchedulingView, *, case: str = "") -> SchedulingResult:
    """Return the policy's checked answer; ``case`` names the question in error messages.

    A scheduler that is not the project's gets a read-only view, so that a line that changes it fails.

    Raises `UserError` if the policy raised an exception, called ``sys.exit``, or returned something else or
    an assignment that no cluster could run; names policy, case, executor and slot. An exception from one of
    the project's own policies is a defect and is passed on unchanged.
    """
    about = f", {case}" if case else ""
    remedy = "fix the scheduler or choose another"
    refused = partial(UserError, field="scheduler", value=scheduler.name, remedy=remedy)
    is_own = is_own_code(type(scheduler))
    try:
        result = scheduler.schedule(view if is_own else read_only(view))
    except StormLabError:
        raise
    except (Exception, SystemExit) as error:
        if is_own or is_sigterm(error):
            raise
        raise refused(f"it raised {exception_summary(error)}{about}") from error
    try:
        _check_types(result)
        check_result(view, result)
    except InvalidAssignmentError as error:
        raise refused(f"its answer is not valid{about}: {error}") from error
    return result


def _check_types(result: Any) -> None:
    """Refuse values of other types that only look right: a plain tuple equals a slot but has no node."""
    _check_type("schedule returned", result, SchedulingResult, "a SchedulingResult")
    slots = getattr(result.assignment, "slots", None)
    if not isinstance(result.assignment, Assignment) or not isinstance(slots, Mapping):
        raise _wrong_type("the assignment is", result.assignment, "an Assignment")
    _check_type("the status is", result.status, Mapping, "a mapping by topology id")
    for executor, slot in slots.items():
        _check_type(f"{executor!r} is", executor, Executor, "an Executor")
        where = f"executor {executor} of {executor.topology!r} is placed in {slot!r}, which is"
        _check_type(where, slot, Slot, "a Slot")
        _check_type(f"the port of slot {slot} is", slot.port, int, "a whole number")
    for topology, entry in result.status.items():
        _check_type(f"the status of topology {topology!r} is", entry, TopologyStatus, "a TopologyStatus")
        _check_type(f"the status message of topology {topology!r} is", entry.message, str, "text")


def _check_type(what: str, value: object, kind: type, wanted: str) -> None:
    if not isinstance(value, kind):
        raise _wrong_type(what, value, wanted)


def _wrong_type(what: str, value: object, wanted: str) -> InvalidAssignmentError:
    kind = "None" if value is None else f"of type {type(value).__name__}"
    return InvalidAssignmentError(f"{what} {kind}, not {wanted}")
