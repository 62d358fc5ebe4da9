"""MF-Storm's readings on tables that can be worked out by hand: quotients, averages, settling, orders."""

import pandas as pd
import pytest

from storm_lab.experiments.ledger import load_claims
from storm_lab.papers.mfstorm.grid import variant
from storm_lab.papers.mfstorm.grid_experiments import GRIDS
from storm_lab.papers.mfstorm.grid_readings import (
    constant_min,
    grid_rows,
    grid_values,
    independent_runs_claim,
    minutes,
    quotients_and_improvements,
    running_mean,
    settled_min,
    since_submission,
)
from storm_lab.papers.mfstorm.placement import refusal
from storm_lab.papers.mfstorm.summary import tried, tried_prefix
from storm_lab.papers.mfstorm.testbed import SCENARIOS
from storm_lab.papers.registry import experiment
from storm_lab.reporting.verdict import Outcome, judge

NODES = {
    "default": (1, 2, 3, 2, 3, 3),
    "isolation": (1, 2, 3, 2, 3, 3),
    "resource-aware": (3, 3, 3, 2, 2, 1),
    "mf-storm": (1, 2, 3, 1, 2, 1),
}
RATE = 600.0


class Tables:
    """A grid in which every scheduler has the same raw throughput on the nodes of tables 3 and 4."""

    def __init__(self, slug: str, kind: str, seeds: tuple[int, ...] = (1,)) -> None:
        rows = [
            (slug, variant(scenario, scheduler), seed, RATE, nodes, 5 if "word" in kind else 3, RATE / nodes)
            for scheduler, counts in NODES.items()
            for scenario, nodes in zip(SCENARIOS, counts, strict=True)
            if not refusal(scheduler, kind, scenario)
            for seed in seeds
        ]
        columns = [
            "experiment", "variant", "seed", "executed_per_s", "nodes_mean", "workers_mean",
            "executed_per_s_per_node",
        ]  # fmt: skip
        # Several cells may share one run.
        self.steady = pd.DataFrame(list(dict.fromkeys(rows)), columns=columns)
        self.runs = self.steady[["experiment", "variant", "seed"]]
        series = [(float(60 * minute), 100.0 if minute else 40.0) for minute in range(7)]
        self.component_throughput_60s = pd.DataFrame(
            [
                (slug, name, seed, component, t_s, 60.0, rate)
                for name in self.steady["variant"].unique()
                for seed in seeds
                for component, factor in (("split", 1), ("count", 5), ("__acker", 1000))
                for t_s, rate in ((t, factor * r) for t, r in series)
            ],
            columns=["experiment", "variant", "seed", "component", "t_s", "width_s", "executed_per_s"],
        )


def together(*parts: Tables) -> Tables:
    parts[0].steady = pd.concat([part.steady for part in parts])
    parts[0].component_throughput_60s = pd.concat([part.component_throughput_60s for part in parts])
    return parts[0]


def values(slug: str, tables: Tables) -> dict[str, float | None]:
    found = experiment(slug)
    measured = found.measure(tables, found.checked({"seeds": [1]}))
    assert {m.claim_id for m in measured} == set(found.claims)
    return {m.claim_id: m.values[0].value for m in measured}


def test_equal_throughput_gives_200_percent_in_scenario_6_and_a_mean_quotient_of_158() -> None:
    tables = together(
        Tables("mfstorm-wordcount", "word-count"), Tables("mfstorm-tweet-wordcount", "tweet-word-count")
    )
    found = values("mfstorm-wordcount", tables)
    assert found["mfstorm-fig3-s6-default"] == pytest.approx(200)
    # (1 + 1 + 1 + 2 + 1.5 + 3) / 6
    assert found["mfstorm-fig3-avg-default"] == pytest.approx(100 * 9.5 / 6)
    assert found["mfstorm-fig3-avg"] == pytest.approx(100 * 9.5 / 6)
    assert found["mfstorm-ras-five-slots"] == 5
    # Running means 240, 420, 480, 510, 528, 540, ...: +75, 14, 6.3, 3.5, 2.3 and 1.6 %.
    assert found["mfstorm-stable-5min"] == 7


def test_the_resource_aware_scheduler_pulls_the_mean_of_exclamation_down_to_139() -> None:
    found = values("mfstorm-exclamation", Tables("mfstorm-exclamation", "exclamation"))
    # Default and isolation average 9.5 / 6; resource-aware equals MF-Storm where three slots are requested.
    assert found["mfstorm-fig5-avg"] == pytest.approx(100 * (2 * 9.5 / 6 + 1) / 3)
    tweets = values("mfstorm-tweet-exclamation", Tables("mfstorm-tweet-exclamation", "tweet-exclamation"))
    assert tweets["mfstorm-fig10-s6-ras"] == pytest.approx(0)


def test_the_mean_improvement_is_the_mean_quotient_in_percent_minus_a_hundred() -> None:
    cells = grid_values(
        Tables("mfstorm-exclamation", "exclamation"), "mfstorm-exclamation", "exclamation",
        "executed_per_s_per_node", (1,),
    )  # fmt: skip
    table = quotients_and_improvements(cells, "exclamation", ("default", "resource-aware"))
    assert table.loc["default", "S5"] == pytest.approx(1.5)
    assert table.loc["default", "mean improvement %"] == pytest.approx(100 * 9.5 / 6 - 100)
    assert table.loc["resource-aware", ["S1", "S2", "S4"]].isna().all(), "not in the slots asked for"


