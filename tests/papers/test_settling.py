"""More seeds are played only for the claims that an experiment's own seeds leave unsettled."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pandas as pd
import pytest

from storm_lab.errors import UserError
from storm_lab.experiments.experiment import MORE_SEEDS, MOST_SEEDS, Experiment, RunSpec, Settling
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Measured, Measurement
from storm_lab.experiments.parameter import Parameters, seed_parameter
from storm_lab.experiments.readings import Tables, measured, quotients, value_of
from storm_lab.machine.places import checkout
from storm_lab.model.version import StormVersion
from storm_lab.papers.registry import experiments
from storm_lab.reporting.record import collect_verdicts
from storm_lab.reporting.verdict import Verdict, judge
from storm_lab.runs.execute import is_complete_run, run_folder
from storm_lab.runs.study import Study

SETTLED = Settling(claims=("narrow",), variants=("near-*",), seeds=10)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec("tiny", variant, seed, Parameters({}), lambda spec: None, StormVersion((0, 9, 2)))  # type: ignore[arg-type, return-value]
        for variant in ("near-a", "near-b", "far")
        for seed in parameters.seeds
    )


def measure(tables: object, parameters: Parameters) -> tuple[Measurement, ...]:
    seen = Measured(1.0, 0.9, 1.1, seeds=len(parameters.seeds))
    return tuple(
        Measurement(claim, (seen,), "s", "how", reading=reading)
        for claim in ("narrow", "wide")
        for reading in ("", "another")
    )


TINY = Experiment(
    slug="tiny",
    paper="T-Storm",
    title="Tiny",
    figure="Figure 0",
    parameters=(seed_parameter("seeds"),),
    notebook="tiny.ipynb",
    metrics=(),
    runs=runs,
    measure=measure,
    settling=(SETTLED,),
)


def seeds_of(own: Experiment, **given: object) -> dict[str, int]:
    planned = own.planned(own.checked(given))
    assert len({spec.key for spec in planned}) == len(planned)
    return {name: sum(spec.variant == name for spec in planned) for name in ("near-a", "near-b", "far")}


def test_more_seeds_play_the_variants_that_an_unsettled_claim_is_measured_from():
    assert seeds_of(TINY) == {"near-a": 10, "near-b": 10, "far": 5}
    assert seeds_of(replace(TINY, settling=())) == {"near-a": 5, "near-b": 5, "far": 5}


def test_seeds_given_by_the_reader_are_not_extended():
    assert seeds_of(TINY, seeds=[7]) == {"near-a": 1, "near-b": 1, "far": 1}


def test_only_the_unsettled_claim_is_measured_over_more_seeds():
    found = {
        (each.claim_id, each.reading): each.values[0].seeds
        for each in TINY.measurements(None, TINY.checked())
    }
    assert found == {("narrow", ""): 10, ("narrow", "another"): 5, ("wide", ""): 5, ("wide", "another"): 5}


class Kept:
    """Tables with a row for each run; those named in ``few`` have ten seeds, all others the first five."""

    def __init__(self, few: tuple[str, ...]) -> None:
        self.few = few

    def __getattr__(self, name: str) -> pd.DataFrame:
        seeds = range(1, (10 if name in self.few else 5) + 1)
        return pd.DataFrame(
            [(variant, seed, float(seed)) for variant in ("near-a", "near-b") for seed in seeds],
            columns=["variant", "seed", "value"],
        )


def measure_both(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure one claim from one table and another from two."""
    one, other = (
        value_of(table, "value", "near-a", parameters.seeds) for table in (tables.steady, tables.stays)
    )
    return (
        Measurement("narrow", (measured(one),), "s", "how"),
        Measurement("wide", (measured(quotients(one, other)),), "s", "how"),
    )


def test_further_seeds_have_the_tables_that_their_claims_need():
    few = replace(SETTLED, metrics=("steady",))
    all_of_one = replace(SETTLED, variants=("near-b",), seeds=7)
    own = replace(TINY, metrics=("stays", "steady"), settling=(few, all_of_one))
    names = own.tables_of_runs(own.checked())
    assert names.keys() == {spec.key for spec in own.planned(own.checked())}
    assert {key[1:]: tables for key, tables in names.items() if key[2] > 5} == {
        **{("near-a", seed): ("steady",) for seed in range(6, 11)},
        **{("near-b", seed): ("stays", "steady") for seed in (6, 7)},
        **{("near-b", seed): ("steady",) for seed in (8, 9, 10)},
    }
    assert {tables for key, tables in names.items() if key[2] <= 5} == {("stays", "steady")}


