"""Sweeps: every combination with every seed, a row per run, intervals over seeds, and resuming."""

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from storm_lab.cli import main
from storm_lab.errors import UserError
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.league.starter import write_starter
from storm_lab.runs import grid
from storm_lab.runs.digest import identity_of
from storm_lab.runs.execute import play_all
from storm_lab.runs.grid import Setting, Subject, parse_axis, parse_seeds, settings_of
from storm_lab.runs.live_constants import given_constants
from storm_lab.runs.sweep import planned, sweep
from storm_lab.runs.sweep_table import (
    FAILED,
    METRIC_TABLES,
    METRICS,
    metric_names,
    of_control,
    run_rows,
    shown,
    summary_rows,
)
from tests.runs import tiny_runs

PARAMETERS = (
    Parameter("rate", 5, "a number", within=(1, 100)),
    Parameter("share", 0.5, "a fraction", within=(0, 1)),
    Parameter("factors", (1.0, 2.0), "a list"),
    Parameter("seeds", (1, 2), "seeds", within=(0, None)),
)


def tiny(parameters: Parameters) -> tuple[RunSpec, ...]:
    """One run a seed that depends on the rate, and one that depends on nothing; rate 13 is refused."""
    rate = parameters.integer("rate")
    emulate = tiny_runs.refusing if rate == 13 else tiny_runs.timed
    return tuple(
        spec
        for seed in parameters.integers("seeds")
        for spec in (
            tiny_runs.spec("own", emulate, seed, rate=rate),
            tiny_runs.spec("shared", tiny_runs.timed, seed),
        )
    )


@pytest.fixture(autouse=True)
def tiny_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Experiment("tiny", "none", "t", "f", PARAMETERS, "tiny.ipynb", (), tiny, lambda *_: ())
    monkeypatch.setattr(grid, "experiment", lambda slug: found)


def settings(**vary: list[object]) -> tuple[Setting, ...]:
    return settings_of(Subject.of("tiny"), {}, vary, (1, 2))


def test_every_combination_is_a_setting_with_runs_for_every_seed() -> None:
    found = settings(rate=[1, 2], share=[0, 0.5, 1])
    assert [dict(setting.varied) for setting in found] == [
        {"rate": rate, "share": share} for rate in (1, 2) for share in (0.0, 0.5, 1.0)
    ]
    assert [(s.variant, s.seed) for s in found[0].specs] == [
        ("own", 1), ("shared", 1), ("own", 2), ("shared", 2)
    ]  # fmt: skip


def test_a_list_parameter_is_varied_number_by_number() -> None:
    assert [setting.varied["factors"] for setting in settings(factors=[1, 1.5])] == [(1.0,), (1.5,)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("rate=1,2,2", [1, 2, 2]),
        ("rate=10:30:10", [10, 20, 30]),
        ("share=0.1:0.5:0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("rate=1, 10:20:5", [1, 10, 15, 20]),
        ("factors=1:2:0.5", [(1.0,), (1.5,), (2.0,)]),
        ("rate=1-3, 7", [1, 2, 3, 7]),
        ("seeds=2-4", [(2,), (3,), (4,)]),
    ],
)
def test_values_are_given_as_lists_steps_or_ranges(text: str, values: list[object]) -> None:
    assert parse_axis(text, Subject.of("tiny"))[1] == values


def test_seeds_are_given_as_lists_or_ranges() -> None:
    assert parse_seeds("1-3,7,2") == (1, 2, 3, 7)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("x", "wrong type"),
        ("1-", "wrong type"),
        ("3-1", "reversed or longer"),
        ("-1", "out of range"),
        ("1-99999999", "reversed or longer"),
    ],
)
def test_an_invalid_list_of_seeds_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(UserError, match=f"not valid seeds: .*{problem}.*; write 1-5 or 1,2,7"):
        parse_seeds(text)


