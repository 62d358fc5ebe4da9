"""Hand-made metric tables with the few columns that readings of Storm@Twitter's runs use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pandas as pd


def tables(**named: pd.DataFrame) -> Any:
    """Return an object with these tables as attributes."""
    return SimpleNamespace(**named)


def series(variant: str, seed: int, width_s: float, **columns: Sequence[float]) -> pd.DataFrame:
    """Rows of one run in bins of ``width_s`` from 0 on."""
    length = len(next(iter(columns.values())))
    return pd.DataFrame(
        {
            "variant": variant,
            "seed": seed,
            "t_s": [width_s * place for place in range(length)],
            "width_s": width_s,
            **columns,
        }
    )


def control(
    variant: str, seed: int, events: Sequence[tuple[float, str, str, str, Mapping[str, object]]]
) -> pd.DataFrame:
    """Control events: time, actor, action, subject, detail."""
    return pd.DataFrame(
        [
            {
                "variant": variant,
                "seed": seed,
                "time_s": time_s,
                "actor": actor,
                "action": action,
                "subject": subject,
                "detail": json.dumps(detail),
            }
            for time_s, actor, action, subject, detail in events
        ],
        columns=["variant", "seed", "time_s", "actor", "action", "subject", "detail"],
    )
