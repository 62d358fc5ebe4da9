"""Causes: why a claim is not reproduced, with the evidence and the setting that shows it.

Each claim that is not reproduced belongs to exactly one entry of ``claims/causes.yaml``, and no other claim
does. Claims with the same cause share an entry. A cause may name a parameter of the experiment and the value
that shows the cause. That value is played, and its verdict is reported beside the claim's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import yaml

from storm_lab.errors import UserError
from storm_lab.experiments.ledger import FOLDER, load_claims, refuse_unknown


class CauseClass(StrEnum):
    """Kinds of cause."""

    PAPER = "paper contradicts itself"
    INPUT = "input not printed"
    MECHANISM = "emulator lacks a mechanism"
    SETUP = "metric or set-up differs"
    NOISE = "noise of single runs"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why one claim is not reproduced.

    Attributes:
        claim: id of the claim.
        kind: kind of cause.
        why: the cause, in one or two sentences.
        evidence: arithmetic, source of a Storm version, live run, recording, or another paper.
        impossible: the printed number contradicts other numbers of the same paper, so that no run can meet
            both; only with the kind ``PAPER``.
        parameter: parameter of the claim's experiment with which a reader can try it; may be empty.
        value: value of the parameter that shows the cause.
    """

    claim: str
    kind: CauseClass
    why: str
    evidence: str
    impossible: bool = False
    parameter: str = ""
    value: str = ""


_KEYS = {"claims", "class", "why", "evidence", "impossible", "parameter", "value"}


@cache
def load_causes() -> Mapping[str, Cause]:
    """The causes that come with the package, by claim.

    Raises `UserError` if an entry is incomplete, or one of its claims is unknown or already has a cause.
    """
    return read_causes((FOLDER / "causes.yaml").read_text(encoding="utf-8"))


def read_causes(text: str) -> dict[str, Cause]:
    """Read causes by claim from a YAML text; `UserError` as `load_causes`."""
    ledger = load_claims()
    causes: dict[str, Cause] = {}
    for entry in yaml.safe_load(text) or ():
        for cause in _causes(entry):
            ledger.claim(cause.claim)
            if cause.claim in causes:
                raise UserError("the claim has two causes", field="causes.yaml", value=cause.claim)
            causes[cause.claim] = cause
    return causes


def _causes(entry: Mapping[str, Any]) -> tuple[Cause, ...]:
    """The causes of one entry, one for each of its claims."""
    claims = entry.get("claims")
    if not isinstance(claims, list) or not claims:
        raise UserError("a cause needs a list of claims", field="causes.yaml.claims", value=claims)
    where = f"causes.yaml: {claims[0]}"
    refuse_unknown(entry, _KEYS, where)
    for key in ("class", "why", "evidence"):
        if not entry.get(key):
            raise UserError("a cause needs this key", field=f"{where}.{key}")
    try:
        kind = CauseClass(entry["class"])
    except ValueError as error:
        remedy = "one of " + ", ".join(CauseClass)
        raise UserError("unknown class", field=where, value=entry["class"], remedy=remedy) from error
    if entry.get("impossible") and kind is not CauseClass.PAPER:
        raise UserError("only a paper can contradict itself", field=f"{where}.impossible")
    if bool(entry.get("parameter")) != ("value" in entry):
        raise UserError("a parameter and its value go together", field=f"{where}.parameter")
    texts = {key: str(entry.get(key, "")) for key in ("why", "evidence", "parameter", "value")}
    impossible = bool(entry.get("impossible", False))
    return tuple(Cause(str(claim), kind, impossible=impossible, **texts) for claim in claims)
