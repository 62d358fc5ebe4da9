"""Trials: which runs they make, with which seeds, and what they leave out."""

from __future__ import annotations

from functools import partial
from typing import cast

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.measurement import Basis, Measured, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.trial import Trial, runs_of, tried, under_trials
from storm_lab.model.version import V0_9_3

GIVEN = Parameters({"seeds": (4, 5, 4), "trials": True, "cores": 4, "cores_tried": (2, 4, 2), "rate": 1.0})
MAKE = partial(RunSpec, "x", describe=lambda spec: cast(EmulationSpec, None), storm_version=V0_9_3)
SETTINGS = {"one": {"scheduler": "default"}, "two": {"scheduler": "other"}}


def names(parameters: Parameters, *trials: Trial) -> list[str]:
    shared = parameters.only(("cores", "rate"))
    return [f"{s.variant}/{s.seed}" for s in runs_of(MAKE, SETTINGS, parameters, shared, trials)]


OWN = ["one/4", "one/5", "two/4", "two/5"]


def test_a_trial_is_played_with_the_first_seed_and_a_reading_with_all() -> None:
    assert names(GIVEN) == OWN
    assert names(GIVEN, Trial("t", "", {"rate": 2.0})) == [*OWN, "one-t/4", "two-t/4"]
    every = names(GIVEN, Trial("r", "", {"rate": 2.0}, reading=True))
    assert every == [*OWN, "one-r/4", "one-r/5", "two-r/4", "two-r/5"]


def test_trials_that_change_nothing_or_are_not_wanted_are_left_out() -> None:
    assert names(GIVEN, Trial("t", "", {"rate": 1.0})) == OWN
    none = GIVEN.changed(trials=False)
    assert names(none, Trial("t", "", {"rate": 2.0})) == OWN
    assert names(none, *tried(none, "cores", "c{}", "{} cores")) == [*OWN, "one-c2/4", "two-c2/4"]


def test_a_trial_of_one_scheduler_or_setting_leaves_the_others_alone() -> None:
    for only in ("other", "two"):
        assert names(GIVEN, Trial("t", "", {"rate": 2.0}, only=only)) == [*OWN, "two-t/4"]


def test_values_that_are_tried_keep_the_type_of_the_parameter() -> None:
    (trial,) = tried(GIVEN, "cores", "c{}", "{} cores a blade")
    assert (trial.name, trial.label, trial.changes) == ("c2", "2 cores a blade", {"cores": 2})
    assert isinstance(trial.changes["cores"], int)


def test_values_that_differ_in_the_eighth_digit_have_trials_of_their_own() -> None:
    found = tried(GIVEN.changed(rate_tried=(1.8, 1.8000001)), "rate", "r{}", "{} lines/s")
    assert [trial.name for trial in found] == ["r1.8", "r1.8000001"]


def test_values_are_tried_with_what_else_a_trial_changes_the_usual_value_among_them() -> None:
    found = tried(GIVEN, "cores", "c{}", "{} cores", claims=("one",), also={"rate": 2.0})
    assert [(trial.name, dict(trial.changes)) for trial in found] == [
        ("c2", {"rate": 2.0, "cores": 2}),
        ("c4", {"rate": 2.0, "cores": 4}),
    ]
    assert {trial.chosen_on for trial in found} == {("one",)}, "one of several values is no prediction"


def test_runs_under_trials_are_named_after_them() -> None:
    def play(values: Parameters) -> list[RunSpec]:
        return [MAKE(variant="v", seed=seed, parameters=values.only(["cores"])) for seed in values.seeds]

    found = list(under_trials(play, GIVEN, tried(GIVEN, "cores", "c{}", "{} cores")))
    assert [(spec.variant, spec.seed, dict(spec.parameters)) for spec in found] == [("v-c2", 4, {"cores": 2})]


def test_a_trial_counts_as_fitted_for_the_claims_it_was_chosen_on() -> None:
    def basis(trial: Trial, claim: str) -> Basis | None:
        found = Measurement(claim, (Measured(1.0, 0.9, 1.1, seeds=5),), "s", "how", reading="another")
        return trial.basis(found)

    chosen = Trial("t", "", {"rate": 2.0}, chosen_on=("one",))
    assert basis(chosen, "one") is Basis.FITTED
    assert basis(chosen, "two") is None, "what the ledger says"
