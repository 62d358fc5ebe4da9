"""The expected cost of reproducing an experiment, as measured once on the machine that wrote the table."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from storm_lab.machine.atomic_file import write_atomic

_TABLE = Path(__file__).with_name("expected.csv")
_COST = "cost.json"
_NOTEBOOKS_MOST = 4


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one core for emulations, Spark and notebook, and MB of run folders on disk."""

    emulation_s: float
    metrics_s: float
    notebook_s: float
    disk_mb: float


def notebooks_at_a_time(cores: int) -> int:
    """Number of processes that execute notebooks, one of which computes metrics first: one per core.

    At least 2 and at most 4: a kernel with its figures takes some hundred MB.
    """
    return max(2, min(cores, _NOTEBOOKS_MOST))


def write_cost(workspace: Path, cost: Cost) -> None:
    """Write the cost of a study into its workspace."""
    workspace.mkdir(parents=True, exist_ok=True)
    write_atomic(workspace / _COST, json.dumps(asdict(cost)) + "\n")


def read_cost(workspace: Path) -> Cost | None:
    """Cost of a study when it was last made from scratch; None if it was not recorded."""
    try:
        return Cost(**json.loads((workspace / _COST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_expected(costs: Mapping[str, Cost]) -> None:
    """Write the table that `expected_costs` reads."""
    lines = ["experiment,emulation_s,metrics_s,notebook_s,disk_mb"]
    for slug, cost in costs.items():
        lines.append(f"{slug}," + ",".join(f"{value:.1f}" for value in asdict(cost).values()))
    write_atomic(_TABLE, "\n".join(lines) + "\n")
    expected_costs.cache_clear()


@cache
def expected_costs() -> Mapping[str, Cost]:
    """Expected cost by experiment; an experiment newer than the table is missing."""
    with _TABLE.open(encoding="utf-8", newline="") as rows:
        return {
            row["experiment"]: Cost(**{name: float(row[name]) for name in Cost.__slots__})
            for row in csv.DictReader(rows)
        }


def cost_text(costs: Sequence[Cost], cores: int = 2) -> str:
    """Time on ``cores`` cores and disk space in words; empty without costs."""
    if not costs:
        return ""
    beside = min(cores, _NOTEBOOKS_MOST)
    seconds = sum(cost.emulation_s / cores + (cost.metrics_s + cost.notebook_s) / beside for cost in costs)
    disk = sum(cost.disk_mb for cost in costs)
    time = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    room = f"{disk:.0f} MB" if disk < 1000 else f"{disk / 1000:.1f} GB"
    return f"about {time} on {cores} core{'' if cores == 1 else 's'}, {room}"