@pytest.mark.parametrize(
    ("fixed", "vary", "only", "named"),
    [
        ({}, {"rat": [1]}, [], "rate"),
        ({}, {"rate": [101]}, [], "101"),
        ({}, {"rate": []}, [], "rate"),
        ({}, {"seeds": [1]}, [], "seeds: is given twice"),
        ({"seeds": [1]}, {}, [], "seeds: is given twice"),
        ({"rate": 1}, {"rate": [2]}, [], "rate"),
        ({}, {}, ["nobody-*"], "own, shared"),
        ({}, {"rate": list(range(1, 101)), "share": [i / 200 for i in range(200)]}, [], "20000"),
    ],
)
def test_an_invalid_sweep_is_refused_before_anything_runs(
    fixed: dict[str, object], vary: dict[str, list[object]], only: list[str], named: str
) -> None:
    with pytest.raises(UserError, match=named.replace("*", r"\*")):
        settings_of(Subject.of("tiny"), fixed, vary, (1,), only)


@pytest.mark.parametrize("given", [[1, 2, 3], [(1,), (2,), (3,)], range(1, 4)])
def test_varied_seeds_are_the_seeds_of_every_setting(given: Sequence[object]) -> None:
    asked = settings_of(Subject.of("tiny"), {}, {"rate": [1, 2], "seeds": given}, None)
    assert asked == settings_of(Subject.of("tiny"), {}, {"rate": [1, 2]}, (1, 2, 3))
    with pytest.raises(UserError, match="seeds"):
        settings_of(Subject.of("tiny"), {}, {"seeds": []}, None)


@pytest.mark.parametrize(
    "text", ["rate=3-1", "seeds=3-1", "seeds=1-99999999999", "factors=1-3", f"rate=1-{'9' * 5000}"]
)
def test_an_invalid_range_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=text.partition("=")[0]):
        parse_axis(text, Subject.of("tiny"))


def test_a_range_whose_steps_miss_its_end_is_refused() -> None:
    with pytest.raises(UserError, match=r"'80:99:10': does not reach its end by whole steps.* 90 as the end"):
        parse_axis("rate=80:99:10", Subject.of("tiny"))


def test_only_variants_that_match_a_pattern_are_run() -> None:
    found = settings_of(Subject.of("tiny"), {}, {"rate": [1, 2]}, (1,), ["o*"])
    assert [spec.variant for setting in found for spec in setting.specs] == ["own", "own"]


def test_schedulers_are_accepted_only_by_experiments_that_take_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    write_starter("idea-for-a-sweep", tmp_path)
    with pytest.raises(UserError, match=r"takes no schedulers.*use tstorm-word-count"):
        Subject.of("tstorm-reassign-smoothing", ["default"])
    chosen = ["default", "online:tstorm:gamma=1.8", f"{tmp_path}/idea_for_a_sweep.py:IdeaForASweep"]
    entrants = Subject.of("tstorm-word-count", chosen).entrants
    assert [(entrant.name, entrant.online) for entrant in entrants] == [
        ("default", False), ("tstorm-gamma1.8-online", True), ("idea-for-a-sweep", False)
    ]  # fmt: skip


def test_metrics_are_chosen_by_name_or_by_table() -> None:
    assert metric_names(["nodes_mean", "steady latency"])[:2] == ("nodes_mean", "complete_mean_ms")
    with pytest.raises(UserError, match="nodes_mean"):
        metric_names(["nodes_meen"])


def test_workers_and_the_writes_of_the_last_minute_are_counted_for_each_run() -> None:
    rows = [
        ("a", 5.0, "supervisor:m1", "start-worker", "{}"),
        ("a", 9.0, "supervisor:m1", "kill-worker", "{}"),
        ("a", 9.0, "supervisor:m2", "start-worker", "{}"),
        ("a", 60.0, "capture", "writes", '{"writes": 70}'),
        ("a", 120.0, "capture", "writes", '{"writes": 30}'),
        ("a", 120.0, "capture", "writes", '{"writes": 4}'),
        ("b", 5.0, "supervisor:m1", "start-worker", "{}"),
    ]
    control = pd.DataFrame(rows, columns=["run", "time_s", "actor", "action", "detail"])
    counted = of_control(control).set_index("run")
    assert counted["workers_started"].to_dict() == {"a": 2, "b": 1}
    assert counted["workers_killed"].to_dict() == {"a": 1, "b": 0}
    assert counted["zookeeper_writes"]["a"] == 34
    assert math.isnan(counted["zookeeper_writes"]["b"])