def test_measuring_a_claim_from_a_table_that_further_seeds_lack_is_an_error():
    tables = cast(Tables, Kept(few=("steady",)))
    settled = replace(SETTLED, metrics=("steady",))
    narrow = replace(TINY, metrics=("stays", "steady"), measure=measure_both, settling=(settled,))
    found = {each.claim_id: each.value().seeds for each in narrow.measurements(tables, narrow.checked())}
    assert found == {"narrow": 10, "wide": 5}
    wide = replace(narrow, settling=(replace(settled, claims=("wide",)),))
    with pytest.raises(UserError, match=r"Settling\.metrics.*settled from other tables.*wide"):
        wide.measurements(tables, wide.checked())


@pytest.mark.parametrize("own", [item for item in experiments() if item.settling], ids=lambda own: own.slug)
def test_settlings_name_claims_metrics_and_variants_of_their_experiment(own: Experiment):
    variants = {spec.variant for spec in own.runs(own.checked())}
    for settling in own.settling:
        assert set(settling.claims) <= set(own.claims)
        assert settling.seeds in MORE_SEEDS
        assert settling.seeds > len(own.checked().seeds)
        assert set(settling.metrics) <= set(own.metrics)
        for pattern in settling.variants:
            assert any(replace(settling, variants=(pattern,)).needs(variant) for variant in variants), pattern


MORE_THAN_NEEDED = {
    "nstorm-fig13-best-100": "fewer seeds settle it by chance, on the other side than thirty",
    "mfstorm-fig8-s6-isolation": "five seeds settle it by chance, ten and twenty do not",
    "tstorm-7node-topology-order": "twenty seeds separate two gains by chance, thirty do not",
    "mfstorm-fig5-s6-default": "the same claim about the other grids needs thirty",
}
"""Claims that fewer seeds would settle, and why they are played with thirty."""


@pytest.mark.slow
@pytest.mark.parametrize("own", [item for item in experiments() if item.settling], ids=lambda own: own.slug)
def test_fewer_seeds_would_leave_a_claim_unsettled(own: Experiment):
    study = Study.of(own.slug)
    if not all(is_complete_run(run_folder(spec)) for spec in study.specs()):
        pytest.skip("the experiment has not been reproduced here")
    tables = study.metrics()
    claims = {claim.id: claim for claim in load_claims().claims}
    for settling in own.settling:
        for seeds in (len(study.parameters.seeds), *MORE_SEEDS):
            if seeds < settling.seeds and not MORE_THAN_NEEDED.keys() >= set(settling.claims):
                found = own.measure(tables, replace(settling, seeds=seeds).parameters(study.parameters))
                settled = [judge(claims[each.claim_id], each) for each in found if settling.settles(each)]
                assert any(verdict.unsettled for verdict in settled), (settling.claims, seeds)


def published() -> list[Verdict]:
    root = checkout()
    return [] if root is None else list(collect_verdicts(root / "reports" / "verdicts"))


LEFT = {
    ("mfstorm-isolation-worst", ""): "impossible as printed, whatever the seeds say",
    ("tstorm-fig6-gamma-order", "two cores a blade, code twice as dear beside another process"): "a chosen "
    "reading, and it holds in another",
    ("twitter-spike-size", "machines filled as by Storm 0.9.3"): "a further reading, of three seeds",
}
"""Orders, with their reading, that stay unsettled, and why."""


def test_the_most_seeds_are_the_largest_number_with_which_a_claim_is_tried():
    assert MOST_SEEDS == max(MORE_SEEDS) == 30


def test_a_published_verdict_is_settled_or_has_the_most_seeds():
    """Checks the verdict of each claim and of each of its readings."""
    loose = {
        (verdict.claim.id, each.reading): verdict.claim.order
        for verdict in published()
        for each in (verdict, *verdict.readings)
        if 1 < each.unsettled < MOST_SEEDS
    }
    assert loose.keys() == (LEFT.keys() if published() else set())
    assert all(loose.values()), "only orders are left"
