"""Studies: the same checks for command line and notebooks, and a digest of everything that matters."""

from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.experiments.ledger import load_claims
from storm_lab.papers.registry import experiment, experiments
from storm_lab.runs.digest import identity_of, text_digest
from storm_lab.runs.study import Study

SLUG = "tstorm-word-count"


def test_the_plain_values_of_a_notebook_are_its_parameters() -> None:
    others = {"__name__": "__main__", "In": [""], "_": 3, "Study": Study, "pytest": pytest}
    study = Study.of_notebook(SLUG, {"gammas": [1.0, 2.0], **others})
    assert study.parameters.numbers("gammas") == (1.0, 2.0)


def test_an_injected_parameter_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(UserError, match="parameter = 'gama'"):
        Study.of_notebook(SLUG, {"gammas": [1.0], "gama": 2.0})


def test_a_study_knows_whether_it_is_the_default_one() -> None:
    assert Study.of(SLUG).is_default
    assert Study.of(SLUG, {"gammas": [1.0, 1.8, 2.2]}).is_default
    assert not Study.of(SLUG, {"gammas": [1.0]}).is_default


def test_the_digest_follows_parameters_and_inputs(tmp_path: Path) -> None:
    text = tmp_path / "t.txt"
    text.write_text("one two\n")
    given = {"text": str(text)}
    first = Study.of(SLUG, given).digest
    assert Study.of(SLUG, given).digest == first
    assert Study.of(SLUG, given | {"gammas": [1.0]}).digest != first
    text.write_text("one two three\n")
    assert Study.of(SLUG, given).digest != first


def test_the_baseline_is_shared_by_all_gammas() -> None:
    found = experiment(SLUG)
    one, two = (
        {spec.variant: identity_of(spec).run for spec in found.runs(found.checked(given))}
        for given in ({"gammas": [1.0], "seeds": [1]}, {"gammas": [2.2], "seeds": [1]})
    )
    assert one["storm-default"] == two["storm-default"]
    assert "tstorm-g1" in one.keys() - two.keys()


def test_a_runs_identity_contains_no_path(tmp_path: Path) -> None:
    text = tmp_path / "t.txt"
    text.write_text("one two\n")
    found = experiment(SLUG)
    for spec in found.runs(found.checked({"text": str(text)})):
        assert str(tmp_path) not in str(identity_of(spec))
        assert spec.inputs.keys() == {"text"}


def test_an_experiment_declares_the_testable_claims_that_the_ledger_assigns_it() -> None:
    ledger = load_claims()
    for item in experiments():
        owned = {claim.id: claim for claim in ledger.of_experiment(item.slug)}
        assert set(item.claims) == {name for name, claim in owned.items() if not claim.untestable}


def test_text_digests_depend_on_the_borders_between_texts() -> None:
    assert text_digest("ab", "c") != text_digest("a", "bc")
