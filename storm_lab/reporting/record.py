"""The verdict file of one experiment, and the verdicts of all of them.

``<folder>/<experiment>.json`` holds what was run (parameters, seeds, code digest), what was measured for each
claim, and the verdict on it. The verdicts in the file are for its reader: `collect_verdicts` judges the
measurements again, so that a corrected band needs no new run. The same record gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError
from storm_lab.experiments.cause import load_causes
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Basis, Measured, Measurement
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.reporting.tally import standing
from storm_lab.reporting.try_it import options_to_try
from storm_lab.reporting.verdict import Outcome, Verdict, judge, measured_text, reading_text

SCHEMA_VERSION = 1

Parameter = str | int | float | bool | None | Sequence[str | int | float]


@dataclass(frozen=True, slots=True)
class VerdictFile:
    """Content of a verdict file: the measurements of one experiment, and how they were made.

    ``seeds`` are those over which values and intervals were taken. ``code_digest`` is that of the code that
    produced the runs.
    """

    experiment: str
    parameters: Mapping[str, Parameter]
    seeds: tuple[int, ...]
    code_digest: str
    measurements: tuple[Measurement, ...]


def write_verdicts(folder: Path, record: VerdictFile) -> Path:
    """Write the verdict file of an experiment; a reader sees the old file or the new one, never a part.

    Raises `UserError` for a measurement that does not fit its claim or belongs to another experiment.
    """
    document = {
        "schema": SCHEMA_VERSION,
        "experiment": record.experiment,
        "parameters": {name: record.parameters[name] for name in sorted(record.parameters)},
        "seeds": list(record.seeds),
        "code_digest": record.code_digest,
        "claims": [_claim_json(verdict) for verdict in _judged(record)],
    }
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    path = folder / f"{record.experiment}.json"
    write_atomic(path, text + "\n")
    return path


def _judged(record: VerdictFile) -> tuple[Verdict, ...]:
    """Verdicts on the measured claims, in ledger order."""
    ledger = load_claims()
    measured = {ledger.claim(measurement.claim_id).id for measurement in record.measurements}
    answered = [claim for claim in ledger.claims if claim.id in measured]
    for claim in answered:
        if claim.owner != record.experiment:
            message = f"the claim belongs to {claim.owner}"
            raise UserError(message, field="experiment", value=record.experiment)
    return judged([claim.id for claim in answered], record.measurements)


def judged(claims: Sequence[str], measurements: Sequence[Measurement]) -> tuple[Verdict, ...]:
    """A verdict on each of the claims; "not run" if it was not measured.

    Raises `UserError` if a claim is measured twice under the same reading.
    """
    ledger, found = load_claims(), dict[str, dict[str, Measurement]]()
    for measurement in measurements:
        readings = found.setdefault(measurement.claim_id, {})
        if measurement.reading in readings:
            message = "the claim is measured twice"
            raise UserError(message, field=measurement.claim_id, value=measurement.reading or "own setting")
        readings[measurement.reading] = measurement
    verdicts = []
    for claim in claims:
        # That of the experiment's own setting has no reading.
        readings = dict(found.get(claim, {}))
        verdicts.append(judge(ledger.claim(claim), readings.pop("", None), tuple(readings.values())))
    return tuple(verdicts)


def _claim_json(verdict: Verdict) -> dict[str, Any]:
    measurement = verdict.measurement
    values = [] if measurement is None else measurement.values
    columns = ("label", "value", "low", "high", "seeds")
    return {
        "id": verdict.claim.id,
        "verdict": verdict.outcome.value,
        "reason": verdict.reason,
        "basis": verdict.basis.value,
        "unit": verdict.claim.unit,
        "how": "" if measurement is None else measurement.how,
        "values": [{name: getattr(value, name) for name in columns} for value in values],
        **({"reading": verdict.reading} if verdict.reading else {}),
        **({"readings": [_claim_json(each) for each in verdict.readings]} if verdict.readings else {}),
    }


def read_verdicts(path: Path) -> VerdictFile:
    """Read a verdict file; `UserError` if unreadable, incomplete, or of another schema version."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, f"not a verdict file ({error})") from error
    version = content.get("schema") if isinstance(content, dict) else None
    if version != SCHEMA_VERSION:
        raise _damaged(path, f"verdict file of schema version {version}, not {SCHEMA_VERSION}")
    try:
        return VerdictFile(
            experiment=str(content["experiment"]),
            parameters=content["parameters"],
            seeds=tuple(int(seed) for seed in content["seeds"]),
            code_digest=str(content["code_digest"]),
            measurements=tuple(
                _measurement(each)
                for entry in content["claims"]
                for each in (entry, *entry.get("readings", ()))
                if each["values"]
            ),
        )
    except UserError as error:
        raise _damaged(path, f"the verdict file has a wrong value ({error})") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"the verdict file is incomplete ({error!r})") from error


def _damaged(path: Path, why: str) -> UserError:
    return UserError(why, field=path.name, remedy="run the experiment again")


def _measurement(entry: Mapping[str, Any]) -> Measurement:
    values = tuple(
        Measured(value["value"], value["low"], value["high"], str(value["label"]), int(value.get("seeds", 0)))
        for value in entry["values"]
    )
    reading = str(entry.get("reading", ""))
    basis = Basis(entry["basis"]) if reading else None
    return Measurement(str(entry["id"]), values, str(entry["unit"]), str(entry["how"]), reading, basis)


def collect_verdicts(folder: Path) -> tuple[Verdict, ...]:
    """One verdict for each claim of the ledger, in ledger order; "not run" if nothing was measured.

    Raises `UserError` for a verdict file that is damaged, whose name is not that of its experiment, or that
    measures a claim that its experiment does not own.
    """
    found: dict[str, Verdict] = {}
    for path in sorted(folder.glob("[!.]*.json")):
        record = read_verdicts(path)
        if path.stem != record.experiment:
            message = f"the file holds the verdicts of {record.experiment}"
            raise UserError(message, field=path.name, remedy="remove it or give it the experiment's name")
        found |= {verdict.claim.id: verdict for verdict in _judged(record)}
    return tuple(found.get(claim.id) or judge(claim, None) for claim in load_claims().claims)


def claim_rows(verdicts: Sequence[Verdict]) -> list[dict[str, str]]:
    """The rows that ``storm-lab claims --json`` prints, one per claim, all values as text.

    ``experiment`` is the paper's; another may answer the claim. ``reading`` has the results under other
    readings, ``trial`` the options of ``storm-lab run`` to try.
    """
    rows = []
    for verdict in verdicts:
        claim = verdict.claim
        cause = None if verdict.outcome is Outcome.REPRODUCED else load_causes().get(claim.id)
        row = {name: getattr(claim, name) for name in ("id", "paper", "experiment")} | {
            "expected": claim.expected_text,
            "band": claim.band_text,
            "measured": measured_text(verdict),
            "verdict": verdict.outcome.value,
            "basis": verdict.basis.value,
            "reason": verdict.reason,
            "standing": standing(verdict, cause).value,
            "cause": cause.why if cause else "",
            "class": cause.kind.value if cause else "",
            "trial": options_to_try(verdict, cause),
            "reading": "; ".join(reading_text(each) for each in verdict.readings),
        }
        rows.append(row)
    return rows
