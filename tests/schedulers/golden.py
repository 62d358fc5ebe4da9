"""Compare answers with the recorded ones of Storm's own schedulers, case by case."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from storm_lab.model import StormVersion
from storm_lab.schedulers import make_scheduler
from storm_lab.schedulers.cases.case_format import read_case
from storm_lab.schedulers.cases.commands import answer_line

Workers = dict[str, list[list[Any]]]


def cases(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield Storm version, name and case for every version for which a case has an answer."""
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        for version in case["expected"]:
            yield version, case["name"], case


def answer(case: dict[str, Any], version: str) -> dict[str, dict[str, Any]]:
    """Topology id to ``slots`` and ``status``, in the shape of the recorded answers."""
    view = read_case(case, StormVersion.parse(version))
    result = make_scheduler(case["input"]["scheduler"]).schedule(view)
    found = json.loads(answer_line(case["name"], (view, result)))
    status = found["status"]
    return {t: {"slots": slots, "status": status[t]} for t, slots in found["assignments"].items()}


def every_executor(workers: Workers) -> object:
    """Exact view: each slot with its executors."""
    return {slot: sorted(rows) for slot, rows in workers.items()}


def components_per_slot(workers: Workers) -> object:
    """Number of executors of each component by slot; which ones they are is hash noise in Storm 2.x."""
    return {slot: Counter(row[2] for row in rows) for slot, rows in workers.items()}


def worker_contents_per_node(workers: Workers) -> object:
    """Contents of the workers by node; which port a worker gets is noise in the 1.0 recordings."""
    nodes: dict[str, list[tuple[tuple[str, int], ...]]] = {}
    for slot, rows in workers.items():
        contents = tuple(sorted(Counter(row[2] for row in rows).items()))
        nodes.setdefault(slot.rsplit(":", 1)[0], []).append(contents)
    return {node: sorted(workers) for node, workers in nodes.items()}


def without_numbers(status: str) -> str:
    """Status text with its numbers replaced."""
    return re.sub(r"\d+(\.\d+)?", "#", status)
