"""Stages of the papers: an experiment's own run, with an entrant's scheduler in place of Storm's."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from storm_lab.emulator.spec import EmulationSpec, check_spec
from storm_lab.errors import UserError
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import check_parameters
from storm_lab.league.entrant import Entrant
from storm_lab.league.settled import SETTLE_S, SettledRun
from storm_lab.league.stage import stage_parameters, stage_runs
from storm_lab.papers.experiment_stage import ExperimentStage
from storm_lab.papers.stages import PAPERS, paper_stage, stage_slugs, stages
from storm_lab.runs.digest import identity_of
from storm_lab.runs.grid import Subject
from storm_lab.schedulers import make_scheduler

EVEN = Entrant("even", make_scheduler("even"))
ONLINE = Entrant("t-storm", make_scheduler("tstorm"), online=True)


def run_of(name: str, entrant: Entrant = EVEN, **given: object) -> RunSpec:
    stage = paper_stage(name)
    (spec,) = stage_runs(stage, [entrant], stage_parameters(stage, {"seeds": [7], **given}))
    return spec


def settled(spec: RunSpec) -> SettledRun:
    return cast(SettledRun, spec.describe(spec))


def described(name: str, entrant: Entrant = EVEN, **given: object) -> EmulationSpec:
    return settled(run_of(name, entrant, **given)).spec


@pytest.mark.parametrize("name", [name for name in PAPERS if name != "tstorm-word-count"])
def test_a_stage_is_the_experiments_own_run_but_for_the_scheduler(name: str) -> None:
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
    assert settled(run_of(name)).settle_s == SETTLE_S


def test_an_entrant_on_measured_load_brings_its_monitors_and_its_hand_over() -> None:
    run = described("rstorm-network-bound/linear", ONLINE, generation_s=60.0)
    assert run.scheduler.name == "default"
    assert len(run.services) == 2
    assert run.migration != described("rstorm-network-bound/linear").migration


def test_a_sweep_keeps_the_faults_of_the_experiment() -> None:
    (run,) = Subject.of("twitter-semantics", ["even"]).runs({"seeds": (7,)})
    assert settled(run).spec.faults.faults
    assert settled(run).settle_s is None


def test_a_sweep_plays_every_setting_of_an_experiment_under_every_scheduler() -> None:
    runs = Subject.of("rstorm-network-bound", ["even", "rstorm"]).runs({"seeds": (7,)})
    assert [run.variant for run in runs] == [
        f"{setting}-{name}" for setting in ("linear", "diamond", "star") for name in ("even", "rstorm")
    ]
    assert len({identity_of(run).run for run in runs}) == 6


def test_every_paper_takes_entrants() -> None:
    papers = {slug.partition("-")[0] for slug in stage_slugs()}
    assert papers == {"tstorm", "rstorm", "mfstorm", "nstorm", "twitter"}


def test_stages_differ_and_parameters_count() -> None:
    base = run_of("mfstorm-exclamation/S1")
    assert identity_of(base).run != identity_of(run_of("mfstorm-tweet-exclamation/S1")).run
    assert identity_of(base).run != identity_of(run_of("mfstorm-exclamation/S1", duration_s=300.0)).run
    assert identity_of(base).run == identity_of(replace(base)).run


def test_a_stage_that_no_paper_has_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"no such stage.*did you mean rstorm-cpu-bound/star"):
        paper_stage("rstorm-cpu-bound/stars")
