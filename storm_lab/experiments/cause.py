"""Why results differ from the papers' or the papers from themselves: causes and contradictions.

Each claim that is not reproduced belongs to exactly one entry of ``claims/causes.yaml``, and no other claim
does. Claims with the same cause share an entry. A cause may name a parameter of the experiment and the value
that shows the cause. That value is played, and its verdict is reported beside the claim's own.

``claims/contradictions.yaml`` lists contradictions of a paper with itself or with another one: both readings,
and the one that is followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import yaml

from storm_lab.errors import UserError
from storm_lab.experiments.ledger import FOLDER, check_keys, load_claims, member
from storm_lab.model.checks import check_distinct


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

    ``why`` is the cause, in one or two sentences. ``evidence`` is arithmetic, the source of a Storm version,
    a live run, a recording, or another paper. ``impossible``: the printed number contradicts other numbers of
    the same paper, so that no run can meet both; only with the kind ``PAPER``. ``parameter`` of the claim's
    experiment, if not empty, shows the cause with this ``value``.
    """

    claim: str
    kind: CauseClass
    why: str
    evidence: str
    impossible: bool = False
    parameter: str = ""
    value: str = ""


_NEEDED = ("class", "why", "evidence")
_KEYS = {"claims", "impossible", "parameter", "value", *_NEEDED}


@cache
def load_causes() -> Mapping[str, Cause]:
    """The causes that come with the package, by claim.

    Raises `UserError` if an entry is incomplete, or one of its claims is unknown or already has a cause.
    """
    return read_causes((FOLDER / "causes.yaml").read_text(encoding="utf-8"))


def read_causes(text: str) -> dict[str, Cause]:
    """Read causes by claim from a YAML text; `UserError` as `load_causes`."""
    causes: dict[str, Cause] = {}
    for entry in yaml.safe_load(text) or ():
        for cause in _causes(entry):
            load_claims().claim(cause.claim)
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
    check_keys("a cause", entry, _KEYS, _NEEDED, where)
    kind = member(CauseClass, entry["class"], "class", where)
    if entry.get("impossible") and kind is not CauseClass.PAPER:
        raise UserError("only a paper can contradict itself", field=f"{where}.impossible")
    if bool(entry.get("parameter")) != ("value" in entry):
        raise UserError("a parameter and its value go together", field=f"{where}.parameter")
    texts = {key: str(entry.get(key, "")) for key in ("why", "evidence", "parameter", "value")}
    impossible = bool(entry.get("impossible", False))
    return tuple(Cause(str(claim), kind, impossible=impossible, **texts) for claim in claims)


class Followed(StrEnum):
    """The reading that the experiments use; ``BOTH`` if each is run or judged as printed."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Reading:
    """The statement of a passage, in this project's words, and its place."""

    says: str
    where: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two readings that cannot both be right, the claims that depend on them, and the choice made."""

    id: str
    papers: tuple[str, ...]
    claims: tuple[str, ...]
    topic: str
    first: Reading
    second: Reading
    followed: Followed
    why: str


@cache
def load_contradictions() -> tuple[Contradiction, ...]:
    """The list that comes with the package, in file order.

    Raises `UserError` for a missing or unknown key, an unknown claim or paper, or an id that occurs twice.
    """
    entries = yaml.safe_load((FOLDER / "contradictions.yaml").read_text(encoding="utf-8"))
    found = tuple(_contradiction(entry) for entry in entries)
    check_distinct("contradictions.yaml", "id", [entry.id for entry in found])
    return found


def _contradiction(entry: dict[str, Any]) -> Contradiction:
    where = f"contradictions.yaml: {entry.get('id', '?')}"
    try:
        made = {
            "papers": tuple(entry["papers"]),
            "claims": tuple(entry["claims"]),
            "first": Reading(**entry["first"]),
            "second": Reading(**entry["second"]),
            "followed": Followed(entry["followed"]),
        }
        found = Contradiction(**{**entry, **made})
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"not a contradiction ({error})", field=where) from error
    for claim in found.claims:
        load_claims().claim(claim)
    strangers = set(found.papers) - set(load_claims().papers)
    if strangers:
        raise UserError("unknown paper", field=where, value=sorted(strangers))
    return found
