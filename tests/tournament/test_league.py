"""Leagues: entrants are distinguished by their behaviour, and tables have intervals over seeds."""

import dataclasses
from types import SimpleNamespace

import pandas as pd
import pytest

from storm_lab.errors import UserError
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import stage_runs
from storm_lab.papers.tstorm.word_count_stage import STAGE
from storm_lab.runs.digest import identity_of
from storm_lab.schedulers import Scheduler, SchedulingResult, SchedulingView, make_scheduler
from storm_lab.tournament.league import (
    COLUMNS,
    NOTHING_COMPLETED,
    TRANSITION,
    League,
    league_table,
    measured_runs,
    results,
)


class Mine(Scheduler):  # type: ignore[type-arg]
    name = "mine"
    version = "1"
    nodes = 4

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        raise NotImplementedError


class MineOnFive(Mine):
    nodes = 5


def run_of(entrant: Entrant) -> str:
    (spec,) = stage_runs(STAGE, [entrant], {"seeds": [1]})
    return identity_of(spec).run


def test_a_changed_scheduler_gives_another_run() -> None:
    base = Entrant("mine", Mine())
    assert run_of(base) == run_of(dataclasses.replace(base))
    assert run_of(base) != run_of(Entrant("mine", MineOnFive()))
    gammas = {run_of(Entrant("t", make_scheduler("tstorm", [f"gamma={g}"]), online=True)) for g in (1, 2)}
    assert len(gammas) == 2


def test_state_that_a_run_leaves_in_a_scheduler_does_not_reach_the_next_run() -> None:
    policy = Mine()
    entrant = Entrant("mine", policy)
    (spec,) = stage_runs(STAGE, [entrant], {"seeds": [1]})
    left = spec.describe(spec).scheduler
    left.nodes = 7  # type: ignore[attr-defined]
    assert policy.nodes == 4
    assert run_of(entrant) == run_of(Entrant("mine", Mine()))


def test_an_entrant_on_measured_load_gives_another_run() -> None:
    policy = make_scheduler("tstorm")
    assert run_of(Entrant("t", policy)) != run_of(Entrant("t", policy, online=True))


def test_two_entrants_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match="'mine': a league has this entrant twice"):
        League.of([Entrant("mine", Mine()), Entrant("mine", MineOnFive())], STAGE)


def test_parameters_of_a_league_are_checked() -> None:
    with pytest.raises(UserError, match="lines_per_s"):
        League.of([Entrant("mine", Mine())], STAGE, {"lines": 3})


def test_an_entrant_knows_whether_its_scheduler_is_defined_in_a_notebook() -> None:
    assert not Entrant("mine", Mine()).in_notebook
    elsewhere = type("Here", (Mine,), {"__module__": "__main__"})
    assert Entrant("here", elsewhere()).in_notebook


def tables() -> SimpleNamespace:
    keys = {"run": list("abcd")}
    variants = {"variant": ["slow", "slow", "quick", "restless"], "seed": [1, 2, 1, 1]}
    moves = {"run": list("bbd"), "event": [1, 2, 1]}
    assigned = {"run": list("bbb"), "subject": ["t"] * 3, "time_s": [5.0, 300.0, 10.0]}
    return SimpleNamespace(
        runs=pd.DataFrame(
            keys
            | variants
            | {"duration_s": 600.0, "warm_up_s": [300.0, 400.0, 300.0, 580.0]}
            | {"status": "complete", "reason": ""}
        ),
        events=pd.DataFrame(moves | {"kind": ["rebalance", "re-assignment", "re-assignment"]}).assign(
            time_s=[10.0, 300.0, 480.0]
        ),
        spikes=pd.DataFrame(moves | {"peak": [99.0, 30.0, 40.0]}),
        occupancy=pd.DataFrame(
            {
                "run": list("aabcd"),
                "topology": "",
                "from_s": [0.0, 9.0, 0.0, 0.0, 0.0],
                "nodes": [9, 3, 3, 2, 1],
            }
        ),
        control=pd.DataFrame(
            assigned
            | {"action": "assign"}
            | {"detail": ['{"id":1,"moved":9}', '{"id":3,"moved":4}', '{"id":2,"moved":2,"origin":"x"}']}
        ),
        steady=pd.DataFrame(
            keys
            | {"acked_per_s": [10.0, 12.0, 20.0, 20.0], "executed_per_s": 99.0}
            | {"acked": [3000, 2400, 6000, 400], "failed": 0}
        ),
        steady_latency=pd.DataFrame(
            keys
            | {"processing_mean_ms": [5.0, 7.0, 2.0, 1.0], "processing_p99_ms": [9.0, 9.0, 4.0, 2.0]}
            | {"complete_mean_ms": 8.0, "complete_p99_ms": 12.0, "tuples": 5}
        ),
        steady_traffic_share=pd.DataFrame(
            keys | {"inter_node_share": [0.5, 0.7, None, 0.1], "tuples": [10, 10, 0, 10]}
        ),
    )


