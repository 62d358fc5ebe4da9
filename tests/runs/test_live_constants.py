"""A machine's constants, or a reader's own, reach every run, give it its own name and rename no other run."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.league.entrant import Entrant
from storm_lab.league.example_site import example_site
from storm_lab.model import StormVersion
from storm_lab.papers.registry import experiment
from storm_lab.runs.digest import identity_of
from storm_lab.runs.live_constants import (
    FILE_NAME,
    Constants,
    MachineConstants,
    OwnConstants,
    given_constants,
    read_constants,
    settable_parameters,
)
from storm_lab.runs.reproduce import notebook_job
from storm_lab.runs.study import Study
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.tournament.league import League
from storm_lab.tournament.suite import suite
from storm_lab.tournament.tournament import Tournament

SLUG = "tstorm-word-count"
TEXT = "jvm_start_s=9.0,memory_slowdown=5.0,sync_s=0.02,timers_drift=false"


@pytest.fixture
def machine(tmp_path: Path) -> MachineConstants:
    """Read from the file that a calibration writes."""
    path = tmp_path / "my-machine.json"
    MachineConstants({"0.9": {"wake_us": 77.0}, "2.8": {"wake_us": 55.0}}, {}, {"cores": 2}).write(path)
    return read_constants(path)


def test_an_experiments_runs_have_the_constants_and_their_own_names(machine: MachineConstants) -> None:
    plain = Study.of(SLUG)
    own = Study(plain.experiment, plain.parameters, machine)
    assert plain.is_default and not own.is_default
    assert plain.workspace != own.workspace
    for one, other in zip(plain.specs()[:2], own.specs()[:2], strict=True):
        assert identity_of(one).run != identity_of(other).run
        assert identity_of(other).inputs["machine"] == machine.digest
        before, after = one.describe(one), pickle.loads(pickle.dumps(other)).describe(other)
        # T-Storm's 0.8.2 is nearest to 0.9; nothing else of the cost model is touched.
        assert after.cost.wake_us == 77.0 != before.cost.wake_us
        assert after.cost.lan_us == before.cost.lan_us


@pytest.mark.parametrize("by_name", [False, True])
def test_a_notebook_takes_the_constants_like_the_command_line(
    machine: MachineConstants, by_name: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path))
    given = given_constants(TEXT) if by_name else machine
    study = Study(Study.of(SLUG).experiment, Study.of(SLUG).parameters, given)
    again = Study.of_notebook(SLUG, dict(notebook_job(study).parameters))
    assert (again.machine, again.digest, again.workspace) == (given, study.digest, study.workspace)
    assert by_name or (study.workspace / FILE_NAME).is_file()


def test_a_tournament_takes_the_constants(machine: MachineConstants) -> None:
    cases = suite("generated", instances=1, seed=1, duration_s=240.0)[:1]
    entrants = (Entrant("default", DefaultScheduler()),)
    ((plain,), (own,)) = (
        Tournament(entrants, cases, (1,), each).specs()[cases[0].name] for each in (None, machine)
    )
    assert identity_of(plain).run != identity_of(own).run
    assert own.describe(own).cost.wake_us in (77.0, 55.0)


def test_a_site_and_its_league_take_the_constants(machine: MachineConstants) -> None:
    site = example_site(cost=machine.cost(StormVersion((2, 8, 3))), version=StormVersion((2, 8, 3)))
    assert site.conditions.cost.wake_us == 55.0
    league = League.of((Entrant("default", DefaultScheduler()),), example_site(), machine=machine)
    assert league.machine is machine


@pytest.mark.parametrize(
    ("version", "nearest"), [("0.8.2", "0.9"), ("1.0.6", "0.9"), ("2.2.0", "2.0"), ("2.6.1", "2.8")]
)
def test_a_version_without_constants_has_those_of_the_nearest_generation(version: str, nearest: str) -> None:
    generations = {"0.9": 50.0, "2.0": 60.0, "2.8": 70.0}
    constants = {name: {"wake_us": value} for name, value in generations.items()}
    cost = MachineConstants(constants, {}, {}).cost(StormVersion.parse(version))
    assert cost.wake_us == generations[nearest]


def test_a_cost_model_keeps_its_other_constants(machine: MachineConstants) -> None:
    before = CostModel(look_us=7.0)
    after = machine.cost(StormVersion((0, 9, 2)), before)
    assert (after.wake_us, after.look_us) == (77.0, 7.0)


def _file(generations: object, machine: object) -> str:
    return json.dumps({"schema": "machine/1", "machine": machine, "generations": generations})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_file({"2.8": {"constants": {}}}, 5), "machine = 5: must be a JSON object"),
        (_file({"2.8": {"constants": {}}}, ["ab"]), "machine = ['ab']: must be a JSON object"),
        (_file({"2.8": {"constants": {}, "scenes": None}}, {}), "generations.2.8.scenes"),
        (_file({"2.8": {"constants": {}, "scenes": "one"}}, {}), "generations.2.8.scenes = 'one'"),
        (_file({"2.8": {"constants": {"wake_us": 10**400}}}, {}), "generations.2.8.wake_us = 1000"),
        (_file({"\u00b2": {"constants": {}}}, {}), "generations = '\u00b2': not a generation"),
        (_file({".9": {"constants": {}}}, {}), "generations = '.9': not a generation"),
        (_file({"2-c1": {"constants": {}}}, {}), "generations = '2-c1': not a generation"),
        ("[" * 100_000, "the constants cannot be read"),
    ],
)
def test_a_file_that_holds_no_machines_constants_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        read_constants(path)
    assert said in str(refused.value) and refused.value.remedy


def test_a_device_is_not_read_as_a_file_of_constants() -> None:
    # Unlike /dev/zero, this one has an end: a mistake here must not fill the memory.
    with pytest.raises(UserError, match="constants = '/dev/null': is not a regular file; write one with"):
        read_constants(Path("/dev/null"))


def study_with(text: str) -> Study:
    """Word Count with its own parameters and these constants."""
    found = experiment(SLUG)
    return Study(found, found.checked(), OwnConstants.parsed(text))


def test_given_constants_reach_the_run_and_change_nothing_else() -> None:
    run = study_with(TEXT).specs()[0]
    before = Study.of(SLUG).specs()[0]
    usual, found = before.describe(before), pickle.loads(pickle.dumps(run)).describe(run)
    assert (found.cost.memory_slowdown, found.times.jvm_start_s, found.zookeeper.sync_s) == (5.0, 9.0, 0.02)
    assert found.timers is not None and not found.timers.timers_drift
    assert found.cost == replace(usual.cost, memory_slowdown=5.0), "nothing else"
    assert found.timers.executors_begin == "at-start", "the other timers are those of 0.8"


def test_runs_with_given_constants_have_their_own_names_and_others_keep_theirs() -> None:
    plain = Study.of(SLUG)
    given: list[Constants] = [
        *map(OwnConstants.parsed, ("memory_slowdown=5", "memory_slowdown=6", "timers_drift=false")),
        *(MachineConstants({"0.9": {"wake_us": value}}, {}, {}) for value in (77.0, 78.0)),
    ]
    studies = [plain, *(Study(plain.experiment, plain.parameters, each) for each in given)]
    names = {identity_of(study.specs()[0]).run for study in studies}
    assert len(names) == len(studies)
    assert "machine" not in plain.specs()[0].inputs
    assert [study.is_default for study in studies] == [True] + [False] * len(given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memory_slowdow=5", "did you mean memory_slowdown"),
        ("memory_slowdown=50", "0 to 10"),
        ("jvm_start_s=soon", "wrong type"),
        ("timers_drift=3", "true or false"),
        ("nimbus_round_s=0", "nimbus_round_s"),
        ("memory_slowdown=5,memory_slowdown=6", "given twice"),
        ("memory_slowdown=5,jvm_start_s", "write name=value"),
        ("no/such.json", "cannot be read"),
    ],
)
def test_unknown_or_invalid_constants_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        given_constants(text)
    assert "\n" not in str(refused.value)


def test_constants_are_refused_for_an_experiment_without_runs() -> None:
    found = experiment("nstorm-worst-case")
    with pytest.raises(UserError, match="plays no runs"):
        Study(found, found.checked(), OwnConstants.parsed("memory_slowdown=5")).specs()


def test_timers_from_storm_settings_are_kept_beside_the_given_ones() -> None:
    run = Study.of(SLUG).specs()[0]
    spec = replace(run.describe(run), settings={"nimbus.monitor.freq.secs": 4, "storm.zookeeper.x": 1})
    found = OwnConstants.parsed("refresh_s=3").applied(spec)
    assert found.timers is not None
    assert (found.timers.nimbus_round_s, found.timers.refresh_s) == (4.0, 3.0)
    assert list(found.settings) == ["storm.zookeeper.x"], "or the two would contradict each other"


def test_names_of_settable_parameters_are_unique() -> None:
    names = [each.name for each in settable_parameters()]
    assert len(names) == len(set(names))
    assert {"memory_slowdown", "jvm_start_s", "writes_per_s", "timers_drift"} <= set(names)
