"""Claims that need no emulated experiment: each measured by its own algorithm, each answered once."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.machine.places import DATA_VARIABLE
from storm_lab.model import Assignment, Resources, Topology, executors_of
from storm_lab.papers.algorithms import mfstorm, nstorm, rstorm, trees, tstorm, twitter
from storm_lab.papers.algorithms.algorithms import EXPERIMENT, SLUG
from storm_lab.papers.mfstorm.testbed import desktops
from storm_lab.papers.registry import experiment
from storm_lab.papers.rstorm.layouts import layout
from storm_lab.papers.rstorm.testbed import emulab
from storm_lab.papers.tstorm.testbed import VERSION, blades
from storm_lab.papers.twitter.testbed import SLOTS
from storm_lab.reporting.figures.dependence import nodes_by_gamma
from storm_lab.reporting.figures.printed import Printed
from storm_lab.reporting.figures.saved import save_figure
from storm_lab.reporting.record import read_verdicts
from storm_lab.reporting.report import SEVERAL, render_report
from storm_lab.reporting.verdict import Outcome, judge
from storm_lab.runs.study import Study
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.measures import measure, nodes_used

LEDGER = load_claims()


@pytest.fixture(scope="module")
def measured() -> dict[str, Measurement]:
    found = EXPERIMENT.measure(None, EXPERIMENT.checked({"seeds": [1, 2]}))
    return {measurement.claim_id: measurement for measurement in found}


# --- one claim, one owner ---


def test_an_experiment_that_answers_for_another_declares_the_claim() -> None:
    for claim in LEDGER.claims:
        if claim.answered_by:
            assert claim.answered_by != claim.experiment
            assert claim.id in experiment(claim.answered_by).claims


def test_a_claim_answered_elsewhere_keeps_its_experiment_but_changes_owner() -> None:
    claim = LEDGER.claim("mfstorm-table3-gflops")
    assert (claim.experiment, claim.owner) == ("mfstorm-mapping", SLUG)
    assert claim in LEDGER.of_experiment(SLUG)
    assert claim not in LEDGER.of_experiment("mfstorm-mapping")


# --- the contract of an experiment without runs ---


def test_the_study_has_no_runs_and_its_digest_follows_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.of(SLUG, {"seeds": [1]})
    assert study.play() == ()
    first = study.digest
    monkeypatch.setattr("storm_lab.runs.study.experiment_digest", lambda slug: "other schedulers")
    assert study.digest != first


def test_every_claim_is_measured_and_reproduced(measured: dict[str, Measurement]) -> None:
    assert set(measured) == set(EXPERIMENT.claims)
    verdicts = {claim: judge(LEDGER.claim(claim), found) for claim, found in measured.items()}
    assert {claim for claim, v in verdicts.items() if v.outcome is not Outcome.REPRODUCED} == set()


def test_settings_chosen_to_give_a_number_are_called_fitted(measured: dict[str, Measurement]) -> None:
    bases = {claim: judge(LEDGER.claim(claim), found).basis for claim, found in measured.items()}
    fitted = {claim for claim, basis in bases.items() if basis is Basis.FITTED}
    assert {"twitter-zk-kafka-writes", "twitter-zk-share"} <= fitted
    assert fitted == {claim for claim in measured if LEDGER.claim(claim).fitted}
    assert {claim for claim, basis in bases.items() if basis is Basis.ARITHMETIC} == {
        claim for claim in measured if LEDGER.claim(claim).arithmetic and claim not in fitted
    }


def test_a_study_without_runs_writes_a_verdict_file(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    measured: dict[str, Measurement],
) -> None:
    home = tmp_path_factory.mktemp("project")
    monkeypatch.setenv(DATA_VARIABLE, str(home))
    study = Study.of(SLUG, {"seeds": [2]})
    verdicts = study.conclude()
    record = read_verdicts(study.workspace / "verdicts" / f"{SLUG}.json")
    assert record.seeds == (2,)
    assert {found.claim_id for found in record.measurements} == set(measured)
    assert len(verdicts) == len(EXPERIMENT.claims)


# --- mechanisms ---


@pytest.mark.parametrize(("topology", "executors"), list(zip(tstorm.topologies(), (45, 19, 25), strict=True)))
def test_section_v_topologies_have_executor_counts_that_fit_the_printed_node_counts(
    topology: Topology, executors: int
) -> None:
    assert len(executors_of(topology, VERSION)) == executors


def test_nodes_in_use_start_at_ten_and_never_grow_with_gamma() -> None:
    gammas = [1 + 0.1 * step for step in range(60)]
    for counts in tstorm.nodes_by_gamma(gammas).values():
        assert counts[0] == 10
        assert counts == sorted(counts, reverse=True)
        assert counts[-1] < 4


def test_the_spread_counts_nodes_without_executors() -> None:
    packed = tstorm.placed_by_tstorm(tstorm.topologies()[0], 6.0)
    assert nodes_used(packed) == 2
    assert tstorm.spread(packed, blades()) >= 22


def test_mfstorm_fills_the_strongest_desktop_first_whatever_the_declared_order() -> None:
    assert mfstorm.filling_order() == ("D", "C", "A", "B")
    assert [node.id for node in desktops(1).nodes] == ["A", "B", "C", "D"]


def test_rstorm_uses_more_machines_when_memory_binds_and_never_overcommits_it() -> None:
    free, bound = (rstorm.placed("linear", memory_mb, rstorm.REAL_MB) for memory_mb in (150.0, 900.0))
    assert (free.nodes, bound.nodes) == (6, 11)
    assert (free.nodes_over_memory, bound.nodes_over_memory, bound.most_executors) == (0, 0, 2)


def test_a_node_with_overcommitted_memory_is_counted() -> None:
    demanding = layout("linear", memory_mb=900.0).topology
    view = SchedulingView((demanding,), emulab(offer=Resources(100.0, rstorm.REAL_MB)))
    one = view.cluster.nodes[0].slots[0]
    assert measure(view, Assignment.of((e, one) for e in view.executors["linear"])).nodes_over_memory == 1


def test_timer_phases_decide_how_long_a_moved_thread_is_absent() -> None:
    worst = nstorm.absence_s(1.0, 0.0, 0.5)
    assert worst is not None
    assert 8.5 <= worst <= 9.5
    middle = nstorm.absence_s(5.0, 0.0, 0.5)
    assert middle is not None
    assert middle == pytest.approx(worst - 4.0, abs=0.2)
    assert nstorm.absence_s(0.0, 1.0, 0.5) == 0


def test_fifty_workers_remain_while_machines_are_removed() -> None:
    found = twitter.workers_by_machine()
    assert [sum(counts) for counts in found.values()] == [50] * 5
    assert max(found[4]) == SLOTS


def test_heartbeat_writes_scale_with_the_given_number_of_workers() -> None:
    few, many = (
        twitter.writes_per_minute(EXPERIMENT.checked({"captured_workers": workers})) for workers in (100, 200)
    )
    assert many["worker-beats"] == 2 * few["worker-beats"] == 4000
    assert many["offsets"] == few["offsets"] == 19800


def test_tuple_trees_that_lose_a_tuple_or_fail_are_never_acked() -> None:
    whole, killed = (twitter.acked_trees(3, killing=killing) for killing in (False, True))
    assert whole.too_early == killed.too_early == 0
    assert whole.unacked == 0
    # The check has something to find: trees that fail, and with a killed worker many more that lose tuples.
    assert 0 < whole.incomplete < killed.incomplete / 2
    assert whole.acked == whole.roots - whole.incomplete


def test_early_acks_missing_acks_and_incomplete_trees_are_counted() -> None:
    rows = trees.Rows()
    sizes = {line: 1 + trees.pieces_of(line) for line in (1, 2, 3)}
    rows.append(
        "roots",
        {
            "root_id": [1, 2, 3],
            "line": [1, 2, 3],
            "outcome": ["acked", "acked", "failed"],
            "complete_ns": [10, 99, 99],
        },
    )
    executed = [(root, 20 + n) for root in (1, 2, 3) for n in range(sizes[root] - (root == 2))]
    rows.append("executions", {"root_id": [r for r, _ in executed], "end_ns": [end for _, end in executed]})
    check = trees.check_trees(rows)
    assert (check.too_early, check.unacked, check.incomplete) == (2, 1, 1)


# --- in the report ---


def test_figures_of_an_experiment_on_several_papers_have_their_own_report_section(tmp_path: Path) -> None:
    gammas = [1.0, 1.7, 6.0]
    figure = nodes_by_gamma(
        pd.DataFrame(tstorm.nodes_by_gamma(gammas), index=gammas),
        {("word-count", 1.0): Printed("tstorm-fig6a-nodes", 10.0, 10.0, 10.0)},
    )
    save_figure(
        figure, tmp_path / "figures" / SLUG / "nodes.svg", title="Nodes by gamma", alt="Falling steps."
    )
    page = render_report(tmp_path)
    assert page.index(f"<h3>{SEVERAL}</h3>") < page.index("Nodes by gamma")
    assert f"storm-lab run {SLUG}" in page
    assert "storm-lab run mfstorm-mapping" not in page
