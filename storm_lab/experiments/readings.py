"""Readings: the ways in which experiments take numbers from the metric tables.

The tables are those of `storm_lab.pipeline.metric_tables.MetricTables`. Every reading returns one value per
seed, in the order of the seeds, so that an interval over seeds can be computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast
from weakref import ref

import pandas as pd

from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Measured, Measurement, over_seeds
from storm_lab.experiments.parameter import Parameters


class Tables(Protocol):
    """Metric tables by name, as in the pipeline's `MetricTables`, for the measures of the papers."""

    def __getattr__(self, name: str) -> pd.DataFrame: ...


Samples = list[float | None]
"""One value per seed, in the order of the seeds; None for a seed without it."""

Measure = Callable[[Tables, Parameters], tuple[Measurement, ...]]
"""Function that measures claims."""


@dataclass(frozen=True)
class _View:
    """Tables of which only some rows are visible."""

    tables: Tables
    select: Callable[[pd.DataFrame], pd.DataFrame]
    unfiltered: Collection[str] = ()

    def __getattr__(self, name: str) -> pd.DataFrame:
        found = getattr(self.tables, name)
        found = found if name in self.unfiltered else self.select(found)
        # Cached, because measures ask for the same table again and again.
        self.__dict__[name] = found
        return found


def part_of(tables: Tables, experiment: str) -> Tables:
    """The rows of ``experiment`` if several share runs: variant and seed name a run only within one."""
    return _View(tables, lambda table: table[table["experiment"] == experiment])


def of_seeds(tables: Tables, seeds: Sequence[int]) -> Tables:
    """The rows of these seeds, for figures that state them: variants that settle a claim have more seeds."""
    return _View(tables, lambda table: table[table["seed"].isin(seeds)])


def under_reading(tables: Tables, tag: str, keep: Sequence[str] = ()) -> Tables:
    """The rows of another reading: those of variants that end with ``tag``, with the tag removed.

    ``keep`` names variants that the reading does not change.
    """

    def select(table: pd.DataFrame) -> pd.DataFrame:
        chosen = table[table["variant"].str.endswith(tag) | table["variant"].isin(keep)]
        return chosen.assign(variant=chosen["variant"].str.removesuffix(tag))

    return _View(tables, select)


def without_runs(tables: Tables, left_out: Callable[[str], bool], unfiltered: Collection[str]) -> Tables:
    """The tables without the rows of variants that are ``left_out``; tables ``unfiltered`` stay complete."""

    def select(table: pd.DataFrame) -> pd.DataFrame:
        return table[~table["variant"].isin([name for name in table["variant"].unique() if left_out(name)])]

    return _View(tables, select, unfiltered)


def of_run(table: pd.DataFrame, variant: str, seed: int) -> pd.DataFrame:
    """The rows of one run."""
    known = _places.get(id(table))
    if known is None or known[0]() is not table:
        # Measures ask the same table for every run; comparing names row by row would take most of their time.
        forget = partial(_places.pop, id(table))
        known = (ref(table, lambda _: forget(None)), table.groupby(["variant", "seed"]).indices)
        _places[id(table)] = known
    places: Mapping[Any, Any] = known[1]
    return table.take(places.get((variant, seed), []))


_places: dict[int, tuple[ref[pd.DataFrame], Mapping[Any, Any]]] = {}
"""Positions of the rows of each run, by table that has been asked for."""


def details(events: pd.DataFrame) -> list[dict[str, Any]]:
    """The further facts of control events, in the order of the rows."""
    return [json.loads(str(detail) or "{}") for detail in events["detail"]]


def by_seed(
    table: pd.DataFrame, variant: str, seeds: Sequence[int], read: Callable[[pd.DataFrame], float | None]
) -> Samples:
    """Apply ``read`` to the rows of each run; None for a seed without rows."""
    runs = [of_run(table, variant, seed) for seed in seeds]
    return [read(rows) if len(rows) else None for rows in runs]


def mean_over(
    table: pd.DataFrame,
    column: str,
    variant: str,
    seeds: Sequence[int],
    *,
    from_s: float,
    to_s: float = float("inf"),
    weight: str = "tuples",
) -> Samples:
    """Mean of ``column`` over all tuples of the bins from ``from_s`` to ``to_s``.

    The means of the bins are weighted with ``weight``, so that the result is the mean over tuples; None for a
    seed without tuples.
    """

    def mean(rows: pd.DataFrame) -> float | None:
        rows = rows[(rows["t_s"] >= from_s) & (rows["t_s"] < to_s)].dropna(subset=[column]).sort_values("t_s")
        tuples = int(rows[weight].sum())
        return float((rows[column] * rows[weight]).sum()) / tuples if tuples else None

    return by_seed(table, variant, seeds, mean)


def value_of(table: pd.DataFrame, column: str, variant: str, seeds: Sequence[int]) -> Samples:
    """A quantity that has one value per run; None for a seed without it."""

    def first(rows: pd.DataFrame) -> float | None:
        known = rows[column].dropna()
        return float(cast(float, known.iloc[0])) if len(known) else None

    return by_seed(table, variant, seeds, first)


def per_seed(combine: Callable[..., float | None], *samples: Sequence[Any]) -> Samples:
    """Combine the values of each seed; None for a seed that lacks one of them."""
    return [None if None in values else combine(*values) for values in zip(*samples, strict=True)]


def quotients(new: Sequence[float | None], old: Sequence[float | None]) -> Samples:
    """``new / old`` seed by seed; None if either is missing or ``old`` is 0."""
    return per_seed(lambda a, b: a / b if b > 0 else None, new, old)


def changes(new: Sequence[float | None], old: Sequence[float | None]) -> Samples:
    """``100 * (new / old - 1)`` seed by seed, in percent: the usual meaning of "x % higher"."""
    return per_seed(lambda ratio: 100 * (ratio - 1), quotients(new, old))


def reductions(new: Sequence[float | None], old: Sequence[float | None]) -> Samples:
    """``100 * (1 - new / old)`` seed by seed, in percent: what T-Storm calls speedup."""
    return per_seed(lambda ratio: 100 * (1 - ratio), quotients(new, old))


def measured(samples: Sequence[float | None], *, label: str = "") -> Measured:
    """Mean and interval over seeds; no value if a seed has none, because the event did not always happen."""
    known = [sample for sample in samples if sample is not None]
    if known and len(known) == len(samples):
        return over_seeds(known, label=label)
    return Measured(None, label=label, seeds=len(known))


def measurement(
    claim: str, samples: Sequence[float | None] | Mapping[str, Sequence[float | None]], *, how: str
) -> Measurement:
    """Measurement of a claim in its unit, from samples or, if it has several numbers or an order, by label.

    Raises `UserError` if the ledger has no such claim.
    """
    by_label = samples if isinstance(samples, Mapping) else {"": samples}
    values = tuple(measured(own, label=label) for label, own in by_label.items())
    return Measurement(claim, values, load_claims().claim(claim).unit, how)


def calculated(claim: str, value: float | Mapping[str, float | None] | None, *, how: str) -> Measurement:
    """Measurement as in `measurement`, from values that do not depend on the seed."""
    by_label = value if isinstance(value, Mapping) else {"": value}
    values = tuple(Measured(own, label=label) for label, own in by_label.items())
    return Measurement(claim, values, load_claims().claim(claim).unit, how)