def hand_made_rows() -> pd.DataFrame:
    empty = dict.fromkeys(METRICS)
    common = {"experiment": "tiny", "variant": "own", "topology": "t", "reason": ""} | empty
    return pd.DataFrame(
        [
            {"rate": 1} | common | {"seed": 1, "run": "a", "status": "complete", "nodes_mean": 5.0},
            {"rate": 1} | common | {"seed": 2, "run": "b", "status": "stopped", "nodes_mean": 7.0},
            {"rate": 1} | common | {"seed": 3, "run": "c", "status": FAILED, "topology": ""},
            {"rate": 2} | common | {"seed": 1, "run": "d", "status": "complete", "nodes_mean": 4.0},
        ]
    )


def test_the_summary_has_students_interval_over_seeds_and_counts_missing_runs() -> None:
    first, second = summary_rows(hand_made_rows(), ["nodes_mean"]).to_dict("records")
    # Two values: half-width 12.706 * sqrt(2) / sqrt(2).
    assert first["mean"] == 6.0
    assert first["high"] - first["mean"] == pytest.approx(12.706, abs=1e-3)
    assert [first[name] for name in ("runs", "seeds", "stopped_runs", "failed_runs")] == [3, 2, 1, 1]
    assert second["mean"] == 4.0
    assert math.isnan(second["low"])


def test_the_printed_summary_shows_stopped_and_failed_runs() -> None:
    text = shown(summary_rows(hand_made_rows(), ["nodes_mean"]))
    assert "2 (1 stopped, 1 failed)" in text
    assert "6 ± 13" in text


def test_settings_that_differ_in_the_last_digits_of_a_list_are_summarised_apart() -> None:
    found = planned(Subject.of("tiny"), {}, {"factors": [3.3, 1.1 + 2.2]}, (1,), ("own",))
    names = [[identity_of(spec).run for spec in setting.specs] for setting in found.settings]
    rows = run_rows(found.settings, names, None, {run: "no" for own in names for run in own})
    assert rows["factors"].tolist() == ["3.3", "3.3000000000000003"]
    assert len(summary_rows(rows, ["nodes_mean"])) == 2


def test_a_varied_duration_is_in_the_tables() -> None:
    spec = tiny_runs.spec("own", tiny_runs.timed, 1, rate=5)
    run = identity_of(spec).run
    frames: dict[str, Any] = {
        table: pd.DataFrame([{"run": run, "topology": "t", **dict.fromkeys(METRICS, 1.0)}])
        for table in METRIC_TABLES
    }
    control = pd.DataFrame([(run, 1.0, "nimbus", "assign", "{}")])
    frames["control"] = control.set_axis(["run", "time_s", "actor", "action", "detail"], axis=1)
    facts = {"experiment": "tiny", "run": run, "status": "complete", "reason": ""}
    frames["runs"] = pd.DataFrame([facts | {"warm_up_s": 150.0, "duration_s": 300.0}])
    tables: Any = SimpleNamespace(**frames)
    rows = run_rows([Setting({"duration_s": 300.0}, (spec,))], [[run]], tables, {})
    assert rows["duration_s"].tolist() == [300.0]


def test_constants_apply_to_all_runs_of_a_sweep_and_change_its_name() -> None:
    machine = given_constants("memory_slowdown=7")
    assert machine is not None
    usual, slow = (
        planned(Subject.of("tiny"), {}, {"rate": [1, 2]}, (1,), constants=each) for each in (None, machine)
    )
    assert [spec.variant for spec in slow.specs] == [spec.variant for spec in usual.specs]
    assert {spec.inputs["machine"] for spec in slow.specs} == {machine.digest}
    assert slow.name != usual.name


