"""The claims ledger: every result that the five papers print, one YAML file per paper in ``claims/``.

A file names its paper and lists claims. A claim states either one number (``expected``, ``band``,
``neutral``), several (``targets``: label -> those three keys and ``unit``) or an order (``order``: chains
such as ``a < b ~ c``). A claim answered by another experiment than its own names that one (``answered_by``).
A number without a band gets one from `storm_lab.experiments.claim.band_by_rule`, which depends on whether it
is a ``total`` over several events. ``fitted`` says why a claim is no evidence for what was chosen on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import yaml

from storm_lab.errors import UserError
from storm_lab.experiments.claim import Chain, Claim, Kind, Relation, Target, band_by_rule, literal
from storm_lab.model.checks import check_distinct

FOLDER = resources.files("storm_lab.experiments") / "claims"
"""The packaged claims, causes and contradictions."""

_Name = TypeVar("_Name", bound=StrEnum)

_NEEDED = ("id", "figure", "experiment", "topology", "metric", "kind", "statement")
_NUMBER_KEYS = {"expected", "band", "neutral"}
_CLAIM_KEYS = {
    *_NEEDED, *_NUMBER_KEYS, "unit", "targets", "order", "baseline", "note", "arithmetic", "untestable",
    "answered_by", "fitted", "total",
}  # fmt: skip
_TARGET_KEYS = {*_NUMBER_KEYS, "unit", "total"}


@dataclass(frozen=True, slots=True)
class Ledger:
    """Claims in the order of the files, with look-ups."""

    claims: tuple[Claim, ...]

    def __post_init__(self) -> None:
        check_distinct("the ledger", "id", [claim.id for claim in self.claims])

    def claim(self, claim_id: str) -> Claim:
        """Return the claim with this id; `UserError` if there is none."""
        for claim in self.claims:
            if claim.id == claim_id:
                return claim
        remedy = "see `storm-lab claims` for the ids"
        raise UserError("no such claim", field="claim", value=claim_id, remedy=remedy)

    def of_experiment(self, experiment: str) -> tuple[Claim, ...]:
        """The claims that this experiment answers, in ledger order."""
        return tuple(claim for claim in self.claims if claim.owner == experiment)

    @property
    def papers(self) -> tuple[str, ...]:
        """Papers in ledger order, without repetition."""
        return tuple(dict.fromkeys(claim.paper for claim in self.claims))

    @property
    def experiments(self) -> tuple[str, ...]:
        """Slugs of the papers' experiments in ledger order, without repetition."""
        return tuple(dict.fromkeys(claim.experiment for claim in self.claims))

    @property
    def owners(self) -> tuple[str, ...]:
        """Slugs of the experiments that answer claims, in ledger order, without repetition."""
        return tuple(dict.fromkeys(claim.owner for claim in self.claims))


@cache
def load_claims() -> Ledger:
    """The ledger that comes with the package; `UserError` names file, claim and key of an invalid entry."""
    return read_ledger([FOLDER / name for name in _FILES])


_FILES = ("twitter.yaml", "tstorm.yaml", "rstorm.yaml", "nstorm.yaml", "mfstorm.yaml")


def read_ledger(files: Iterable[Traversable | Path]) -> Ledger:
    """Read the claims of these files, in this order; `UserError` as `load_claims`."""
    claims: list[Claim] = []
    for file in files:
        content = _parsed(file)
        if not isinstance(content, dict) or set(content) != {"paper", "claims"}:
            raise UserError("a claims file has the two keys paper and claims", field=file.name)
        for entry in content["claims"]:
            claims.append(_claim(entry, str(content["paper"]), file.name))
    return Ledger(tuple(claims))


def _parsed(file: Traversable | Path) -> Any:
    try:
        return yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"not readable as YAML ({error})", field=file.name) from error


# The C loader reads the ledger ten times faster; both accept the same files.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _claim(entry: Mapping[str, Any], paper: str, file: str) -> Claim:
    where = f"{file}: {entry.get('id', '?')}"
    check_keys("a claim", entry, _CLAIM_KEYS, _NEEDED, where)
    kind = member(Kind, entry["kind"], "kind", f"{where}.kind")
    unit = str(entry.get("unit", ""))
    untestable = str(entry.get("untestable", ""))
    order = tuple(parse_chain(text, where) for text in entry.get("order", ()))
    targets = _targets(entry, kind, unit, where)
    if entry.get("fitted") and entry.get("arithmetic"):
        raise UserError("a claim is fitted or arithmetic, not both", field=where)
    if (kind is Kind.ORDERING) != bool(order):
        raise UserError("an ordering, and only an ordering, has the key order", field=where)
    if not order and not targets and not untestable:
        message = "a claim needs a number, an order, or the reason why it cannot be tested"
        raise UserError(message, field=where)
    if order and targets:
        raise UserError("a claim states numbers or an order, not both", field=where)
    return Claim(
        **{key: entry[key] for key in _NEEDED if key != "kind"},
        **{key: str(entry.get(key, "")) for key in ("baseline", "note", "answered_by", "fitted")},
        paper=paper,
        unit=unit,
        kind=kind,
        targets=targets,
        order=order,
        arithmetic=bool(entry.get("arithmetic", False)),
        untestable=untestable,
    )


