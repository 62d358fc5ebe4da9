"""The comparison as tables, as text and as a document, with reasons for its errors (``misses.yaml``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Any

import pandas as pd
import yaml

from storm_lab.live.suite.compare import (
    FACTORS,
    KIND_OF,
    MISSED,
    WIDEST,
    Compared,
    Row,
    Trust,
    factors_of,
    rounded,
)
from storm_lab.live.suite.measure import LEAST_WINDOWS
from storm_lab.live.suite.scene import Half, Measure
from storm_lab.live.suite.sittings import SITTINGS

UNKNOWN = "Reason unknown."


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some measures of some scenes differ from real Storm; scenes are patterns as of file names.

    ``machines``: the machines for which it holds; empty for all.
    """

    scenes: Sequence[str]
    measures: Sequence[Measure]
    why: str
    machines: Sequence[str] = ()

    def covers(self, scene: str, measure: Measure, machine: str = "") -> bool:
        """Return whether it applies to a measure of a scene on a machine."""
        here = not self.machines or machine in self.machines
        return here and measure in self.measures and any(fnmatchcase(scene, each) for each in self.scenes)


@cache
def reasons() -> tuple[Reason, ...]:
    """Return all reasons, in the order in which they are tried."""
    text = (resources.files("storm_lab.live.suite") / "misses.yaml").read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    return tuple(Reason(**{**each, "measures": tuple(map(Measure, each["measures"]))}) for each in found)


def is_missed(each: Compared) -> bool:
    """Return whether a value's error is larger than its goal."""
    return each.factor is not None and each.factor > (KIND_OF[each.measure].goal or MISSED)


def why_missed(row: Row, each: Compared) -> str:
    """Return the first reason for a missed value of a scene; empty if the value is not missed."""
    if not is_missed(each):
        return ""
    covering = (reason.why for reason in reasons() if reason.covers(row.name, each.measure, row.machine))
    return next(covering, UNKNOWN)


def missed(rows: Iterable[Row]) -> list[tuple[Row, Compared]]:
    """Return the missed values, the largest error first."""
    found = [(row, each) for row in rows for each in row.compared if is_missed(each)]
    return sorted(found, key=lambda pair: -(pair[1].factor or 0.0))


def misses_table(trust: Trust) -> pd.DataFrame:
    """Return a row for each missed predicted value with its reason, the largest error first."""
    found = missed(trust.predicted)
    rows = [(row.label, each.measure.value, each.factor, why_missed(row, each)) for row, each in found]
    return pd.DataFrame(rows, columns=["scene", "measure", "factor", "why"])


def misses_text(table: pd.DataFrame) -> str:
    """Return the reasons as a Markdown list, each with the values that it explains."""
    lines = []
    for why, own in table.groupby("why", sort=False):
        values = ", ".join(own["scene"] + " (" + own["measure"] + ")")
        lines.append(f"- {why} *{values}*")
    return "\n".join(lines) or "No misses."


RULE = (
    f"A measurement is unusable, in either half, if its 95 % interval is wider than a factor of {WIDEST:g} "
    f"or reaches zero, or if in fewer than {LEAST_WINDOWS} seconds no host was starved of CPU."
)
"""The rule by which measurements are left out, so that nobody chooses."""

_AGREES = {True: "as real Storm", False: "opposite order", None: "not distinguishable"}


def factors_table(trust: Trust) -> pd.DataFrame:
    """Return the median factors of error by half, with their goals and numbers of values."""
    rows = []
    for name, kind in FACTORS.items():
        row: list[object] = [kind.title, kind.goal]
        for half in (Half.PREDICTED, Half.CALIBRATES):
            row += [trust.factor(name, half), len(factors_of(name, trust.half(half)))]
        rows.append(row)
    columns = ["median factor of", "goal", "predicted scenes", "values", "calibrating scenes", "values "]
    return pd.DataFrame(rows, columns=columns)


def machines_table(trust: Trust) -> pd.DataFrame:
    """Return the median factors of error over each machine's predicted scenes, and its wrong orderings."""
    rows = []
    for machine in trust.machines:
        own = trust.on(machine)
        distinguishable = sum(each.agrees is not None for each in own.orderings)
        factors = [own.factor(name) for name in FACTORS]
        rows.append((machine, len(own.predicted), *factors, f"{len(own.wrong)} of {distinguishable}"))
    columns = ["machine", "predicted scenes", *(kind.title for kind in FACTORS.values()), "orderings wrong"]
    return pd.DataFrame(rows, columns=columns)


def scenes_table(trust: Trust) -> pd.DataFrame:
    """Return a row for each measure of each compared scene; unusable ones have a reason and no numbers."""
    return pd.DataFrame(
        {
            "scene": row.label,
            "half": row.half.value,
            "measure": each.measure.value,
            "unit": KIND_OF[each.measure].unit,
            "measured": rounded(measured),
            "low": rounded(measured, "low"),
            "high": rounded(measured, "high"),
            "predicted": rounded(each.predicted),
            "predicted low": rounded(each.predicted, "low"),
            "predicted high": rounded(each.predicted, "high"),
            "factor": each.factor,
            "unusable": each.unusable,
        }
        for row in trust.rows
        for each in row.compared
        for measured in [None if each.unusable else each.measured]
    )


def threads_table(trust: Trust) -> pd.DataFrame:
    """Return CPU per tuple by kind of thread in us, "real / emulated", for each scene compared by CPU.

    The sum may agree where kinds do not: one counts an idle wait under a thread of its own, the other under
    housekeeping.
    """
    rows = {
        row.label: {kind: f"{real:.0f} / {played:.0f}" for kind, (real, played) in row.threads.items()}
        for row in trust.rows
        if row.threads
    }
    kinds = ["main", "send", "transfer", "receive", "housekeeping", "collector"]
    return pd.DataFrame.from_dict(rows, "index").reindex(columns=kinds).rename_axis("scene").reset_index()


