"""Tournaments: what counts as a loss, how a case is judged, and how two schedulers are compared."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pandas as pd
import pytest

from storm_lab.errors import UserError
from storm_lab.league.entrant import Entrant
from storm_lab.league.generated import generated_site
from storm_lab.machine.places import DATA_VARIABLE
from storm_lab.model import Topology
from storm_lab.schedulers import Scheduler, SchedulingResult, SchedulingView, TopologyStatus, make_scheduler
from storm_lab.schedulers.contract import NoParameters
from storm_lab.tournament.comparison import compared, comparison_text
from storm_lab.tournament.league import NOTHING_COMPLETED
from storm_lab.tournament.objective import LATENCY, THROUGHPUT
from storm_lab.tournament.quantities import MEASURES, WIDTH, blocks, cell, entrants_table, means_note, printed
from storm_lab.tournament.report import LeagueReport, latex, read_report
from storm_lab.tournament.suite import Case, suite
from storm_lab.tournament.tournament import Tournament, score_table, scored
from tests.schedulers.test_ask import Mine

SEEDS = (1, 2, 3, 4, 5)


Numbers = Mapping[tuple[str, str], float]
"""Numbers by case and scheduler."""


def rows(times: Numbers, rates: Numbers = MappingProxyType({}), objective: str = LATENCY) -> pd.DataFrame:
    """Five seeds of each case and scheduler, a little apart; infinity is a failure."""
    found = []
    for (case, name), value in times.items():
        for seed in SEEDS:
            failed = math.isinf(value)
            row: dict[str, object] = dict.fromkeys(MEASURES, float("nan"))
            row |= {"case": case, "group": "g", "scheduler": name, "seed": seed, "run": f"{case}{name}{seed}"}
            row["objective"] = objective
            if not failed:
                row |= {"complete_ms": value + 0.01 * seed, "throughput": rates.get((case, name), 100.0)}
                row |= {"nodes": 4.0, "moved": 0, "p99_ms": 2 * value, "answer_ms": 1.0 + seed}
            found.append(row | {"problem": "it raised ZeroDivisionError (idea.py, line 7)" if failed else ""})
    return scored(pd.DataFrame(found))


def tree() -> Case:
    return Case("tree", "tree", generated_site("tree", "equal", 1), {"duration_s": 240.0})


def test_a_failure_is_a_loss_and_the_others_are_ranked() -> None:
    table = score_table(rows({("one", "a"): 10.0, ("one", "b"): math.inf}))
    assert table.loc["one", "a"] == pytest.approx(10.03)
    assert math.isinf(table.loc["one", "b"])


def test_a_scheduler_that_drops_load_loses_a_case_judged_by_latency() -> None:
    times = {("one", name): value for name, value in {"a": 10.0, "b": 12.0, "drops": 1.0}.items()}
    found = rows(times, {("one", "drops"): 80.0})
    assert set(found["objective"]) == {"latency"}
    assert math.isinf(score_table(found).loc["one", "drops"])


def test_a_case_about_throughput_is_won_by_the_most_tuples_however_long_they_take() -> None:
    times = {("one", name): value for name, value in {"a": 10.0, "b": 5.0, "c": 1.0}.items()}
    found = rows(times, {("one", "a"): 200.0, ("one", "b"): 195.0, ("one", "c"): 20.0}, THROUGHPUT)
    assert score_table(found).loc["one"].sort_values().index.tolist() == ["a", "b", "c"]
    assert (found["problem"] == "").all(), "completing little is no loss here"


def test_weak_schedulers_do_not_change_the_order_of_the_others() -> None:
    times = {("one", "a"): 10.0, ("one", "b"): 5.0}
    weak = {("one", f"weak{n}"): 1.0 for n in range(5)}
    rates = {("one", "a"): 100.0, ("one", "b"): 95.0, **dict.fromkeys(weak, 50.0)}
    for objective, order in ((LATENCY, ["b", "a"]), (THROUGHPUT, ["a", "b"])):
        for field in (times, {**times, **weak}):
            scores = score_table(rows(field, rates, objective)).loc["one", ["a", "b"]]
            assert scores.sort_values().index.tolist() == order


def test_the_comparison_says_in_which_cases_and_by_how_much() -> None:
    times = {(f"case{n}", "a"): 9.0 for n in range(6)} | {(f"case{n}", "b"): 10.0 for n in range(6)}
    found = compared(rows(times), "a", "b")
    assert found.cases["verdict"].tolist() == ["better"] * 6
    assert found.cases["gain_percent"].iloc[0] == pytest.approx(10.0, abs=0.1)
    assert found.verdict.startswith(
        "a is better than b: better on 6 of 6 cases (clearly on 6) and worse on 0 (clearly on 0), by +10.0 %"
    )
    assert compared(rows(times), "b", "a").verdict.startswith("b is worse than a")
    assert "case5" in comparison_text(found)
    json.dumps(found.document(), allow_nan=False)


def test_five_cases_are_compared_without_a_test() -> None:
    times = {(f"case{n}", name): time for n in range(5) for name, time in {"a": 9.0, "b": 10.0}.items()}
    found = compared(rows(times), "a", "b")
    assert found.verdict.startswith("a is better than b on these few cases") and found.test is None


def test_the_winner_follows_the_test_over_cases_and_not_the_number_of_clear_cases() -> None:
    # On seven of eight cases a gains 8 to 14 %, each unclear over seeds; on the last it clearly loses 2 %.
    gains = {(f"case{n}", "a"): 92.0 - n for n in range(7)} | {("case7", "a"): 102.0}
    table = rows(gains | {(f"case{n}", "b"): 100.0 for n in range(8)})
    apart = table["seed"].map({1: -20.0, 2: -10.0, 3: 0.0, 4: 10.0, 5: 20.0})
    table["score"] += apart.where((table["scheduler"] == "a") & (table["case"] != "case7"), 0.0)
    found = compared(table, "a", "b")
    assert found.cases["verdict"].tolist() == ["unclear"] * 7 + ["worse"]
    counts = "better on 7 of 8 cases (clearly on 0) and worse on 1 (clearly on 1)"
    assert found.verdict.startswith(f"a is better than b: {counts}, by +10.5 % in the median (Wilcoxon")
    assert compared(table, "b", "a").verdict.startswith("b is worse than a")


def test_the_comparison_names_equal_cases_and_losses() -> None:
    times = {("one", "a"): 10.0, ("one", "b"): 10.02, ("two", "a"): math.inf, ("two", "b"): 5.0}
    found = compared(rows(times), "a", "b")
    assert found.cases["verdict"].tolist() == ["equal", "worse"]
    text = comparison_text(found)
    assert "idea.py, line 7" in text and "lost" in text and "scheduling time, ms" in text
    json.dumps(found.document(), allow_nan=False)


def test_the_report_reads_back_what_it_wrote(tmp_path: Path) -> None:
    values = {"mine": 9.0, "default": 10.0}
    times = {(f"case{n}", name): value for n in range(6) for name, value in values.items()}
    report = LeagueReport(rows(times | {("case0", "mine"): math.inf}), ("mine",), "default")
    report.write(tmp_path)
    again = read_report(tmp_path)
    assert again.text() == report.text()
    assert "case0, mine (seeds 1,2,3,4,5): it raised" in report.text()
    table = (tmp_path / "standing.tex").read_text()
    for part in (r"\midrule", r"median gain, \%", r"complete latency, ms & 9.030 $\pm$"):
        assert part in table
    assert r"\begin{longtable}" in (tmp_path / "cases.tex").read_text()
    assert (tmp_path / "win-tie-loss-mine.csv").read_text() == "against,wins,ties,losses\ndefault,5,0,1\n"
    assert json.loads((tmp_path / "league.ipynb").read_text())["nbformat"] == 4
    with pytest.raises(UserError, match="does not hold the results of a league"):
        read_report(tmp_path / "none")


def test_a_report_with_a_scheduler_called_like_a_missing_value_is_read(tmp_path: Path) -> None:
    report = LeagueReport(rows({("NA", "None"): 9.0, ("NA", "null"): 10.0}), ("None",), "null")
    report.write(tmp_path)
    assert read_report(tmp_path).text() == report.text()


def test_a_folder_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    found = rows({("one", "a"): 10.0, ("one", "b"): 12.0})
    LeagueReport(found, ("a",), "b").write(tmp_path)
    found.drop(columns="answer_ms").to_csv(tmp_path / "runs.csv", index=False)
    again = read_report(tmp_path)
    assert again.table.loc["scheduling time, ms"].tolist() == ["-", "-"] and "a against each" in again.text()
    found.drop(columns="score").to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(UserError, match="does not hold the results of a league"):
        read_report(tmp_path)


def test_one_table_has_all_quantities_with_intervals_in_every_form(tmp_path: Path) -> None:
    report = LeagueReport(rows({("one", "a"): 10.0, ("one", "b"): 12.0}), (), "b")
    report.write(tmp_path)
    table = report.table
    assert list(table.columns) == ["a", "b"] and set(MEASURES.values()) < set(table.index)
    # Student's t for five values: half-width 2.776 * deviation / sqrt(5).
    assert table.loc["complete latency, ms", "a"] == "10.03 ± 0.02"
    assert table.loc["scheduling time, ms", "a"] == "4.0 ± 2.0"
    assert table.loc["nodes", "a"] == "4 ± 0" and table.loc["win/tie/loss"].tolist() == ["1/0/0", "-"]
    numbers = pd.read_csv(tmp_path / "standing.csv", index_col="scheduler")
    assert numbers.loc["a", "answer_ms_half"] == pytest.approx(1.963, abs=0.001)
    for file, sign in (
        ("standing.tex", r"4.0 $\pm$ 2.0"),
        ("standing.html", "4.0 ± 2.0"),
        ("report.txt", "4.0 ± 2.0"),
    ):
        assert sign in (tmp_path / file).read_text(encoding="utf-8"), file
    assert max(map(len, report.text().splitlines())) <= 120


def test_a_wide_table_is_printed_in_parts_that_fit_a_terminal() -> None:
    times = {("one", f"a-long-name-{n}"): 10.0 + n for n in range(12)}
    found = LeagueReport(rows(times), (), "a-long-name-0")
    text = printed(found.table)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert all(name in text for _, name in times) and text.count("nodes ") == len(blocks(found.table)) > 1


def test_means_are_over_the_same_cases_for_all() -> None:
    times = {("one", "a"): 10.0, ("one", "b"): 20.0, ("two", "a"): 1000.0, ("two", "b"): math.inf}
    found = rows(times | {("one", "never"): math.inf, ("two", "never"): math.inf})
    table = entrants_table(found)["complete_ms"]
    assert table["a"] == pytest.approx(10.03) and table["b"] == pytest.approx(20.03)
    assert math.isnan(table["never"])
    assert means_note(found).startswith("means over the 1 of 2 cases without a loss (not counting never)")


def test_a_case_in_which_a_scheduler_lacks_a_quantity_is_left_out_of_its_mean() -> None:
    found = rows({("one", "a"): 10.0, ("one", "b"): 20.0, ("two", "a"): 1000.0, ("two", "b"): 2000.0})
    found.loc[(found["case"] == "two") & (found["scheduler"] == "b"), "complete_ms"] = math.nan
    table = entrants_table(found)["complete_ms"]
    assert table["a"] == pytest.approx(10.03) and table["b"] == pytest.approx(20.03)


def test_an_average_over_cases_has_the_interval_of_its_runs() -> None:
    found = rows({("one", "a"): 10.0, ("two", "a"): 30.0, ("three", "a"): math.inf})
    (own,) = entrants_table(found).to_dict("records")
    assert own["complete_ms"] == pytest.approx(20.03)
    # Two cases of the same spread: eight degrees of freedom, half-width 2.306 * deviation / sqrt(10).
    assert own["complete_ms_half"] == pytest.approx(2.306 * 0.0158114 / math.sqrt(10), rel=1e-3)
    alone = found[found["seed"] == 1]
    assert math.isnan(entrants_table(alone)["complete_ms_half"].iloc[0])


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [(math.nan, math.nan, "-"), (12.345, math.nan, "12.3"), (12345.6, math.nan, "12346"), (7.0, 0.0, "7 ± 0"),
     (12.345, 0.0321, "12.35 ± 0.03"), (123.4, 56.7, "123 ± 57"), (0.01234, 0.0004, "0.01234 ± 0.00040")],
)  # fmt: skip
def test_a_number_has_as_many_digits_as_its_interval_justifies(value: float, half: float, text: str) -> None:
    assert cell(value, half) == text


def test_scheduling_times_are_measured_for_every_run_except_those_that_raise() -> None:
    cases = (tree(),)
    entrants = (Entrant("mine", Raises()), Entrant("even", make_scheduler("even")))
    found = Tournament(entrants, cases, (1, 2)).answers()
    assert set(found) == {("tree", "even", 1), ("tree", "even", 2)}
    assert all(answer.ms > 0 and answer.refusal == "" for answer in found.values())


def crash(view: SchedulingView) -> SchedulingResult:
    """End the process, as code does that crashes natively."""
    os._exit(7)


def test_only_the_scheduler_that_crashes_its_process_has_no_scheduling_times() -> None:
    entrants = (Entrant("mine", Mine(crash)), Entrant("even", make_scheduler("even")))
    found = Tournament(entrants, (tree(),), (1, 2)).answers()
    assert set(found) == {("tree", "even", 1), ("tree", "even", 2)}


warm: list[bool] = []
COLD_S = 1.0


def start_cold(view: SchedulingView) -> SchedulingResult:
    """Take long for the first answer, like a scheduler that imports a library for it."""
    if not warm:
        time.sleep(COLD_S)
        warm.append(True)
    return SchedulingResult(view.present, {})


@pytest.mark.parametrize("jobs", [0, 1])
def test_the_scheduling_time_excludes_the_start_up_of_the_first_answer(jobs: int) -> None:
    warm.clear()
    (answer,) = Tournament((Entrant("mine", Mine(start_cold)),), (tree(),), (1,)).answers(jobs=jobs).values()
    assert answer.ms < 1000 * COLD_S, "so it is not the first answer's"


def test_the_scheduling_time_excludes_making_the_view_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly_closed(topology: Topology) -> Topology:
        time.sleep(0.2)
        return topology

    monkeypatch.setattr("storm_lab.schedulers.read_only._closed_topology", slowly_closed)
    (answer,) = (
        Tournament((Entrant("mine", Mine(lambda view: SchedulingResult(view.present, {}))),), (tree(),), (1,))
        .answers(jobs=0)
        .values()
    )
    assert answer.ms < 200


def refuse(view: SchedulingView) -> SchedulingResult:
    why = TopologyStatus(False, "infeasible: no node\nis good enough")
    return SchedulingResult(view.present, {topology.id: why for topology in view.topologies})


def test_a_scheduler_that_refuses_loses_with_its_own_reason() -> None:
    cases = (tree(),)
    entrants = (Entrant("mine", Mine(refuse)), Entrant("late", Mine(refuse), online=True))
    found = rows({("tree", "mine"): math.inf, ("tree", "late"): math.inf})
    assert set(found["problem"]) == {"it raised ZeroDivisionError (idea.py, line 7)"}
    tournament = Tournament(entrants, cases, SEEDS)
    assert tournament.with_answers(found)["problem"].equals(found["problem"])
    told = (
        tournament.with_answers(found.assign(problem=NOTHING_COMPLETED))
        .groupby("scheduler")["problem"]
        .unique()
    )
    assert told["mine"].tolist() == ["refused to place it: infeasible: no node is good enough"]
    # Its topology runs: Storm's own scheduler has placed it.
    assert told["late"].tolist() == [NOTHING_COMPLETED]


def test_latex_is_escaped() -> None:
    table = pd.DataFrame({"x": ["a_b & 50%"], "y": ["1 ± 2"]})
    text = latex(table, "50 % of a_b & c#1", "l")
    assert r"a\_b \& 50\% & 1 $\pm$ 2 \\" in text
    assert r"\caption{50 \% of a\_b \& c\#1}" in text


def test_suites_are_chosen_by_name_and_limited_to_some_cases() -> None:
    assert len(suite("generated")) == 15
    assert [case.name for case in suite("papers", only=["tstorm-word"])] == ["tstorm-word-count"]
    (case,) = suite("generated", only=["tree-racks"], duration_s=300.0)
    assert case.given == {"duration_s": 300.0, "generation_s": 60.0}
    with pytest.raises(UserError, match=r"no case has a name that begins with this.*rstorm-yahoo-page-load"):
        suite("papers", only=["nobody"])
    with pytest.raises(UserError, match="there is no such suite"):
        suite("paper")


class Raises(Scheduler[NoParameters]):
    """Raises ZeroDivisionError."""

    name, version = "raises", "1"

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        raise ZeroDivisionError(f"{len(view.topologies)} over nothing")


@pytest.mark.slow
@pytest.mark.spark
def test_a_scheduler_that_raises_loses_with_its_line_and_the_others_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    cases = (tree(),)
    entrants = (Entrant("mine", Raises()), Entrant("even", make_scheduler("even")))
    tournament = Tournament(entrants, cases, (1, 2))
    found = tournament.play(jobs=0, show_progress=False)
    assert found.groupby("scheduler")["problem"].nunique().tolist() == [1, 1]
    mine, even = (found[found["scheduler"] == name] for name in ("mine", "even"))
    assert mine["problem"].str.contains(r"raised ZeroDivisionError.*test_tournament\.py, line \d+").all()
    assert (even["problem"] == "").all() and (even["complete_ms"] > 0).all()
    assert (even["measured_from_s"] == 120.0).all() and even["reassigned_s"].isna().all()
    again = tournament.play(jobs=0, show_progress=False)
    assert sorted(again["score"]) == sorted(found["score"])
