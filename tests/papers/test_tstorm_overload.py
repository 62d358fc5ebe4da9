"""The overloaded Log Stream as declared: the runs of every seed, and the other values tried."""

from __future__ import annotations

from storm_lab.papers.tstorm import word_count
from storm_lab.papers.tstorm.overload_relief import LOG_STREAM as EXPERIMENT
from storm_lab.papers.tstorm.overload_relief import TRIED_S, WORD_COUNT, rate_trials

DEFAULTS = EXPERIMENT.checked()


def test_other_rules_and_rates_are_short_runs_of_the_first_seed() -> None:
    specs = {spec.variant: spec for spec in EXPERIMENT.runs(DEFAULTS)}
    short = {name: spec for name, spec in specs.items() if spec.parameters.number("duration_s") == TRIED_S}
    assert set(short) == {
        "tstorm-w2",
        "tstorm-w4",
        "tstorm-w5",
        "tstorm-w6",
        "tstorm-a0-g1.5",
        "tstorm-r300",
        "tstorm-r500",
    }
    assert {spec.seed for spec in short.values()} == {1}
    assert short["tstorm-w2"].parameters.integer("overload_windows") == 2
    assert short["tstorm-a0-g1.5"].parameters.integer("ackers") == 0
    assert short["tstorm-r300"].parameters.number("lines_per_s") == 600.0, "two streams"


def test_a_value_equal_to_the_setting_is_not_tried() -> None:
    given = {"windows_tried": [3], "rates_tried": [400.0], "gammas_tried": [1.7]}
    variants = {spec.variant for spec in EXPERIMENT.runs(EXPERIMENT.checked(given))}
    assert variants == {"tstorm", "tstorm-a0-g1.5"}


def test_a_claim_that_one_of_several_rates_reproduces_is_no_prediction() -> None:
    trials = rate_trials(DEFAULTS, "{} lines", claims=("tstorm-fig9-recover",))
    assert [trial.chosen_on for trial in trials] == [("tstorm-fig9-recover",)] * 2


def test_the_rates_tried_with_word_count_are_those_of_a_reader_and_a_stream() -> None:
    (spec,) = [spec for spec in WORD_COUNT.runs(WORD_COUNT.checked()) if spec.variant == "tstorm-r60"]
    assert word_count.plan(spec).sources["reader"].rate_per_s == 60 * 2 * 2, "two readers, two streams"
    found = {item.name: item.doc for item in WORD_COUNT.parameters}
    assert "per second, reader and stream" in found["rates_tried"]