def unusable_table(trust: Trust) -> pd.DataFrame:
    """Return the number of unusable measurements, by reason and half."""
    found = [(each.unusable, row.half.value) for row in trust.recorded for each in row.compared]
    frame = pd.DataFrame([pair for pair in found if pair[0]], columns=["why", "half"])
    table = frame.groupby(["why", "half"], sort=True).size().unstack("half", fill_value=0)
    halves = [half.value for half in Half]
    return table.reindex(columns=halves, fill_value=0).rename_axis(columns=None).reset_index()


def orderings_table(trust: Trust) -> pd.DataFrame:
    """Return a row for each pair of placements that the suite compares."""
    columns = ["machine", "measure", "one", "other", "the emulator"]
    rows = [(o.machine, o.measure.value, o.one, o.other, _AGREES[o.agrees]) for o in trust.orderings]
    return pd.DataFrame(rows, columns=columns)


def trust_lines(trust: Trust) -> Iterator[str]:
    """Yield the comparison as text: single scenes, then orderings, then totals and medians."""
    columns = f"{'real Storm':>10} {'95 % interval':>18} {'emulator':>9} factor"
    yield _line("", "half", "measure", "unit", columns)
    plays = groupby(trust.recorded, key=lambda row: (row.machine, row.sitting, row.storm))
    for (machine, sitting, storm), rows in plays:
        yield ""
        yield f"{SITTINGS[sitting].title}, Storm {storm}{machine and ', ' + machine}"
        for row in rows:
            name, half = row.name.rpartition("@")[0], row.half.value
            for each in row.compared:
                yield _line(name, half, each.measure.value, KIND_OF[each.measure].unit, _columns_text(each))
                name = half = ""
    yield from _orderings(trust)
    yield from _sum(trust)


def _line(name: str, half: str, measure: str, unit: str, columns: str) -> str:
    return f"  {name:27} {half:10} {measure:10} {unit:8} {columns}".rstrip()


def _columns_text(each: Compared) -> str:
    predicted, spread = "-", ""
    if each.predicted is not None:
        predicted = f"{each.predicted.value:.4g}"
        if each.measure is Measure.CONTROL:
            spread = f"  ({each.predicted.low:.4g} to {each.predicted.high:.4g})"
    if each.measured is None or each.unusable:
        return f"unusable: {each.unusable}"
    interval = f"{each.measured.low:.4g} to {each.measured.high:.4g}" if each.measured.count > 1 else ""
    factor = "-" if each.factor is None else f"{each.factor:.2f}"
    return f"{each.measured.value:10.4g} {interval:>18} {predicted:>9} {factor:>6}{spread}"


def _orderings(trust: Trust) -> Iterator[str]:
    distinguishable = [each for each in trust.orderings if each.agrees is not None]
    yield ""
    yield f"Better of two placements: wrong in {len(trust.wrong)} of {len(distinguishable)} pairs that differ"
    for each in trust.wrong:
        pair = f"{each.machine} {each.one}".strip()
        yield f"  {pair} against {each.other}, by {each.measure.value}: opposite order"


def _sum(trust: Trust) -> Iterator[str]:
    yield ""
    unusable = sum(bool(each.unusable) for row in trust.recorded for each in row.compared)
    measures = sum(len(row.compared) for row in trust.recorded)
    compared = f"{len(trust.rows)} compared, {len(trust.predicted)} predicted"
    yield f"{len(trust.recorded)} scenes recorded, {compared}"
    yield f"{unusable} of {measures} measurements unusable. {RULE}"
    yield ""
    yield f"{'median factor of error (1 = equal)':36} {'predicted':>18} {'goal':>6} {'calibrating':>18}"
    for name, kind in FACTORS.items():
        goal = "-" if kind.goal is None else f"{kind.goal:.2f}"
        yield (
            f"  {kind.title:34} {_median(trust, name, Half.PREDICTED):>18} {goal:>6} "
            f"{_median(trust, name, Half.CALIBRATES):>18}"
        )


def _median(trust: Trust, name: str, half: Half) -> str:
    value = trust.factor(name, half)
    return "-" if value is None else f"{value:.2f} of {len(factors_of(name, trust.half(half)))} values"


def report_document(trust: Trust, machine: str) -> dict[str, Any]:
    """Return the comparison's document with medians of both halves, the rule, and reasons for misses.

    ``machine`` is a description of the machine in words.
    """
    return {
        **trust.document(),
        "machine": machine,
        "rule": RULE,
        "measures": sum(len(row.compared) for row in trust.recorded),
        "factors": [_factor(trust, name) for name in FACTORS],
        "machines": [
            {
                "machine": name,
                "predicted_scenes": len(trust.on(name).predicted),
                "orderings_wrong": len(trust.on(name).wrong),
                "factors": [_factor(trust.on(name), kind) for kind in FACTORS],
            }
            for name in trust.machines
        ],
        "misses": [
            {
                "scene": row.name,
                "machine": row.machine,
                "half": row.half.value,
                "measure": each.measure.value,
                "factor": each.factor,
                "why": why_missed(row, each),
            }
            for row, each in missed(trust.rows)
        ],
    }


def _factor(trust: Trust, name: str) -> dict[str, Any]:
    """Return a kind of measure with its goal, and the median and number of values of each half."""
    halves = {
        half.value: {"median": trust.factor(name, half), "values": len(factors_of(name, trust.half(half)))}
        for half in Half
    }
    return {"kind": FACTORS[name].title, "goal": FACTORS[name].goal, **halves}
