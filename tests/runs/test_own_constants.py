"""Constants and timers that a reader sets by name: they reach every run and rename no other run."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from storm_lab.errors import UserError
from storm_lab.papers.registry import experiment
from storm_lab.runs.digest import identity_of
from storm_lab.runs.live_constants import MachineConstants, given_constants
from storm_lab.runs.own_constants import OwnConstants, settable_parameters
from storm_lab.runs.study import Study

SLUG = "tstorm-word-count"
TEXT = "jvm_start_s=9.0,memory_slowdown=5.0,sync_s=0.02,timers_drift=false"


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
    assert not found.timers.spouts_wait_for_connections, "the other timers are those of 0.8"


def test_runs_with_given_constants_have_their_own_names_and_others_keep_theirs() -> None:
    plain = Study.of(SLUG)
    given = [
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
