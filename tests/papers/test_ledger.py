"""The claims ledger: it is complete and consistent, and a damaged one is refused by name."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storm_lab.errors import UserError
from storm_lab.experiments.cause import load_contradictions
from storm_lab.experiments.claim import Kind, Relation, Target, band_by_rule, literal, number
from storm_lab.experiments.ledger import load_claims, parse_chain, read_ledger

PER_PAPER = {"Storm@Twitter": 37, "T-Storm": 48, "R-Storm": 28, "N-Storm": 38, "MF-Storm": 26}


def test_the_ledger_holds_every_claim_of_each_paper():
    ledger = load_claims()
    assert Counter(claim.paper for claim in ledger.claims) == PER_PAPER
    assert len(ledger.claims) == 177
    assert len(ledger.experiments) == 30


def test_lookups_find_claims_by_id_and_experiment():
    ledger = load_claims()
    claim = ledger.claim("tstorm-fig6a-speedup")
    assert (claim.experiment, claim.targets[0].expected) == ("tstorm-word-count", 49)
    assert claim in ledger.of_experiment("tstorm-word-count")
    assert ledger.of_experiment("no-such-experiment") == ()


def test_an_unknown_claim_is_refused_by_name():
    with pytest.raises(UserError, match=r"'tstorm-fig99'"):
        load_claims().claim("tstorm-fig99")


def test_every_band_contains_the_printed_value_and_every_statement_is_one_line():
    for claim in load_claims().claims:
        assert "\n" not in claim.statement and claim.statement.endswith(".")
        for target in claim.targets:
            assert target.expected is None or target.holds(target.expected), claim.id


def test_every_testable_claim_names_what_to_measure():
    for claim in load_claims().claims:
        assert bool(claim.untestable) or claim.labels, claim.id
        assert len(set(claim.labels)) == len(claim.labels), claim.id


@pytest.mark.parametrize(
    ("kind", "unit", "expected", "band"),
    [
        (Kind.RATIO, "%", 49, (44, 54)),
        (Kind.ABSOLUTE, "ms", 20, (18, 22)),
        (Kind.ABSOLUTE, "s", 279, (269, 289)),
        (Kind.TIMING, "s", 62, (52, 72)),
        (Kind.COUNT, "nodes", 7, (7, 7)),
        (Kind.ABSOLUTE, "ms", -20, (-22, -18)),
    ],
)
def test_a_number_without_a_band_gets_the_band_of_its_rule(kind, unit, expected, band):
    assert band_by_rule(kind, unit, expected) == pytest.approx(band)


def test_a_target_has_a_side_only_if_its_band_excludes_the_neutral_value():
    assert Target("", "%", 35, 30, 40, neutral=0).side == 1
    assert Target("", "nodes", 7, 7, 7, neutral=10).side == -1
    assert Target("", "%", 0, -5, 5, neutral=0).side == 0
    assert Target("", "ms", 16.2, 14.6, 17.8).side == 0


def test_an_order_is_read_with_its_relations():
    chain = parse_chain("a < b ~ c <= 1")
    assert chain.names == ("a", "b", "c", "1")
    assert chain.relations == (Relation.BELOW, Relation.ABOUT, Relation.AT_MOST)
    assert chain.measured_names == ("a", "b", "c")
    assert str(chain) == "a < b ~ c <= 1"


@pytest.mark.parametrize("text", ["", "a", "a <", "a b c", "a > b", "< < <", "1 < 2", "a < b <"])
def test_a_malformed_order_is_refused(text):
    with pytest.raises(UserError, match="order"):
        parse_chain(text)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_number_formatted_for_display_is_close_to_the_original(value):
    assert literal(number(value)) == pytest.approx(value, rel=1e-3, abs=1e-6)


GOOD = """
paper: Paper
claims:
- {id: a, figure: Fig. 1, experiment: e, topology: t, metric: m, unit: ms, kind: absolute, expected: 10,
   statement: Says so.}
"""


def _ledger_file(folder: Path, text: str) -> Path:
    path = folder / "paper.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_small_ledger_is_read(tmp_path):
    (claim,) = read_ledger([_ledger_file(tmp_path, GOOD)]).claims
    assert (claim.targets[0].low, claim.targets[0].high) == (9, 11)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: absolute", "kind: guess", "kind = 'guess'"),
        ("expected: 10", "expected: 10, band: [11, 12]", "does not contain the expected value"),
        ("expected: 10", "expected: 10, band: [12, 9]", "lower end of the band exceeds the upper"),
        ("expected: 10", "expected: 10, band: [null, null]", "closed on one side"),
        ("expected: 10", "expected: ten", "must be a number"),
        ("expected: 10", "neutral: 1", "needs a number"),
        ("expected: 10", "order: [a < b]", "only an ordering"),
        ("metric: m,", "", "paper.yaml: a.metric"),
        ("metric: m,", "metric: m, metrik: m,", "a.metrik: unknown key"),
        ("kind: absolute, expected: 10", "kind: ordering", "only an ordering"),
        ("paper: Paper\n", "", "two keys paper and claims"),
        ("Says so.}", "Says so.}\n- {id: a, figure: F, experiment: e, topology: t, metric: m, kind: count,"
         " expected: 1, statement: Again.}", "has this id twice"),
        ("claims:", "claims: [", "not readable as YAML"),
    ],
)  # fmt: skip
def test_a_damaged_ledger_is_refused_by_claim_and_key(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(UserError, match=re.escape(message)):
        read_ledger([_ledger_file(tmp_path, GOOD.replace(old, new))])


def test_contradictions_give_two_readings_and_name_claims_that_exist():
    ledger = load_claims()
    found = load_contradictions()
    assert len(found) >= 20
    assert {paper for entry in found for paper in entry.papers} == set(PER_PAPER)
    for entry in found:
        assert entry.first.says != entry.second.says
        assert all(ledger.claim(claim).paper in entry.papers for claim in entry.claims)


@pytest.mark.shared
def test_facts_agree_with_the_reference_list_and_its_sentences_are_not_used(shared_dir):
    ledger = load_claims()
    with (shared_dir / "papers" / "claims.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows if row["paper"] == "T-Storm"] == [
        c.id for c in ledger.claims if c.paper == "T-Storm"
    ]
    assert {row["id"] for row in rows} == {claim.id for claim in ledger.claims}
    for row in rows:
        claim = ledger.claim(row["id"])
        assert (claim.paper, claim.experiment, claim.kind) == (row["paper"], row["experiment"], row["kind"])
        if (value := literal(row["value"])) is not None:
            assert {target.expected for target in claim.targets} == {value}, claim.id
        ends = tuple(float(row[key]) if row[key] else None for key in ("value_low", "value_high"))
        if claim.id == "twitter-ovh-ack-machines":
            # Printed as a lower bound, which any larger number would meet.
            ends = (value, value)
        if ends != (None, None):
            assert {(target.low, target.high) for target in claim.targets} == {ends}, claim.id
        for text in (claim.statement, claim.note):
            assert not _phrases(text) & (_phrases(row["source_quote"]) | _phrases(row["notes"])), claim.id


def _phrases(text: str, length: int = 7) -> set[tuple[str, ...]]:
    """Runs of words; long numbers are facts, so runs with digits do not count."""
    words = re.findall(r"\w+", text.lower())
    runs = {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}
    return {run for run in runs if not any(word.isdigit() for word in run)}
