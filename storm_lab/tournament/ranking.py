"""Statistics of schedulers over many instances: ranks, and tests whether differences are significant.

An *instance* is a topology on machines. On each instance, schedulers are compared by one score, the mean over
paired seeds. Smaller is better, and infinity stands for a failure. The methods are those that Demsar
recommends for comparing several methods on several data sets (Journal of Machine Learning Research 7, 2006).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from storm_lab.errors import UserError

SIGNIFICANCE_LEVEL = 0.05
"""Significance level of all tests."""

LEAST_INSTANCES = 6
"""Fewest instances for Wilcoxon's test: with five, even a gain on each has p = 2 / 2^5 = 0.0625."""

TIE_TOLERANCE = 0.01
"""Largest relative difference of two scores on an instance that counts as a tie."""


@dataclass(frozen=True, slots=True)
class RankTest:
    """Friedman's test over instances, with Nemenyi's critical difference of mean ranks.

    ``mean_ranks`` is in order from the best (1 is the best rank). ``p_value`` is None where it cannot be
    computed: with fewer than three schedulers or two instances. Two schedulers whose mean ranks differ by
    more than ``critical_difference`` differ at the level of 5 %.
    """

    instances: int
    mean_ranks: Mapping[str, float]
    statistic: float | None
    p_value: float | None
    critical_difference: float | None

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of two or more schedulers, adjacent by rank, that do not differ; only the longest groups."""
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


@dataclass(frozen=True, slots=True)
class SignedRank:
    """Result of `signed_rank`: two-sided p value, and 1 if gains prevail, -1 if losses do, 0 if neither."""

    p_value: float
    direction: int


def ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Rank the schedulers (columns) on each instance (row), 1 for the smallest score; ties share a mean rank.

    Scores within `TIE_TOLERANCE` of each other are tied. All failures (infinite) are tied and come last.
    Raises `UserError` if a score is missing.
    """
    if scores.isna().to_numpy().any():
        raise UserError("a scheduler has no score on an instance", field="scores")
    return scores.apply(_row_ranks, axis=1)


def _row_ranks(row: pd.Series[float]) -> pd.Series[float]:
    groups: list[float] = []
    for value in sorted(row):
        # Compare with the first of the group, so that a chain of small steps is not a tie.
        first = groups[-1] if groups else math.nan
        near = math.isfinite(value) and value - first <= TIE_TOLERANCE * abs(first)
        if value != first and not near:
            groups.append(value)
    return pd.Series(np.searchsorted(groups, row, side="right"), row.index).rank()


def rank_test(scores: pd.DataFrame) -> RankTest:
    """Run Friedman's test and compute Nemenyi's critical difference; ``scores`` and errors as in `ranks`."""
    # Imported here because SciPy's statistics are slow to import and a help page does not need them.
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
        # The studentised range with infinite degrees of freedom, divided by the square root of two.
        q = float(stats.studentized_range.ppf(1 - SIGNIFICANCE_LEVEL, entrants, np.inf)) / math.sqrt(2)
        critical = q * math.sqrt(entrants * (entrants + 1) / (6 * instances))
    named = {str(name): float(value) for name, value in means.items()}
    return RankTest(instances, named, statistic, p_value, critical)


def win_tie_loss(scores: pd.DataFrame, own: str) -> pd.DataFrame:
    """Count the instances on which ``own`` is better than, equal to and worse than each other scheduler.

    The columns are against, wins, ties and losses.
    """
    rows = []
    for other in ranks(scores).mean().sort_values(kind="stable").index.drop(own):
        pair = ranks(scores[[own, other]])
        signs = np.sign(pair[other] - pair[own])
        rows.append((str(other), *((signs == sign).sum() for sign in (1, 0, -1))))
    return pd.DataFrame(rows, columns=["against", "wins", "ties", "losses"])


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values with Holm's step-down method; the order stays as given."""
    given = np.asarray(p_values, dtype=float)
    order = np.argsort(given, kind="stable")
    steps = np.arange(len(given), 0, -1) * given[order]
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(value) for value in adjusted]


def against_baseline(scores: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Compare each scheduler with the baseline: median gain, and Wilcoxon's test with Holm's method.

    Gains are ``100 * (1 - own / baseline)`` per instance, so more is better. Instances on which one of the
    two failed have no gain; in the test they count as the largest difference. Columns: scheduler, instances,
    gain_percent, low_percent and high_percent (quartiles), p_value, p_holm, differs. P values are empty for
    fewer than `LEAST_INSTANCES`, where no difference could be significant. Raises `UserError` if no scheduler
    has the baseline's name.
    """
    if baseline not in scores:
        remedy = f"there are: {', '.join(map(str, scores.columns))}"
        raise UserError("no scheduler has this name", field="baseline", value=baseline, remedy=remedy)
    rows = []
    for name in scores.columns.drop(baseline):
        own, base = scores[name], scores[baseline]
        with np.errstate(invalid="ignore"):
            gains = (100 * (1 - own / base)).mask(np.isinf(base), np.inf)
        gains = gains.mask(np.isinf(own) & np.isinf(base), 0.0)
        finite = gains[np.isfinite(gains)]
        low, median, high = finite.quantile([0.25, 0.5, 0.75])
        test = signed_rank(gains)
        p_value = float("nan") if test is None else test.p_value
        rows.append((str(name), len(finite), median, low, high, p_value))
    columns = ["scheduler", "instances", "gain_percent", "low_percent", "high_percent", "p_value"]
    table = pd.DataFrame(rows, columns=columns)
    tested = table["p_value"].notna()
    table["p_holm"] = float("nan")
    table.loc[tested, "p_holm"] = holm(table.loc[tested, "p_value"].tolist())
    table["differs"] = table["p_holm"] < SIGNIFICANCE_LEVEL
    return table


def signed_rank(gains: pd.Series[float]) -> SignedRank | None:
    """Run Wilcoxon's signed-rank test of gains, one per instance; None for fewer than `LEAST_INSTANCES`.

    Infinite gains count as the largest, and zeros are handled by Pratt's method.
    """
    from scipy import stats

    if len(gains) < LEAST_INSTANCES:
        return None
    finite = gains[np.isfinite(gains)].abs()
    far = (finite.max() if len(finite) else 0.0) + 1.0
    values = gains.replace({np.inf: far, -np.inf: -far})
    if (values == 0).all():
        return SignedRank(1.0, 0)
    balance = np.dot(values.abs().rank().to_numpy(), np.sign(values.to_numpy()))
    return SignedRank(float(stats.wilcoxon(values, zero_method="pratt").pvalue), int(np.sign(balance)))
