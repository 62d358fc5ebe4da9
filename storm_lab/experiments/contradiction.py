"""Contradictions of a paper with itself or with another one: both readings, and the one that is followed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import yaml

from storm_lab.errors import UserError
from storm_lab.experiments.ledger import FOLDER, load_claims
from storm_lab.model.checks import check_distinct


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
    ledger = load_claims()
    try:
        found = Contradiction(
            **entry
            | {
                "papers": tuple(entry["papers"]),
                "claims": tuple(entry["claims"]),
                "first": Reading(**entry["first"]),
                "second": Reading(**entry["second"]),
                "followed": Followed(entry["followed"]),
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"not a contradiction ({error})", field=where) from error
    for claim in found.claims:
        ledger.claim(claim)
    strangers = set(found.papers) - set(ledger.papers)
    if strangers:
        raise UserError("unknown paper", field=where, value=sorted(strangers))
    return found