def test_runs_shared_by_settings_are_played_once_and_have_a_row_in_each(marks: Path, tmp_path: Path) -> None:
    found = planned(Subject.of("tiny"), {}, {"rate": [1, 2]}, (1,))
    played = play_all(found.specs, home=tmp_path / "runs", jobs=0)
    assert len(list(marks.iterdir())) == 3
    assert len({run.folder for run in played}) == 3
    names = [run.folder.name for run in played]
    rows = run_rows(found.settings, [names[:2], names[2:]], None, dict.fromkeys(names, "no"))
    assert rows["run"].tolist() == names
    assert rows["rate"].tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("emulate", [tiny_runs.refusing, tiny_runs.broken, tiny_runs.dying])
def test_other_runs_continue_when_one_fails(tmp_path: Path, emulate: Callable[..., None]) -> None:
    specs = [
        tiny_runs.spec("bad", emulate),
        *(tiny_runs.spec("good", tiny_runs.quick, seed) for seed in (1, 2, 3)),
    ]
    failures: dict[str, str] = {}
    played = play_all(specs, home=tmp_path, jobs=1, failures=failures)
    assert list(failures) == [identity_of(specs[0]).run]
    assert [run.spec.seed for run in played] == [1, 2, 3]


@pytest.mark.spark
def test_a_sweep_has_a_row_for_every_run_and_plays_only_missing_runs(
    tmp_path: Path,
) -> None:
    home = tmp_path / "runs"
    asked = {"jobs": 1, "seeds": (3, 5), "home": home, "show_progress": False}
    once = sweep("tiny", vary={"rate": [7]}, on_spark=False, **asked)  # type: ignore[arg-type]
    played = {run: run.stat().st_mtime_ns for run in home.glob("tiny/*/manifest.json")}
    assert len(played) == 4
    assert once["complete_mean_ms"].tolist() == [3, 3, 5, 5]
    # It makes no difference whether Spark or local processes played the existing runs.
    more = sweep("tiny", vary={"rate": [7, 13, 8]}, on_spark=True, **asked)  # type: ignore[arg-type]
    assert len(list(home.glob("tiny/*/manifest.json"))) == 6
    assert {run: run.stat().st_mtime_ns for run in played} == played
    assert more["status"].tolist() == ["complete"] * 4 + [FAILED, "complete"] * 2 + ["complete"] * 4
    assert "lower it" in more["reason"][4]
    assert more["complete_mean_ms"].dropna().tolist() == [3, 3, 5, 5, 3, 5, 3, 3, 5, 5]


@pytest.mark.spark
def test_the_command_writes_its_tables_and_fails_when_a_run_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def play_here(specs: list[RunSpec], **given: Any) -> object:
        return play_all(specs, **(given | {"home": tmp_path / "runs", "jobs": 0}))

    monkeypatch.setattr("storm_lab.runs.sweep.play_all", play_here)
    out = tmp_path / "tables"
    command = ["sweep", "tiny", "--vary", "rate=7,13", "--seeds", "1-2", "--jobs", "1", "--out", str(out)]
    with pytest.raises(SystemExit) as end:
        main([*command, "--metric", "complete_mean_ms", "--json"])
    assert end.value.code == 1
    document = json.loads(capsys.readouterr().out)
    assert document["folder"] == str(out)
    own = [row for row in document["summary"] if row["variant"] == "own"]
    assert [(row["rate"], row["mean"], row["failed_runs"]) for row in own] == [(7, 1.5, 0), (13, None, 2)]
    assert len(pd.read_parquet(out / "runs.parquet")) == len(pd.read_csv(out / "runs.csv")) == 8
    assert len(pd.read_csv(out / "summary.csv")) == 4
    assert json.loads((out / "sweep.json").read_text())["settings"] == [{"rate": 7}, {"rate": 13}]
