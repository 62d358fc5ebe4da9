"""Comparison of two schedulers: on each case by paired seeds, and over all cases."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from storm_lab.experiments.measurement import over_seeds
from storm_lab.tournament.quantities import cells, entrants_table, means_note, printed
from storm_lab.tournament.ranking import SIGNIFICANCE_LEVEL, TIE_TOLERANCE, SignedRank, signed_rank

BETTER, WORSE, EQUAL, UNCLEAR = "better", "worse", "equal", "unclear"


@dataclass(frozen=True)
class Comparison:
    """The comparison of scheduler A (``first``) with scheduler B (``second``).

    ``cases`` has one row per case: case, objective, a and b (the score in its own unit: milliseconds or
    tuples per second), gain_percent with low_percent and high_percent (95 % over paired seeds, positive where
    A is better), verdict and note. ``test`` is Wilcoxon's test over the mean gains of the cases, None for
    fewer than six. ``entrants`` has the quantities of both schedulers
    (`storm_lab.tournament.quantities.entrants_table`), and ``means`` says which cases they cover.
    """

    first: str
    second: str
    cases: pd.DataFrame
    test: SignedRank | None
    entrants: pd.DataFrame
    means: str

    @property
    def verdict(self) -> str:
        """The result in one sentence: who is better follows from the test; without one, from clear cases."""
        gains = self.cases["gain_percent"]
        counts = self.cases["verdict"].value_counts()
        better, worse = int(counts.get(BETTER, 0)), int(counts.get(WORSE, 0))
        finite = gains[np.isfinite(gains)]
        size = f", by {finite.median():+.1f} % in the median" if len(finite) else ""
        ahead = f"better on {(gains > 0).sum()} of {len(gains)} cases (clearly on {better})"
        on = f"{ahead} and worse on {(gains < 0).sum()} (clearly on {worse}){size}"
        direction, where = int(bool(better)) - int(bool(worse)), " on these few cases"
        if self.test is not None:
            direction = self.test.direction if self.test.p_value < SIGNIFICANCE_LEVEL else 0
            where, on = "", f"{on} (Wilcoxon over cases: p = {self.test.p_value:.2g})"
        if direction:
            word = "better" if direction > 0 else "worse"
            return f"{self.first} is {word} than {self.second}{where}: {on}"
        return f"neither {self.first} nor {self.second} is better overall: {self.first} is {on}"

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON objects. Infinite gains become null; the verdict says which it is."""
        return {
            "a": self.first,
            "b": self.second,
            "verdict": self.verdict,
            "p_value": None if self.test is None else self.test.p_value,
            "entrants": json.loads(self.entrants.to_json(orient="index")),
            "cases": json.loads(self.cases.to_json(orient="records")),
        }


def compared(rows: pd.DataFrame, first: str, second: str) -> Comparison:
    """Compare two schedulers of a tournament's rows."""
    found = [
        _case(str(case), own[own["scheduler"] == first], own[own["scheduler"] == second])
        for case, own in rows.groupby("case", sort=False)
    ]
    cases = pd.DataFrame(found)
    # Where both lost, neither gained.
    test = signed_rank(cases["gain_percent"].astype(float).fillna(0.0))
    return Comparison(first, second, cases, test, entrants_table(rows), means_note(rows))


def _case(case: str, one: pd.DataFrame, other: pd.DataFrame) -> dict[str, object]:
    objective = one["objective"].iloc[0]
    pair = one.set_index("seed")["score"].to_frame("a").join(other.set_index("seed")["score"].rename("b"))
    gain: float | None
    low = high = None
    note = ""
    lost_a, lost_b = (not np.isfinite(pair[side]).all() for side in ("a", "b"))
    if lost_a or lost_b:
        gain = math.nan if lost_a and lost_b else -math.inf if lost_a else math.inf
        verdict = UNCLEAR if lost_a and lost_b else WORSE if lost_a else BETTER
        # The first problem of each scheduler is enough on a page.
        problems = [next(filter(None, side["problem"]), "") for side in (one, other)]
        note = "; ".join(filter(None, problems))
    else:
        mean = over_seeds([float(value) for value in 100 * (1 - pair["a"] / pair["b"])])
        gain, low, high = mean.value, mean.low, mean.high
        assert gain is not None
        tie = 100 * TIE_TOLERANCE
        if low is None or high is None:
            verdict = UNCLEAR
        elif low > 0 or high < 0:
            verdict = EQUAL if abs(gain) < tie else BETTER if low > 0 else WORSE
        else:
            verdict = EQUAL if max(-low, high) < tie else UNCLEAR
    return {
        "case": case,
        "objective": objective,
        "a": _shown(pair["a"], objective),
        "b": _shown(pair["b"], objective),
        "gain_percent": gain,
        "low_percent": low,
        "high_percent": high,
        "verdict": verdict,
        "note": note,
    }


def _shown(scores: pd.Series[float], objective: str) -> float:
    """Return the mean score in the unit in which it was measured."""
    mean = float(scores.mean())
    if not math.isfinite(mean):
        return math.nan
    return mean if objective == "latency" else 1 / mean


def comparison_text(found: Comparison) -> str:
    """Return the comparison as a page of text."""
    lines = []
    for row in found.cases.to_dict("records"):
        gain, low, high = row["gain_percent"], row["low_percent"], row["high_percent"]
        lines.append(
            {
                "case": row["case"],
                found.first: _number(row["a"]),
                found.second: _number(row["b"]),
                "": "ms" if row["objective"] == "latency" else "tuples/s",
                "gain, %": f"{gain:+.1f}" if math.isfinite(gain) else "-",
                "95 %": "" if pd.isna(low) else f"{low:+.1f} to {high:+.1f}",
                found.first + " is": row["verdict"],
                "because": row["note"],
            }
        )
    table = pd.DataFrame(lines)
    if not table["because"].any():
        table = table.drop(columns="because")
    quantities = f"{printed(cells(found.entrants).T)}\n{found.means}"
    legend = f"gain: how much better {found.first} is, over paired seeds; equal: within {TIE_TOLERANCE:.0%}"
    return "\n\n".join((found.verdict, quantities, table.to_string(index=False), legend))


def _number(value: float) -> str:
    return "lost" if value != value else f"{value:.4g}"
