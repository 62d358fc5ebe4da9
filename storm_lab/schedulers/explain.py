"""Reasons for the slot of each executor, as text for people and as a data frame for notebooks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import pandas as pd

from storm_lab.errors import UserError, shown
from storm_lab.schedulers.ask import ask
from storm_lab.schedulers.contract import Candidate, Decision, Scheduler, SchedulingResult, SchedulingView

COLUMNS = (
    "order", "topology", "executor", "component", "slot", "node", "score", "ruled_out_by", "chosen",
    "score_name", "note",
)  # fmt: skip
"""Columns of :func:`explanation`: one row per executor and candidate slot."""


def explained(scheduler: Scheduler[Any], view: SchedulingView) -> SchedulingResult:
    """Return the policy's answer with a reason for every decision, checked as in `ask`.

    Raises `UserError` as `ask`, or if the reasons have the wrong types.
    """
    result = ask(scheduler, dataclasses.replace(view, explain=True))
    if wrong := _wrong_reason(result):
        message = f"its answer cannot be explained: {wrong}"
        remedy = "collect reasons with a Journal, or give none"
        raise UserError(message, field="scheduler", value=scheduler.name, remedy=remedy)
    return result


def _wrong_reason(result: Any) -> str:
    """Return what has the wrong type among the reasons of a user's scheduler; empty if nothing has."""
    if not isinstance(result.decisions, Sequence):
        return f"decisions is {shown(result.decisions)}, not a sequence"
    for decision in result.decisions:
        if not isinstance(decision, Decision):
            return f"{shown(decision)} is not a Decision"
        candidates: Iterable[Any] = decision.candidates
        for candidate in candidates:
            if not isinstance(candidate, Candidate):
                return f"{shown(candidate)} is not a Candidate"
            if not isinstance(candidate.score, Real | None):
                return f"the score {shown(candidate.score)} is not a number"
    if not isinstance(result.notes, Mapping):
        return f"notes is {shown(result.notes)}, not a mapping"
    return ""


def explanation(result: SchedulingResult) -> pd.DataFrame:
    """Return the decisions in order, one row per candidate slot (columns: :data:`COLUMNS`).

    ``order`` counts decisions from 1. ``score`` is in the unit that ``score_name`` names; it is missing if
    the slot was ruled out before it was scored. A decision without candidates has one row without a slot.
    """
    rows: list[tuple[object, ...]] = []
    for order, decision in enumerate(result.decisions, start=1):
        executor, chosen = decision.executor, decision.choice
        who = (order, executor.topology, str(executor), executor.component)
        why = (decision.score_name, decision.note)
        for each in decision.candidates:
            slot, found = each.slot, (each.score, each.ruled_out_by, each.slot == chosen)
            rows.append((*who, str(slot), slot.node, *found, *why))
        if not decision.candidates:
            place = (None, None) if chosen is None else (str(chosen), chosen.node)
            rows.append((*who, *place, None, None, chosen is not None, *why))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"score": "float64", "chosen": "bool"})


def explanation_document(case: str, policy: str, result: SchedulingResult) -> dict[str, object]:
    """Return the decisions of one case as a JSON object: rows of :func:`explanation`, null for missing."""
    decisions = json.loads(explanation(result).to_json(orient="records"))
    status = {topology: dataclasses.asdict(status) for topology, status in result.status.items()}
    return {"case": case, "scheduler": policy, "decisions": decisions, "status": status}


def explanation_text(result: SchedulingResult, *, most: int = 12) -> Iterable[str]:
    """Yield the decisions as lines of text, at most ``most`` candidates each: best first, ruled-out last."""
    if not result.decisions:
        yield "No decisions were necessary."
    for order, decision in enumerate(result.decisions, start=1):
        executor, slot = decision.executor, decision.choice or "no slot"
        score = decision.score_name and f"   score: {decision.score_name}"
        note = decision.note and f"   {decision.note}"
        yield f"{order:4}. {executor.topology} {executor} -> {slot}{score}{note}"
        shown = sorted(decision.candidates, key=lambda c: _rank(c, decision))
        for candidate in shown[:most]:
            mark = "*" if candidate.slot == decision.choice else " "
            figure = "" if candidate.score is None else f"{candidate.score:12.4f}"
            reason = f"   ruled out: {candidate.ruled_out_by}" if candidate.ruled_out_by else ""
            yield f"    {mark} {candidate.slot!s:<24}{figure:>12}{reason}"
        if len(shown) > most:
            yield f"      ... and {len(shown) - most} more"
    for topology, status in result.status.items():
        yield f"{topology}: {status.message}"
    for name, value in result.notes.items():
        yield f"{name}: {value:g}" if isinstance(value, float) else f"{name}: {value}"


def _rank(candidate: Candidate, decision: Decision) -> tuple[bool, bool, float]:
    score = candidate.score or 0.0
    order = -score if "highest" in decision.score_name else score
    return candidate.slot != decision.choice, candidate.ruled_out_by is not None, order
