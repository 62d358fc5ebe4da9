"""Statistics of many schedulers on many instances: ranks, and which differences are more than chance.

An *instance* is a topology on machines. On each, schedulers are compared by one number, the mean over paired
seeds; smaller is better, and infinity stands for a failure. Methods are those that Demsar recommends for
comparing several methods on several data sets (Journal of Machine Learning Research 7, 2006).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from storm_lab.errors import UserError

LEVEL = 0.05
"""Level of all tests."""

TIE = 0.01
"""Scores on an instance that differ by no more than this part of the smaller one are a tie."""


@dataclass(frozen=True, slots=True)
class RankTest:
    """Friedman's test over instances, with Nemenyi's critical difference of mean ranks.

    ``mean_ranks`` has the best first (1 is the best rank). ``p_value`` is None where it cannot be computed:
    fewer than three schedulers or two instances. Two schedulers whose mean ranks differ by more than
    ``critical_difference`` differ at the level of 5 %.
    """

    instances: int
    mean_ranks: Mapping[str, float]
    statistic: float | None
    p_value: float | None
    critical_difference: float | None

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Runs of schedulers, by rank, that do not differ; longest ones only, those of one left out."""
        if self.critical_difference is None:
            return ()
        names, means = list(self.mean_ranks), list(self.mean_ranks.values())
        found: list[tuple[str, ...]] = []
        end = 0
        for start, best in enumerate(means):
            last = sum(rank - best <= self.critical_difference for rank in means) - 1
            if last > max(start, end):
                found.append(tuple(names[start : last + 1]))
                end = last
        return tuple(found)


def ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Rank of each scheduler (column) on each instance (row), 1 for the smallest score; equals share ranks.

    Scores within `TIE` of each other are equal; so are all failures (infinite), which come last.

    Raises:
        UserError: a score is missing.
    """
    if scores.isna().to_numpy().any():
        raise UserError("a scheduler has no score on an instance", field="scores")
    return scores.apply(_row_ranks, axis=1, result_type="expand").set_axis(scores.columns, axis=1)


def _row_ranks(row: pd.Series[float]) -> list[float]:
    values = row.to_numpy(dtype=float)
    order = np.argsort(values, kind="stable")
    found = np.empty(len(values))
    start = 0
    while start < len(order):
        stop = start + 1
        # Equal to the first of the group: a chain of small steps is no tie.
        while stop < len(order) and _equal(values[order[start]], values[order[stop]]):
            stop += 1
        found[order[start:stop]] = (start + 1 + stop) / 2
        start = stop
    return [float(rank) for rank in found]


def _equal(small: float, large: float) -> bool:
    return large == small or (math.isfinite(large) and large - small <= TIE * abs(small))


def rank_test(scores: pd.DataFrame) -> RankTest:
    """Friedman's test and Nemenyi's critical difference; ``scores`` and errors as in `ranks`."""
    # Here, for SciPy's statistics take long to import, and a help page needs none.
    from scipy import stats

    table = ranks(scores)
    means = table.mean().sort_values(kind="stable")
    instances, entrants = table.shape
    statistic = p_value = critical = None
    if entrants >= 3 and instances >= 2:
        if (table.nunique(axis=1) > 1).any():
            answer = stats.friedmanchisquare(*(table[name] for name in table.columns))
            statistic, p_value = float(answer.statistic), float(answer.pvalue)
        else:
            statistic, p_value = 0.0, 1.0
    if entrants >= 2 and instances >= 2:
        # Student's studentised range with infinite degrees of freedom, divided by the root of two.
        q = float(stats.studentized_range.ppf(1 - LEVEL, entrants, np.inf)) / math.sqrt(2)
        critical = q * math.sqrt(entrants * (entrants + 1) / (6 * instances))
    named = {str(name): float(value) for name, value in means.items()}
    return RankTest(instances, named, statistic, p_value, critical)


def win_tie_loss(scores: pd.DataFrame, own: str) -> pd.DataFrame:
    """Instances on which ``own`` is better than, equal to, worse than each: against, wins, ties, losses."""
    rows = []
    for other in ranks(scores).mean().sort_values(kind="stable").index.drop(own):
        pair = ranks(scores[[own, other]])
        rows.append(
            {
                "against": str(other),
                "wins": int((pair[own] < pair[other]).sum()),
                "ties": int((pair[own] == pair[other]).sum()),
                "losses": int((pair[own] > pair[other]).sum()),
            }
        )
    return pd.DataFrame(rows, columns=["against", "wins", "ties", "losses"])


def holm(p_values: Sequence[float]) -> list[float]:
    """P values adjusted by Holm's step-down method, in the order given."""
    given = np.asarray(p_values, dtype=float)
    order = np.argsort(given, kind="stable")
    steps = np.arange(len(given), 0, -1) * given[order]
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(value) for value in adjusted]


def against_baseline(scores: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Each scheduler against the baseline: median gain, and Wilcoxon's signed-rank test with Holm's method.

    Gains are ``100 * (1 - own / baseline)`` per instance, so that more is better; instances on which either
    failed have none, and count in the test as the largest difference there is. Columns: scheduler, instances,
    gain_percent, low_percent and high_percent (quartiles), p_value, p_holm, differs. P values are empty for
    fewer than five instances, of which no difference could be called one.

    Raises:
        UserError: no scheduler has the baseline's name.
    """
    if baseline not in scores:
        remedy = f"there are: {', '.join(map(str, scores.columns))}"
        raise UserError("no scheduler has this name", field="baseline", value=baseline, remedy=remedy)
    rows = []
    for name in scores.columns:
        if name == baseline:
            continue
        gains = _gains(scores[name], scores[baseline])
        finite = gains[np.isfinite(gains)]
        low, median, high = finite.quantile([0.25, 0.5, 0.75]) if len(finite) else [float("nan")] * 3
        rows.append(
            {
                "scheduler": str(name),
                "instances": len(finite),
                "gain_percent": median,
                "low_percent": low,
                "high_percent": high,
                "p_value": _signed_rank(gains),
            }
        )
    table = pd.DataFrame(
        rows, columns=["scheduler", "instances", "gain_percent", "low_percent", "high_percent", "p_value"]
    )
    tested = table["p_value"].notna()
    table["p_holm"] = float("nan")
    table.loc[tested, "p_holm"] = holm(table.loc[tested, "p_value"].tolist())
    table["differs"] = table["p_holm"] < LEVEL
    return table


def _gains(own: pd.Series[float], base: pd.Series[float]) -> pd.Series[float]:
    """Per cent; infinite where one of the two failed, 0 where both did."""
    with np.errstate(invalid="ignore"):
        gains = 100 * (1 - own / base)
    gains = gains.mask(np.isinf(base), np.inf)
    return gains.mask(np.isinf(own) & np.isinf(base), 0.0)


def _signed_rank(gains: pd.Series[float]) -> float:
    """P value of Wilcoxon's test, two-sided; zeros are shared out (Pratt)."""
    from scipy import stats

    if len(gains) < 5:
        return float("nan")
    finite = gains[np.isfinite(gains)].abs()
    far = (finite.max() if len(finite) else 0.0) + 1.0
    values = gains.replace({np.inf: far, -np.inf: -far})
    if (values == 0).all():
        return 1.0
    return float(stats.wilcoxon(values, zero_method="pratt").pvalue)