def test_results_have_a_row_for_each_run() -> None:
    rows = results(tables())  # type: ignore[arg-type]
    ranked = rows[rows["unranked"] == ""]
    assert ranked[["variant", "seed", "processing_ms", "nodes"]].to_numpy().tolist() == [
        ["quick", 1, 2.0, 2],
        ["slow", 1, 5.0, 3],
        ["slow", 2, 7.0, 3],
    ]
    assert ranked["inter_node_percent"].tolist()[1:] == [50.0, 70.0]


def test_the_transition_is_reported_separately_from_the_steady_state() -> None:
    rows = results(tables()).set_index(["variant", "seed"])  # type: ignore[arg-type]
    assert rows.loc[("slow", 2), list(TRANSITION)].tolist() == [400.0, 300.0, 6, 30.0]
    calm = rows.loc[("slow", 1), list(TRANSITION)]
    assert calm["moved"] == 0 and calm[["reassigned_s", "transition_ms"]].isna().all()


def test_a_run_that_re_assigns_too_close_to_its_end_is_not_ranked() -> None:
    rows = results(tables())  # type: ignore[arg-type]
    (restless,) = rows[rows["variant"] == "restless"].to_dict("records")
    assert restless["unranked"].startswith("re-assigned at 480 s of 600 s")
    assert restless["processing_ms"] != restless["processing_ms"]
    table = league_table(rows)
    assert table.index[-1] == "restless" and table.loc["restless", "rank"] == "-"
    assert "480 s" in table.loc["restless", "not ranked because"]


def all_failed() -> SimpleNamespace:
    found = tables()
    found.steady = found.steady.assign(acked_per_s=0.0, acked=0, failed=100)
    return found


def test_a_run_whose_tuples_all_fail_completes_nothing() -> None:
    rows = results(all_failed())  # type: ignore[arg-type]
    assert rows.loc[rows["variant"] == "quick", "unranked"].tolist() == [NOTHING_COMPLETED]
    assert measured_runs(all_failed(), dict.fromkeys("abcd", True), {})["throughput"].isna().all()  # type: ignore[arg-type]


@pytest.mark.parametrize(("anchored", "throughput"), [(True, 20.0), (False, 99.0)])
def test_what_counts_as_completed_follows_from_the_sources(anchored: bool, throughput: float) -> None:
    found = tables()
    found.runs = found.runs.assign(anchored=anchored, executors=0)
    rows = results(found).set_index("variant")  # type: ignore[arg-type]
    assert rows.loc["quick", "lines_per_s"] == throughput


@pytest.mark.parametrize(
    ("last", "unranked"),
    [
        ('{"id":2,"moved":0,"workers":{"n1:6700":2,"n2:6700":4}}', "left 3 of 9 executors unplaced"),
        ('{"id":2,"moved":0,"workers":{"n1:6700":2,"n2:6700":7}}', ""),
    ],
)
def test_a_run_whose_last_assignment_lacks_executors_is_not_ranked(last: str, unranked: str) -> None:
    found = tables()
    first = '{"id":1,"moved":9,"workers":{"n1:6700":5,"n2:6700":4}}'
    found.control = pd.DataFrame(
        {"run": "a", "subject": "t", "time_s": [5.0, 20.0], "action": "assign", "detail": [first, last]}
    )
    found.runs = found.runs.assign(anchored=True, executors=9)
    rows = results(found).set_index(["variant", "seed"])  # type: ignore[arg-type]
    assert rows.loc[("slow", 1), "unranked"] == unranked


def test_gains_are_taken_seed_by_seed_against_a_named_baseline() -> None:
    rows = results(tables())  # type: ignore[arg-type]
    assert league_table(rows, "slow").loc["quick", "time against slow, %"] == "-60.00"
    with pytest.raises(UserError, match="baseline = 'fast': no entrant has this name; there are"):
        league_table(rows, "fast")


def test_an_entrant_that_drops_its_load_is_last_however_quick_it_is() -> None:
    rows = pd.DataFrame(
        [("slow", 1, 20.0, 40.0, 200.0, 10, 90.0), ("quick", 1, 15.0, 30.0, 198.0, 4, 70.0),
         ("drops", 1, 4.0, 20.0, 27.0, 8, 88.0)],
        columns=["variant", "seed", *COLUMNS],
    ).assign(unranked="", **dict.fromkeys(TRANSITION, 300.0))  # fmt: skip
    table = league_table(rows)
    assert list(table.index) == ["quick", "slow", "drops"]
    assert list(table["rank"]) == ["1", "2", "3"]
    assert "not ranked because" not in table


def test_the_table_is_sorted_by_latency_and_shows_intervals() -> None:
    table = league_table(results(tables()))  # type: ignore[arg-type]
    assert list(table.index) == ["quick", "slow", "restless"]
    # Student's t for two values: half-width 12.706 * sqrt(2) / sqrt(2).
    assert table.loc["slow", "processing time, ms"] == "6.00 ± 12.71"
    assert table.loc["quick", "processing time, ms"] == "2.00"
    assert table.loc["quick", "tuples between nodes, %"] == "none"
