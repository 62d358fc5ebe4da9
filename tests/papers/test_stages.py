"""Stages of the papers: an experiment's own run, with an entrant's scheduler in place of Storm's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from storm_lab.emulator.spec import EmulationSpec, check_spec
from storm_lab.errors import UserError
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import check_parameters
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import SETTLE_S, stage_runs
from storm_lab.monitoring.random_moves import RandomMoves
from storm_lab.papers.registry import experiments
from storm_lab.papers.stages import PAPERS, ExperimentStage, paper_stage, stage_slugs, stages
from storm_lab.runs.digest import identity_of
from storm_lab.runs.grid import Subject
from storm_lab.runs.sweep import planned
from storm_lab.schedulers import make_scheduler

EVEN = Entrant("even", make_scheduler("even"))
ONLINE = Entrant("t-storm", make_scheduler("tstorm"), online=True)


def run_of(name: str, entrant: Entrant = EVEN, **given: object) -> RunSpec:
    stage = paper_stage(name)
    (spec,) = stage_runs(stage, [entrant], {"seeds": [7], **given})
    return spec


def described(name: str, entrant: Entrant = EVEN, **given: object) -> EmulationSpec:
    run = run_of(name, entrant, **given)
    return run.describe(run)


@pytest.mark.parametrize("name", [name for name in PAPERS if name != "tstorm-word-count"])
def test_a_stage_is_the_experiments_own_run_except_for_the_scheduler(name: str) -> None:
    slug, _, setting = name.partition("/")
    own = stages(slug)[setting]
    assert isinstance(own, ExperimentStage)
    run = own.run(check_parameters(own.own, {"seeds": [7]}, slug))
    theirs, ours = run.describe(run), described(name)
    check_spec(ours)
    assert ours.scheduler.name == "even" and ours.seed == theirs.seed == 7
    for field in ("cluster", "version", "duration_s", "warm_up_s", "cost", "timers", "sample_every"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert [plan.topology for plan in ours.topologies] == [plan.topology for plan in theirs.topologies]
    assert not ours.faults.faults and not ours.services
    assert described(name).settle_s == SETTLE_S


def test_an_online_entrant_adds_its_monitors_and_its_hand_over() -> None:
    run = described("rstorm-network-bound/linear", ONLINE, generation_s=60.0)
    assert run.scheduler.name == "default"
    assert len(run.services) == 2
    assert run.migration != described("rstorm-network-bound/linear").migration


def test_a_sweep_keeps_the_faults_of_the_experiment() -> None:
    (run,) = Subject.of("twitter-semantics", ["even"]).runs({"seeds": (7,)})
    assert run.describe(run).faults.faults
    assert run.describe(run).settle_s is None


def test_a_sweep_plays_every_setting_of_an_experiment_under_every_scheduler() -> None:
    runs = Subject.of("rstorm-network-bound", ["even", "rstorm"]).runs({"seeds": (7,)})
    assert [run.variant for run in runs] == [
        f"{setting}-{name}" for setting in ("linear", "diamond", "star") for name in ("even", "rstorm")
    ]
    assert len({identity_of(run).run for run in runs}) == 6


def test_every_paper_takes_entrants() -> None:
    papers = {slug.partition("-")[0] for slug in stage_slugs()}
    assert papers == {"tstorm", "rstorm", "mfstorm", "nstorm", "twitter"}


def test_an_experiment_that_takes_no_schedulers_says_why_and_names_another() -> None:
    slugs = {each.slug for each in experiments()}
    for slug in slugs - set(stage_slugs()):
        with pytest.raises(UserError, match=r"takes no schedulers, because .*; use .*(-|storm-lab)"):
            stages(slug)
    assert set(stage_slugs()) <= slugs


def test_an_experiment_without_runs_names_one_with_runs() -> None:
    with pytest.raises(UserError, match="has no runs; use nstorm-single-migration"):
        Subject.of("nstorm-worst-case", ["even"])


@pytest.mark.parametrize(
    ("slug", "settings"),
    [
        ("mfstorm-beyond", ["word-count-S1", "exclamation-S1", "diamond-S1", "star-S1"]),
        ("nstorm-delayed-kill", [""]),
        ("nstorm-sync-cycles", ["10-3", "3-1", "1-0.3", "0.3-0.1"]),
        ("twitter-machine-removal", [""]),
        ("twitter-zookeeper-load", ["dedicated", "database", "elsewhere"]),
        ("twitter-max-spout-pending", [""]),
        ("twitter-overheads", ["storm-no-acks", "storm-acks", "original"]),
        ("twitter-scaling", ["window", "removal"]),
    ],
)
def test_a_sweep_plays_the_experiments_own_run_with_another_scheduler(slug: str, settings: list[str]) -> None:
    runs = {run.variant: run.describe(run) for run in Subject.of(slug, ["even"]).runs({"seeds": (7,)})}
    for setting in settings:
        ours = runs[f"{setting}-even" if setting else "even"]
        stage = cast(ExperimentStage, stages(slug)[setting])
        own = stage.run(check_parameters(stage.own, {"seeds": [7]}, slug))
        theirs = own.describe(own)
        check_spec(ours)
        assert (ours.scheduler.name, ours.placement) == ("even", None)
        for field in ("cluster", "duration_s", "warm_up_s", "timers", "faults", "services", "bundle"):
            assert getattr(ours, field) == getattr(theirs, field), field


def test_every_setting_has_its_own_cycles_of_supervisors_and_workers() -> None:
    runs = Subject.of("nstorm-sync-cycles", ["even"]).runs({"seeds": (7,)})
    timers = [run.describe(run).timers for run in runs]
    assert [(each.assignment_sync_s, each.process_sync_s) for each in timers if each is not None] == [
        (10.0, 3.0), (3.0, 1.0), (1.0, 0.3), (0.3, 0.1)
    ]  # fmt: skip


@pytest.mark.parametrize("slug", ["nstorm-multi-migration", "nstorm-delayed-kill"])
def test_the_number_of_moved_executors_can_be_varied(slug: str) -> None:
    subject = Subject.of(slug, ["even"])
    for moved in (2, 8):
        value = subject.parameter("moved").checked([moved] if slug == "nstorm-multi-migration" else moved)
        (run,) = subject.runs({"seeds": (7,), "moved": value})
        (moves,) = run.describe(run).services
        assert cast(RandomMoves, moves).executors == moved


def test_parameter_values_that_leave_out_a_needed_run_are_refused() -> None:
    with pytest.raises(UserError, match=r"nstorm-plus\*-10-3-m\*.*does not exist with these parameters"):
        Subject.of("nstorm-sync-cycles", ["even"]).runs({"seeds": (7,), "syncs_s": (1.0,), "polls_s": (0.3,)})


@pytest.mark.spark
def test_a_sweep_without_tuples_reports_workers_and_writes(tmp_path: Path) -> None:
    subject = Subject.of("twitter-zookeeper-load", ["default", "rstorm"])
    given = {"dedicated_workers": [40], "duration_s": 300.0}
    found = planned(subject, given, {}, (1,), ["dedicated-*"]).run(jobs=1, home=tmp_path)
    default, rstorm = found.rows.sort_values("variant").to_dict("records")
    assert default["workers_started"] == 40
    # One worker suffices for the two executors of a topology.
    assert rstorm["workers_started"] < 40
    assert default["workers_killed"] == rstorm["workers_killed"] == 0
    # A worker's heartbeat is a write every three seconds.
    fewer = default["workers_started"] - rstorm["workers_started"]
    assert default["zookeeper_writes"] - rstorm["zookeeper_writes"] == 20 * fewer
    assert set(found.summary["metric"]) == {"workers_started", "workers_killed", "zookeeper_writes"}


def test_a_runs_identity_depends_on_its_stage_and_parameters() -> None:
    base = run_of("mfstorm-exclamation/S1")
    assert identity_of(base).run != identity_of(run_of("mfstorm-tweet-exclamation/S1")).run
    assert identity_of(base).run != identity_of(run_of("mfstorm-exclamation/S1", duration_s=300.0)).run
    assert identity_of(base).run == identity_of(replace(base)).run


def test_an_unknown_stage_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"no such stage.*did you mean rstorm-cpu-bound/star"):
        paper_stage("rstorm-cpu-bound/stars")
