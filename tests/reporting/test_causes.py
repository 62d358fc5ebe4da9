"""Every claim that is not reproduced has a cause; every number that was chosen on results is counted."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from storm_lab.errors import UserError
from storm_lab.experiments.cause import Cause, CauseClass, load_causes, read_causes
from storm_lab.experiments.claim import number
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Basis, Measurement, over_seeds
from storm_lab.experiments.trial import Trial
from storm_lab.papers.nstorm.runs import KEPT, UNHURRIED
from storm_lab.papers.registry import experiment, experiments
from storm_lab.reporting.chosen import chosen_numbers
from storm_lab.reporting.record import collect_verdicts
from storm_lab.reporting.report import render_report
from storm_lab.reporting.tally import Standing, count_chosen, standing, tried_once
from storm_lab.reporting.verdict import Outcome, judge, reading_text
from storm_lab.runs.claims_command import claims

VERDICTS = Path(__file__).parents[2] / "reports" / "verdicts"
CLAIM = "tstorm-fig2-n5w5"
"""Printed: 35 %, band 30 to 40."""

PRINTED = load_claims().claim(CLAIM)
OWN = Measurement(CLAIM, (over_seeds([99.0, 101.0]),), "%", "the latency")

ENTRY = f"""
- claims: [{CLAIM}]
  class: input not printed
  why: It depends on a cost that is not printed.
  evidence: 3 of 5 costs give it.