def test_a_refused_cell_is_missing_and_not_zero() -> None:
    tables = Tables("mfstorm-wordcount", "word-count")
    rows = grid_rows(tables, "mfstorm-wordcount", "word-count", {"nodes_mean": "nodes"}, (1,))
    assert len(rows) == 21
    assert rows.loc[rows["variant"] == "resource-aware", "scenario"].tolist() == ["S4", "S5", "S6"]


def test_a_claim_whose_run_is_missing_is_not_reproduced() -> None:
    found = experiment("mfstorm-exclamation")
    tables = Tables("mfstorm-exclamation", "exclamation")
    tables.steady = tables.steady[tables.steady["variant"] != "S6-mf-storm"]
    measured = {m.claim_id: m for m in found.measure(tables, found.checked({"seeds": [1]}))}
    claim = load_claims().claim("mfstorm-fig5-s6-default")
    assert judge(claim, measured[claim.id]).outcome is Outcome.NOT_REPRODUCED


def test_the_summary_averages_the_four_topologies_and_finds_no_worst_among_equals() -> None:
    tables = together(*(Tables(slug, kind) for kind, (slug, _) in GRIDS.items()))
    found = experiment("mfstorm-summary")
    measured = {m.claim_id: m for m in found.measure(tables, found.checked({"seeds": [1]}))}
    assert measured["mfstorm-overall-148"].value().value == pytest.approx(
        100 * (9.5 / 6 + (9.5 / 3 + 1) / 3) / 2
    )
    assert measured["mfstorm-low-slots-equal"].value("throughput").value == pytest.approx(1)
    worst = measured["mfstorm-isolation-worst"]
    assert worst.value("isolation").value == worst.value("default").value
    assert judge(load_claims().claim(worst.claim_id), worst).outcome is Outcome.NOT_REPRODUCED


def test_a_reading_sums_the_topologys_own_bolts_minute_by_minute() -> None:
    tables = Tables("mfstorm-wordcount", "word-count")
    series = minutes(tables, "mfstorm-wordcount", variant("S6", "default"), 1)
    assert series.tolist() == [240.0, 600.0, 600.0, 600.0, 600.0, 600.0, 600.0], "ackers left out"
    assert running_mean(series).iloc[1] == pytest.approx(420)


def series(*readings: float) -> "pd.Series[float]":
    return pd.Series(readings, index=[60.0 * place for place in range(len(readings))])


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ((100.0, 100.0, 100.0), 0.0),
        ((40.0, 90.0, 99.0, 100.0, 100.0, 100.0), 2.0),
        ((100.0, 100.0, 80.0, 100.0, 100.0, 100.0), 3.0),
        ((100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 110.0, 90.0), None),
        ((100.0, 100.0), None),
    ],
)
def test_throughput_is_settled_from_the_first_reading_after_the_last_outlier(
    readings: tuple[float, ...], expected: float | None
) -> None:
    assert settled_min(series(*readings)) == expected


def test_a_running_mean_is_constant_once_a_minute_changes_it_by_less_than_two_percent() -> None:
    assert constant_min(series(50.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0)) == 6.0  # 90 to 91.7
    assert constant_min(series(100.0, 100.0)) == 2.0
    assert constant_min(series(100.0, 50.0)) is None
    assert constant_min(series(100.0)) is None


def test_equation_2_counts_the_time_before_the_first_tuple_and_divides_by_nodes() -> None:
    tables = Tables("mfstorm-exclamation", "exclamation")
    cells = since_submission(tables, "mfstorm-exclamation", "exclamation", (1,))
    whole = 6 * (40 + 6 * 100) / 7
    assert cells["S6", "mf-storm"] == [pytest.approx(whole)]
    assert cells["S6", "default"] == [pytest.approx(whole / 3)]


def test_single_runs_are_compared_with_the_next_seeds_after_five_minutes() -> None:
    slug, kind = "mfstorm-tweet-wordcount", "tweet-word-count"
    tables = Tables(slug, kind, (1, 2, 3))
    rows = tables.component_throughput_60s
    # Default starts later with the second seed; tuples after five minutes do not count.
    late = (rows["variant"] == "S3-default") & (rows["seed"] == 2) & (rows["t_s"] == 0)
    rows.loc[late, "executed_per_s"] = 0.0
    rows.loc[rows["t_s"] >= 300, "executed_per_s"] = 1e6
    cells = since_submission(tables, slug, kind, (1, 2, 3), until_s=300.0)
    (found,) = independent_runs_claim("mfstorm-fig8-s6-default", cells, "default")
    alike, apart = 200.0, 300 * 440 / 400 - 100
    assert found.value().value == pytest.approx((apart + alike + alike) / 3)
    assert found.reading
    assert independent_runs_claim("mfstorm-fig8-s6-default", {key: [1.0] for key in cells}, "default") == ()


def test_runs_with_other_sleep_times_are_found_by_variant_name() -> None:
    steady = pd.DataFrame(
        [("mfstorm-summary", tried_prefix(5.0) + variant("S6", "default"), 1, 123.0)],
        columns=["experiment", "variant", "seed", "executed_per_s"],
    )

    class One:
        component_throughput_60s = pd.DataFrame()

        def __init__(self) -> None:
            self.steady = steady

    table = tried(One(), (5.0,), 1)
    assert table.loc[5.0, "default"] == 123.0
    assert table.loc[5.0, ["isolation", "mf-storm"]].isna().all()
