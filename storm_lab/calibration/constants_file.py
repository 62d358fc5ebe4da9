"""Read and write ``calibration/constants.json``: the fitted constants, their targets and the residuals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from storm_lab.calibration.evaluation import Target
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.league.reader_site import with_constants
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.machine.places import data_folder, shipped
from storm_lab.model.constant import constants_of
from storm_lab.runs.live_constants import read_document

SCHEMA = "calibration/1"


def constants_path() -> Path:
    """Return the path to which a calibration writes its file."""
    return data_folder() / "calibration" / "constants.json"


def shipped_constants() -> Path:
    """Return the packaged file, from the calibration whose constants are in use."""
    return shipped("data/calibration/constants.json")


def write_fit(
    path: Path,
    values: Mapping[str, float],
    seed: int,
    targets: Sequence[Target],
    predicted: Mapping[str, float],
    code_digest: str,
) -> None:
    """Write fitted constants by name, and every target with its prediction; replaces the file as a whole."""
    known = {constant.name: constant for constant in constants_of(CostModel())}
    document = {
        "schema": SCHEMA,
        "source": "recordings of R-Storm's topologies, storm_lab/papers/rstorm/recordings.json",
        "seed": seed,
        "code_digest": code_digest,
        "constants": {
            name: {"value": value}
            | {key: getattr(known[name], key) for key in ("unit", "low", "high")}
            | {"targets": "all below"}
            for name, value in values.items()
        },
        "targets": [
            {
                "name": target.name,
                "unit": target.unit,
                "weight": round(target.weight, 3),
                "measured": float(f"{target.measured:.5g}"),
                "predicted": float(f"{predicted[target.name]:.5g}"),
                "residual_percent": round(100.0 * (predicted[target.name] / target.measured - 1.0), 1),
            }
            for target in targets
        ],
    }
    write_atomic(path, json.dumps(document, indent=1) + "\n")


def calibrated_cost(path: Path | None = None) -> CostModel:
    """Return the cost model with the constants of a calibration's file.

    Without a path, the file is that of the last calibration here, or else the packaged one.

    Raises:
        UserError: the file cannot be read or is of another kind, or it names an unknown constant or one
            without a value.
    """
    if path is None:
        path = constants_path() if constants_path().exists() else shipped_constants()
    remedy = "run storm-lab calibrate"
    document = read_document(path, SCHEMA, remedy)
    try:
        values = {name: float(entry["value"]) for name, entry in document["constants"].items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = "the file does not give the value of each constant"
        raise UserError(message, field="constants", value=str(path), remedy=remedy) from error
    cost: CostModel = with_constants(CostModel(), values, "constants")
    return cost
