"""The measured quantities of a tournament, and the table that shows them with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from storm_lab.experiments.measurement import students_factor

MEASURES = {
    "complete_ms": "complete latency, ms",
    "p99_ms": "99th percentile, ms",
    "throughput": "tuples per second",
    "per_node": "tuples per second and node",
    "nodes": "nodes",
    "inter_node_percent": "between nodes, %",
    "excess_percent": "beyond the least, %",
    "moved": "executors moved",
    "transition_ms": "worst 10 s of a move, ms",
    "answer_ms": "scheduling time, ms",
    "measured_from_s": "measured from, s",
    "reassigned_s": "last re-assigned at, s",
}
"""Measured columns of a tournament's rows, with their meaning."""

_REASSIGNMENT_ONLY = ("transition_ms", "reassigned_s")
"""Quantities that only schedulers with re-assignments have."""

WIDTH = 110
"""Characters per line of a terminal."""


def averages(rows: pd.DataFrame) -> dict[str, float]:
    """Return each measure's mean over cases and, as ``<measure>_half``, half of its 95 % interval over runs.

    Each case has the same weight; the interval is that of the mean of the cases' means (Welch,
    Satterthwaite). It is empty if a case has a single run.
    """
    found: dict[str, float] = {}
    for measure in MEASURES:
        cases = rows.groupby("case")[measure].agg(["mean", "var", "count"])
        cases = cases[cases["count"] > 0]
        found[measure] = float(cases["mean"].mean())
        found[f"{measure}_half"] = _half_width(cases["var"] / cases["count"], cases["count"] - 1)
    return found


def _half_width(squares: pd.Series[float], freedom: pd.Series[int]) -> float:
    """Return half of the interval of a mean of means, from the squares of their standard errors."""
    if squares.empty or squares.isna().any():
        return math.nan
    total = float(squares.sum())
    if total == 0:
        return 0.0
    degrees = total**2 / float((squares**2 / freedom).sum())
    return students_factor(degrees) * math.sqrt(total) / len(squares)


def cases_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per case and scheduler: case, scheduler, seeds, losses, `averages` of other runs."""
    return pd.DataFrame(
        {"case": case, "scheduler": name, "seeds": own["seed"].nunique()}
        | {"losses": int((own["problem"] != "").sum())}
        | averages(own[own["problem"] == ""])
        for (case, name), own in rows.groupby(["case", "scheduler"], sort=False)
    )


def shared_cases(rows: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the cases without a loss, and the schedulers that are left out of this comparison.

    Only means over the same cases can be compared. A scheduler that loses more than half of the cases is left
    out, because it would otherwise remove these cases for all others.
    """
    lost = (rows["problem"] != "").groupby([rows["case"], rows["scheduler"]]).any().unstack()
    out = lost.mean() > 0.5
    shared = lost.index[~lost.loc[:, ~out].any(axis=1) & (not out.all())]
    return list(shared), [name for name in dict.fromkeys(rows["scheduler"]) if out[name]]


def entrants_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per scheduler, the index, with `averages` over the `shared_cases`.

    The average of a quantity covers only the cases in which all schedulers have it, except for quantities
    that only re-assignments have.
    """
    shared, out = shared_cases(rows)
    own = rows[rows["case"].isin(shared) & ~rows["scheduler"].isin(out)].copy()
    for measure in MEASURES:
        if measure not in _REASSIGNMENT_ONLY:
            measured = own[measure].notna().groupby([own["case"], own["scheduler"]]).any()
            incomplete = measured.index.get_level_values("case")[~measured]
            own.loc[own["case"].isin(incomplete), measure] = math.nan
    means = {name: averages(own[own["scheduler"] == name]) for name in dict.fromkeys(rows["scheduler"])}
    return pd.DataFrame.from_dict(means, orient="index")


def means_note(rows: pd.DataFrame) -> str:
    """Describe which cases the means of the table cover."""
    shared, out = shared_cases(rows)
    ignored = f" (not counting {', '.join(out)})" if out else ""
    cases = f"the {len(shared)} of {rows['case'].nunique()} cases without a loss{ignored}"
    return f"means over {cases} that have the quantity; ± 95 % over runs"


def cells(table: pd.DataFrame, labels: Mapping[str, str] = MEASURES) -> pd.DataFrame:
    """Return the columns of ``labels`` as texts under these labels, with the interval where there is one."""
    halves = {name: table.get(f"{name}_half", [math.nan] * len(table)) for name in labels}
    texts = {label: list(map(cell, table[name], halves[name])) for name, label in labels.items()}
    return pd.DataFrame(texts, index=table.index)


def cell(value: object, half: float = math.nan) -> str:
    """Format a number with three digits, or as many as its interval justifies; ``-`` if there is none."""
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "-"
    if math.isnan(half) or half == 0:
        text = f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
        return f"{text} ± 0" if half == 0 else text
    sizes = [digits - math.floor(math.log10(abs(x))) for x, digits in ((half, 1), (value, 3)) if x]
    digits = max(0, min(sizes))
    return f"{value:.{digits}f} ± {half:.{digits}f}"


def blocks(table: pd.DataFrame) -> Sequence[pd.DataFrame]:
    """Split a table of texts into parts with as many columns as fit side by side."""
    left = max(map(len, map(str, table.index)), default=0)
    found: list[list[str]] = [[]]
    used = left
    for name in table.columns:
        own = 2 + max(len(str(name)), *map(len, table[name]))
        if found[-1] and used + own > WIDTH:
            found.append([])
            used = left
        found[-1].append(name)
        used += own
    return [table[names] for names in found]


def printed(table: pd.DataFrame) -> str:
    """Format a table of texts for a terminal."""
    return "\n\n".join(part.to_string() for part in blocks(table))
