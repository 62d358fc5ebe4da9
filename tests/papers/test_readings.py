"""Readings of metric tables: means over tuples, reductions, and missing values."""

from types import SimpleNamespace

import pandas as pd
import pytest

from storm_lab.errors import UserError
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import (
    calculated,
    changes,
    mean_over,
    measured,
    measurement,
    of_seeds,
    reductions,
    value_of,
)
from storm_lab.experiments.trial import Trial, explained

BINS = pd.DataFrame(
    {
        "variant": ["a", "a", "a", "b"],
        "seed": [1, 1, 2, 1],
        "t_s": [0.0, 10.0, 10.0, 10.0],
        "tuples": [9, 1, 4, 2],
        "ms": [1.0, 11.0, 5.0, 8.0],
    }
)


def test_means_are_over_tuples_not_over_bins() -> None:
    assert mean_over(BINS, "ms", "a", [1, 2], from_s=0) == [2.0, 5.0]


def test_windows_begin_and_end_with_their_bins() -> None:
    assert mean_over(BINS, "ms", "a", [1], from_s=10) == [11.0]
    assert mean_over(BINS, "ms", "a", [1], from_s=0, to_s=10) == [1.0]


def test_a_seed_without_tuples_has_no_mean() -> None:
    assert mean_over(BINS, "ms", "a", [1, 2], from_s=20) == [None, None]
    assert mean_over(BINS, "ms", "b", [1, 2], from_s=0) == [8.0, None]


def test_reductions_are_percent_of_the_old_value() -> None:
    new, old = [16.0, 3.0, None, 1.0, 1.0], [32.0, 2.0, 2.0, None, 0.0]
    assert reductions(new, old) == [50.0, -50.0, None, None, None]
    assert changes(new, old) == [-50.0, 50.0, None, None, None]


def test_missing_values_and_missing_runs_are_none() -> None:
    table = pd.DataFrame({"variant": ["a", "a"], "seed": [1, 2], "nodes": [7.0, float("nan")]})
    assert value_of(table, "nodes", "a", [1, 2, 3]) == [7.0, None, None]


def test_a_quantity_that_any_seed_lacks_is_not_measured() -> None:
    assert measured([1.0, None]).value is None
    assert measured([]).value is None
    both = measured([1.0, 3.0], label="x")
    assert (both.value, both.label) == (pytest.approx(2.0), "x")
    assert both.low is not None and both.low < 1.0


def test_measurements_are_in_the_units_of_their_claims() -> None:
    speed = measurement("tstorm-fig6a-speedup", [40.0, 50.0], how="h")
    assert (speed.unit, speed.value().value, speed.value().seeds) == ("%", 45.0, 2)
    nodes = calculated("tstorm-fig5b-nodes", 7, how="h")
    assert (nodes.unit, nodes.value().value, nodes.value().seeds) == ("nodes", 7, 0)
    for claim in load_claims().claims:
        labels = claim.labels or ("",)
        values = tuple(measured([1.0], label=label) for label in labels)
        samples = {label: [1.0] for label in labels}
        assert measurement(claim.id, samples, how="h") == Measurement(claim.id, values, claim.unit, "h")
        assert calculated(claim.id, dict.fromkeys(labels, 1.0), how="h").unit == claim.unit
    with pytest.raises(UserError, match="no such claim"):
        measurement("tstorm-fig6z", [1.0], how="h")


def test_a_reading_is_measured_on_its_own_runs_and_on_those_that_it_leaves_unchanged() -> None:
    rows = pd.DataFrame(
        [("old", 1, 10.0), ("new", 1, 20.0), ("old-slow", 1, 5.0)], columns=["variant", "seed", "ms"]
    )
    tables = SimpleNamespace(runs=rows)

    def quotient(found: object, parameters: Parameters) -> tuple[Measurement, ...]:
        new, old = (value_of(found.runs, "ms", name, [1])[0] for name in ("new", "old"))  # type: ignore[attr-defined]
        values = (measured([None if new is None or old is None else new / old]),)
        return tuple(Measurement(claim, values, "ratio", "new / old") for claim in ("a", "b"))

    def found(*trials: Trial) -> tuple[Measurement, ...]:
        return explained(quotient, tables, Parameters({"seeds": (1,)}), trials, others=("new",))

    (one,) = found(Trial("slow", "slow lines", only="old", claims=("b",)))
    assert (one.claim_id, one.reading, one.value().value) == ("b", "slow lines", 4.0)
    alone = found(Trial("slow", "slow lines", reading=True))
    assert [each.value().value for each in alone] == [None, None], "nothing else is taken for it"
    assert found(Trial("slow", "slow lines")) == (), "it explains nothing"
    assert found(Trial("fast", "fast lines", reading=True)) == (), "it was not played"


def test_of_seeds_keeps_only_the_rows_of_the_given_seeds() -> None:
    seen = of_seeds(SimpleNamespace(bins=BINS), [2]).bins  # type: ignore[arg-type]
    assert seen.to_dict("records") == [{"variant": "a", "seed": 2, "t_s": 10.0, "tuples": 4, "ms": 5.0}]
