"""The report's section that compares the emulator with real Storm, read from its notebook's document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError
from storm_lab.model.grouped import grouped

EXPERIMENT = "live-trust"
"""Experiment that writes the document."""

_KEYS = (
    "scenes", "predicted_scenes", "orderings_wrong", "orderings_told", "unusable_measures", "measures",
    "machine", "machines", "rule", "factors", "rows", "unusable", "orderings", "misses",
)  # fmt: skip


def read_trust(reports: Path) -> dict[str, Any] | None:
    """Read the section; None if nothing was compared yet; `UserError` if the document is damaged.

    The section has the ``document`` (counts, medians and orderings, as compared), ``groups`` (sittings on
    each machine with the rows of their scenes), and ``reasons`` (why predicted values are missed, with those
    values; the reason of the largest miss first).
    """
    path = reports / "documents" / f"{EXPERIMENT}.json"
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in _KEYS if key not in document]
        if missing:
            raise ValueError(f"it lacks {missing[0]}")
        misses = [miss for miss in document["misses"] if miss["half"] == "predicted"]
        return {
            "document": document,
            "groups": grouped([*document["rows"], *document["unusable"]], _played),
            "reasons": grouped(misses, lambda miss: str(miss["why"])),
        }
    except (OSError, ValueError, TypeError, KeyError) as error:
        message = f"not a document of the comparison with real Storm ({error})"
        raise UserError(message, field=path.name, remedy=f"run: storm-lab reproduce {EXPERIMENT}") from error


def _played(row: Mapping[str, Any]) -> str:
    played = f"{row['sitting']}, Storm {row['storm']}"
    return f"{row['machine']}: {played}" if row["machine"] else played