def _targets(entry: Mapping[str, Any], kind: Kind, unit: str, where: str) -> tuple[Target, ...]:
    total = bool(entry.get("total", False))
    if "targets" in entry:
        if _NUMBER_KEYS & entry.keys():
            raise UserError("give targets or expected/band/neutral, not both", field=where)
        return tuple(
            _target(label, {**part, "total": total}, kind, unit, f"{where}.{label}")
            for label, part in entry["targets"].items()
        )
    if "expected" in entry or "band" in entry:
        part = {key: entry[key] for key in _NUMBER_KEYS & entry.keys()}
        return (_target("", {**part, "total": total}, kind, unit, where),)
    return ()


def _target(label: str, part: Mapping[str, Any], kind: Kind, claim_unit: str, where: str) -> Target:
    check_keys("a number", part, _TARGET_KEYS, (), where)
    unit = str(part.get("unit", claim_unit))
    expected = _number(part.get("expected"), f"{where}.expected")
    band = part.get("band")
    if band is not None:
        if not isinstance(band, list) or len(band) != 2:
            raise UserError("a band has two ends, null for an open one", field=f"{where}.band", value=band)
        low, high = (_number(end, f"{where}.band") for end in band)
    elif expected is not None:
        low, high = band_by_rule(kind, unit, expected, total=bool(part.get("total")))
    else:
        raise UserError("a number needs an expected value or a band", field=where)
    neutral = _number(part["neutral"], f"{where}.neutral") if "neutral" in part else _neutral(kind, unit)
    target = Target(str(label), unit, expected, low, high, neutral)
    if low is None and high is None:
        raise UserError("a band must be closed on one side at least", field=f"{where}.band")
    if low is not None and high is not None and low > high:
        raise UserError(
            "the lower end of the band exceeds the upper", field=f"{where}.band", value=[low, high]
        )
    if expected is not None and not target.holds(expected):
        message = "the band does not contain the expected value"
        raise UserError(message, field=f"{where}.band", value=[low, expected, high])
    return target


def _neutral(kind: Kind, unit: str) -> float | None:
    """Default neutral value: 0 for a change in percent, 1 for a quotient, otherwise none."""
    if kind is not Kind.RATIO:
        return None
    return {"%": 0.0, "ratio": 1.0}.get(unit)


def parse_chain(text: str, where: str = "order") -> Chain:
    """Parse an order such as ``a < b <= 1``, with spaces between words; `UserError` for other forms."""
    words = str(text).split()
    names, signs = words[0::2], words[1::2]
    known = {relation.value for relation in Relation}
    if len(names) < 2 or len(names) != len(signs) + 1 or not set(signs) <= known or set(names) & known:
        remedy = "write names with <, <=, << or ~ between"
        raise UserError("not an order", field=where, value=text, remedy=remedy)
    if all(literal(name) is not None for name in names):
        raise UserError("an order of plain numbers measures nothing", field=where, value=text)
    return Chain(tuple(names), tuple(Relation(sign) for sign in signs))


def _number(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError("must be a number", field=where, value=value)
    return float(value)


def check_keys(
    noun: str, entry: Mapping[str, Any], known: set[str], needed: Iterable[str], where: str
) -> None:
    """Raise `UserError` if an entry of a YAML file has an unknown key, or nothing for a needed one."""
    unknown = sorted(set(entry) - known)
    if unknown:
        remedy = "one of " + ", ".join(sorted(known))
        raise UserError("unknown key", field=f"{where}.{unknown[0]}", remedy=remedy)
    for key in needed:
        if not entry.get(key):
            raise UserError(f"{noun} needs this key", field=f"{where}.{key}")


def member(kinds: type[_Name], value: Any, what: str, where: str) -> _Name:
    """The member of an enumeration that a YAML file names; `UserError` lists them if there is none."""
    try:
        return kinds(value)
    except ValueError as error:
        remedy = "one of " + ", ".join(kinds)
        raise UserError(f"unknown {what}", field=where, value=value, remedy=remedy) from error
