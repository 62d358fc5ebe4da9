"""README.md: its statements agree with the data, and its example runs."""

import re
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.experiments.ledger import load_claims
from storm_lab.model import Cluster, Component, Node, Subscription, Topology
from storm_lab.papers.registry import experiments
from storm_lab.reporting.readme import (
    PICTURE,
    picture,
    standings,
    updated,
    updated_readme,
    verdict_table,
)
from storm_lab.reporting.record import collect_verdicts
from storm_lab.reporting.verdict import Outcome
from storm_lab.runs.expected import cost_text, expected_costs
from storm_lab.runs.reproduce import costs_together, studies
from storm_lab.schedulers import SchedulingView, check_result
from tests.reporting.example_report import write_example

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_generated_parts_are_up_to_date():
    assert updated_readme(README, ROOT / "reports") == README, (
        "README.md is stale; run: python -m storm_lab.reporting.readme"
    )


def test_the_cost_of_a_full_reproduction_was_measured_for_every_experiment():
    assert set(expected_costs()) == {item.slug for item in experiments()}, (
        "write it anew: storm-lab bench expected"
    )
    assert cost_text(costs_together(studies(()))) in README


def test_the_table_counts_every_claim(tmp_path):
    write_example(tmp_path)
    table = verdict_table(collect_verdicts(tmp_path / "verdicts"))
    rows = {
        row.split("|")[1].strip(): [int(cell) for cell in row.split("|")[2:-1]]
        for row in table.split("\n")[2:]
    }
    assert all(sum(counts[1:]) == counts[0] for counts in rows.values())
    total = rows.pop("**all papers**")
    assert total[0] == len(load_claims().claims)
    papers = [rows[paper] for paper in load_claims().papers]
    bases = [counts for name, counts in rows.items() if name.startswith("of these")]
    assert [sum(column) for column in zip(*papers, strict=True)] == total
    assert [sum(column) for column in zip(*bases, strict=True)] == total
    assert total[1] > 0


def test_standings_distinguish_the_claims_that_are_not_reproduced(tmp_path):
    write_example(tmp_path)
    verdicts = collect_verdicts(tmp_path / "verdicts")
    read, chosen, impossible, still_open = map(int, re.findall(r"\d+", standings(verdicts)))
    reproduced = sum(verdict.outcome is Outcome.REPRODUCED for verdict in verdicts)
    assert reproduced + read + impossible + still_open == len(load_claims().claims)
    assert impossible > 0 and chosen <= read


def test_a_new_verdict_makes_the_readme_stale(tmp_path):
    write_example(tmp_path)
    after = updated_readme(README, tmp_path)
    assert after != README
    assert updated_readme(after, tmp_path) == after


def test_the_picture_is_shown_only_once_it_exists(tmp_path):
    assert picture(tmp_path) == ""
    write_example(tmp_path)
    image, said = picture(tmp_path).split("\n\n")
    assert image == f"![Processing time of both schedulers in three panels](reports/{PICTURE.as_posix()})"
    # Measured in the example's verdicts, printed in the ledger.
    assert "(printed: 42 and 35 %)" in said and "(printed: 7 and 5)" in said


@pytest.mark.parametrize("text", ["", "<!-- a:begin -->", "<!-- a:end --> <!-- a:begin -->"])
def test_missing_markers_are_named(text):
    with pytest.raises(UserError, match="a: the text needs one pair of markers"):
        updated(text, "a", "x")


def test_files_and_targets_that_the_readme_names_exist():
    for name in re.findall(r"`([A-Za-z_][\w/.-]*/[\w/.-]*|[A-Z][\w-]+(?:\.\w+)?)`", README):
        assert (ROOT / name).exists() or name == "FewestNodes", name
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^    make ([\w-]+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_scheduler_of_the_readme_runs_and_is_valid():
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None and len(code[1].strip().splitlines()) <= 30
    names: dict[str, type] = {}
    exec(code[1], names)
    components = (Component("source", 3), Component("sink", 5, inputs=(Subscription("source"),)))
    cluster = Cluster(tuple(Node(f"node-{number}") for number in range(3)))
    view = SchedulingView(
        (Topology("a", components, workers=4), Topology("b", components, workers=2)), cluster
    )
    result = names["FewestNodes"]().schedule(view)
    check_result(view, result)
    assert all(status.scheduled for status in result.status.values())
    assert result.assignment.of_topology("a").nodes_used() == ("node-0",)
    full = SchedulingView(
        (Topology("a", components), Topology("b", components)), Cluster((Node("n", ports=(1,)),))
    )
    assert not names["FewestNodes"]().schedule(full).status["b"].scheduled