"""


def test_a_claim_has_a_cause_exactly_if_it_is_not_reproduced() -> None:
    missed = {
        verdict.claim.id
        for verdict in collect_verdicts(VERDICTS)
        if verdict.outcome in (Outcome.DIRECTION, Outcome.NOT_REPRODUCED)
    }
    assert sorted(missed - set(load_causes())) == [], "not reproduced, and no cause in causes.yaml"
    assert sorted(set(load_causes()) - missed) == [], "a cause in causes.yaml, and yet reproduced"


def test_a_cause_names_a_parameter_and_a_value_that_its_experiment_takes() -> None:
    for cause in load_causes().values():
        if cause.parameter:
            declared = experiment(load_claims().claim(cause.claim).owner)
            declared.parsed((f"{cause.parameter}={cause.value}",))


def test_the_parameter_value_that_a_cause_names_is_played() -> None:
    for cause in load_causes().values():
        if not cause.parameter:
            continue
        declared = experiment(load_claims().claim(cause.claim).owner)
        value = declared.parsed((f"{cause.parameter}={cause.value}",))[cause.parameter]
        default = declared.checked()
        assert value != default[cause.parameter], f"{cause.claim}: {cause.value} is what is played anyway"
        played = {spec.parameters.get(cause.parameter) for spec in declared.runs(default)}
        assert value in played, f"{cause.claim}: {cause.parameter} {cause.value} is not played"


def test_a_cause_does_not_repeat_measured_values() -> None:
    """A number in a text would become stale; the report shows the measured one beside the verdict."""
    found = {verdict.claim.id: verdict for verdict in collect_verdicts(VERDICTS)}
    for cause in load_causes().values():
        words = f"{cause.why} {cause.evidence}"
        assert not re.search(r"\[-?[\d.]+, -?[\d.]+\]", words), f"{cause.claim}: an interval"
        for verdict in (found[cause.claim], *found[cause.claim].readings):
            for value in verdict.measurement.values if verdict.measurement else ():
                text = "" if value.value is None else number(value.value)
                assert len(text.strip("-0.")) < 4 or text not in words, f"{cause.claim}: {text}"


def test_another_reading_is_listed_with_the_verdict_and_does_not_change_it() -> None:
    varied = replace(OWN, values=(over_seeds([34.0, 36.0]),), reading="service times of cv 0.5")
    verdict = judge(PRINTED, OWN, [varied])
    assert verdict.outcome is not Outcome.REPRODUCED
    assert [(each.reading, each.outcome) for each in verdict.readings] == [
        ("service times of cv 0.5", Outcome.REPRODUCED)
    ]
    assert standing(verdict, None) is Standing.READING
    assert count_chosen([verdict]) == 0
    impossible = Cause(CLAIM, CauseClass.PAPER, "it cannot be", "1 + 1", impossible=True)
    assert standing(judge(PRINTED, OWN), impossible) is Standing.IMPOSSIBLE
    assert standing(judge(PRINTED, OWN), None) is Standing.OPEN


def test_a_reading_that_was_chosen_on_its_claim_is_marked_and_counted() -> None:
    chosen = replace(OWN, values=(over_seeds([34.0, 36.0]),), reading="bolts of 1 ms", basis=Basis.FITTED)
    verdict = judge(PRINTED, OWN, [chosen])
    assert count_chosen([verdict]) == 1
    told = reading_text(verdict.readings[0])
    assert told.startswith("with bolts of 1 ms: 35 [")
    assert told.endswith("(reproduced, fitted)")
    predicted = replace(chosen, reading="another", basis=Basis.PREDICTED)
    assert count_chosen([judge(PRINTED, OWN, [chosen, predicted])]) == 0, "one that was not chosen is enough"
    own = replace(chosen, reading="", basis=None)
    assert count_chosen([judge(PRINTED, own)]) == 0, "reproduced without any reading"


def test_a_setting_tried_with_one_seed_is_named_with_the_claims_that_only_it_reproduces() -> None:
    tried = replace(OWN, values=(over_seeds([35.0]),), reading="bolts of 1 ms", basis=Basis.FITTED)
    assert tried_once([judge(PRINTED, OWN, [tried])]) == {"bolts of 1 ms": (CLAIM,)}
    every_seed = replace(tried, values=(over_seeds([34.0, 36.0]),), reading="bolts of 2 ms")
    assert tried_once([judge(PRINTED, OWN, [tried, every_seed])]) == {}, "a reading is in the table"
    assert tried_once([judge(PRINTED, OWN, [replace(tried, basis=Basis.PREDICTED)])]) == {}
    assert tried_once([judge(PRINTED, OWN)]) == {}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ENTRY.replace("input not printed", "bad luck"), "unknown class"),
        (ENTRY.replace("  why", "  wherefore"), "unknown key"),
        (ENTRY.replace(CLAIM, "tstorm-fig99"), "no such claim"),
        (ENTRY + ENTRY, "two causes"),
        (ENTRY + "  impossible: true\n", "only a paper"),
        (ENTRY + "  parameter: bolt_ms\n", "go together"),
        (ENTRY.replace("  evidence: 3 of 5 costs give it.\n", ""), "needs this key"),
        (ENTRY.replace(f"[{CLAIM}]", CLAIM), "a list of claims"),
    ],
)
def test_an_incomplete_or_invalid_cause_is_refused(entry: str, message: str) -> None:
    assert read_causes(ENTRY)[CLAIM].kind is CauseClass.INPUT
    with pytest.raises(UserError, match=message):
        read_causes(entry)


def test_an_input_that_was_chosen_on_a_result_names_the_claims() -> None:
    for declared in experiments():
        for parameter in declared.parameters:
            if re.search(r"\b([Cc]hosen|[Ff]itted)\b", parameter.doc) and not parameter.name.endswith(
                ("_tried", "_tried_s", "_tried_ms")
            ):
                assert parameter.chosen_on, f"{declared.slug}: {parameter.name} counts as chosen on results"
            for claim in parameter.chosen_on:
                if "recordings" not in claim:
                    load_claims().claim(claim)


def test_a_claim_that_an_input_was_chosen_on_counts_as_fitted() -> None:
    for declared in experiments():
        for parameter in declared.parameters:
            # A parameter that only another reading uses makes that reading fitted, and not the claim.
            if not parameter.doc.startswith("reading with"):
                for claim in parameter.chosen_on:
                    assert "recordings" in claim or load_claims().claim(claim).fitted, (
                        f"{declared.slug}: {parameter.name} was chosen on {claim}, which the ledger calls "
                        "predicted"
                    )


def test_a_chosen_input_that_experiments_share_is_counted_once() -> None:
    names = [(entry.name, entry.value, entry.claims) for entry in chosen_numbers(())]
    assert len(names) == len(set(names))
    (windows,) = [entry for entry in chosen_numbers(()) if entry.name == "overload_windows"]
    assert "tstorm-word-count" in windows.owner
    assert windows.claims == ("tstorm-fig9-detect",)


def trials_of(module: ModuleType) -> Iterator[Trial]:
    for value in vars(module).values():
        yield from (
            each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, Trial)
        )


def test_values_of_readings_that_were_chosen_on_results_are_counted_too() -> None:
    counted = {(entry.name, entry.value) for entry in chosen_numbers(())}
    assert {("resident_mb", "640 MB"), ("process_penalty", "1"), ("think_ms", "100 ms")} <= counted
    declared = {id(trial) for experiment in experiments() for trial in experiment.chosen}
    modules = [each for name, each in sys.modules.items() if name.startswith("storm_lab.papers")]
    chosen = {
        id(trial): trial
        for module in modules
        for trial in trials_of(module)
        if trial.reading and trial.chosen_on
    }
    assert chosen
    assert [trial.label for place, trial in chosen.items() if place not in declared] == []


def test_the_claims_command_explains_a_single_claim() -> None:
    told = CliRunner().invoke(claims, ["rstorm-fig10-diamond-cpu"]).output
    for word in ("R-Storm", "band", "verdict", "paper contradicts itself", "storm-lab run rstorm-cpu-bound"):
        assert word in told
    (row,) = json.loads(CliRunner().invoke(claims, ["rstorm-fig10-diamond-cpu", "--json"]).output)
    assert row["class"] == "paper contradicts itself"
    assert row["standing"] == "impossible as printed"


def test_the_claims_command_gives_all_options_of_a_reading_that_reproduces_the_claim() -> None:
    told = CliRunner().invoke(claims, ["nstorm-no-loss"]).output
    (line,) = [line for line in told.splitlines() if "try it" in line]
    _, _, program, command, slug, *options = shlex.split(line)
    assert (program, command, slug) == ("storm-lab", "run", "nstorm-delayed-kill")
    declared = experiment(slug)
    given = declared.parsed(tuple(text for text in options if text != "-p"))
    assert {name: given[name] for name in KEPT.changes} == dict(KEPT.changes)


def test_a_claim_that_no_reading_reproduces_comes_with_all_options_of_the_one_that_shows_its_cause() -> None:
    told = CliRunner().invoke(claims, ["nstorm-fig8-nstorm-storm"]).output
    options = " ".join(f"-p {name}={value}" for name, value in UNHURRIED.changes.items())
    assert f"try it  storm-lab run nstorm-single-migration {options}\n" in told
    assert f"<code>storm-lab run nstorm-single-migration {options}</code>" in render_report(VERDICTS.parent)


def test_a_trial_that_reproduces_a_claim_is_offered_if_the_experiments_parameters_can_express_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask = ["rstorm-star-bottleneck"]
    assert "try it  storm-lab run rstorm-cpu-bound -p sleep_ms=47.0" in CliRunner().invoke(claims, ask).output
    own = experiment("rstorm-cpu-bound")
    fewer = replace(own, parameters=tuple(each for each in own.parameters if each.name != "sleep_ms"))
    monkeypatch.setattr("storm_lab.reporting.try_it.experiment", lambda slug: fewer)
    assert "try it" not in CliRunner().invoke(claims, ask).output
