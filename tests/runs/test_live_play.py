"""Which runs are played live and how they are named; these tests start no cluster."""

import math

import numpy as np
import pytest
from click.testing import CliRunner

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.faults.commands import SetLoad
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.errors import UserError
from storm_lab.live.play import scaled
from storm_lab.live.releases import RELEASES
from storm_lab.live.scenes import HERE, SCENES, chain
from storm_lab.model import StormVersion
from storm_lab.papers.registry import experiment
from storm_lab.runs.live_command import live
from storm_lab.runs.live_play import LiveTask, experiment_tasks, live_identity, nearest_release

V2 = RELEASES["2.8.3"].storm


@pytest.mark.parametrize(
    ("version", "release"),
    [("0.8.2", "0.9.2-incubating"), ("0.9.2", "0.9.2-incubating"), ("0.9.3", "0.9.7"), ("1.0.6", "1.2.4"),
     ("2.0.0", "2.8.3"), ("2.8.8", "2.8.3")],
)  # fmt: skip
def test_an_experiment_is_played_with_its_version_or_the_next_newer_one(version: str, release: str):
    assert nearest_release(StormVersion.parse(version)).version == release


def test_plays_of_a_scene_have_their_own_names_and_are_marked_as_live():
    spec = SCENES["light-1w"].describe(V2, 2500.0)
    tasks = [LiveTask("live", "light-1w", {}, play, spec) for play in (1, 2)]
    names = [live_identity(task) for task in tasks]
    assert names[0].run != names[1].run
    assert {name.runtime for name in names} == {"live"}
    assert names[0].experiment == "live"
    assert names[0].inputs == {"chain": tasks[0].spec.topologies[0].trace.digest}


def test_an_experiment_has_the_same_runs_live_as_in_the_emulator():
    chosen = experiment("tstorm-obs1-traffic")
    specs = chosen.runs(chosen.checked())
    tasks = experiment_tasks(chosen, StormVersion.parse("0.9.2"), load=0.5, longest_s=60.0)
    assert [(task.variant, task.seed) for task in tasks] == [(spec.variant, spec.seed) for spec in specs]
    assert tasks[0].spec.duration_s <= 60.0
    assert str(tasks[0].spec.version) == "0.9.2"
    assert tasks[0].parameters["live_load"] == 0.5


def test_parameters_choose_the_runs_as_in_the_emulator():
    chosen = experiment("tstorm-obs1-traffic")
    parameters = chosen.parsed(["seeds=2", "bolt_ms_tried=1.7"])
    assert {task.seed for task in experiment_tasks(chosen, V2, parameters)} == {2}


def test_variants_are_chosen_by_patterns():
    chosen = experiment("tstorm-obs1-traffic")
    one = chosen.runs(chosen.checked())[0].variant
    assert {task.variant for task in experiment_tasks(chosen, V2, only=[one])} == {one}
    assert experiment_tasks(chosen, V2, only=["no-such-*"]) == []


def _spec(source: SourcePlan, **changes):
    return chain(V2, 2500.0, source, HERE, ackers=1, duration_s=100.0, **changes)


def test_a_load_of_a_half_halves_the_rate_at_the_start_and_after_changes():
    steps = (SetLoad(10.0, "chain", "spout", 30.0), SetLoad(90.0, "chain", "spout", 50.0))
    small = scaled(
        _spec(SourcePlan(SourceKind.RATE, rate_per_s=20.0), faults=steps), load=0.5, longest_s=50.0
    )
    assert small.topologies[0].sources["spout"].rate_per_s == 10.0
    assert small.faults == FaultPlan((SetLoad(10.0, "chain", "spout", 15.0),))
    assert small.duration_s == 50.0


def test_a_load_of_a_half_stretches_recorded_arrivals_to_twice_the_time():
    arrivals = np.array([0, 100, 250], np.int64)
    source = SourcePlan(SourceKind.TRACE, arrivals_ns=arrivals, arrival_period_ns=300)
    small = scaled(_spec(source), load=0.5).topologies[0].sources["spout"]
    assert small.arrivals_ns is not None
    assert small.arrivals_ns.tolist() == [0, 200, 500]
    assert small.arrival_period_ns == 600


def test_a_load_of_one_changes_nothing():
    spec = _spec(SourcePlan(SourceKind.RATE, rate_per_s=20.0))
    assert scaled(spec).topologies[0].sources == spec.topologies[0].sources


@pytest.mark.parametrize("value", [0.0, math.inf, math.nan])
def test_a_load_or_time_out_of_range_is_refused(value: float):
    spec = _spec(SourcePlan(SourceKind.RATE, rate_per_s=20.0))
    with pytest.raises(UserError, match=f"load = {value}: .*; give 0.0001 to 10000"):
        scaled(spec, load=value)
    with pytest.raises(UserError, match=f"seconds = {value}: .*; give 0.001 to"):
        scaled(spec, longest_s=value)


def test_the_command_lists_the_scenes():
    said = CliRunner().invoke(live, ["run", "--list"])
    assert said.exit_code == 0
    assert [line.split()[0] for line in said.output.splitlines()] == list(SCENES)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "light-9w"], "no such scene or experiment"),
        (["run", "light-1w", "--version", "3.0"], "cannot be run live"),
        (["run", "algorithms"], "plays no runs"),
        (["run", "tstorm-word-count", "--repeat", "2"], "--repeat = 2: applies to scenes only"),
        (["run", "tstorm-obs1-traffic", "--only", "nothing-*"], "no run matches"),
        (["run", "tstorm-obs1-traffic", "-p", "sseeds=1"], "sseeds"),
        (["run", "light-1w", "-p", "seeds=1"], "--param = 'seeds=1': applies to experiments only"),
        (["run", "light-1w", "--seconds", "5"], "--seconds = 5.0: applies to experiments only"),
        (["run", "light-1w", "--load", "0.5"], "--load = 0.5: applies to experiments only"),
        (["run", "light-1w", "--only", "x"], "--only = 'x': applies to experiments only"),
        (["run", "tstorm-obs1-traffic", "--repeat", "3"], "--repeat = 3: applies to scenes only"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_starts(arguments: list[str], words: str):
    said = CliRunner().invoke(live, arguments)
    assert isinstance(said.exception, UserError)
    assert words in str(said.exception)
