"""T-Storm's Word Count as declared: what the paper prints, and what each run depends on."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.model.constant import constants_of
from storm_lab.model.executor import executors_of
from storm_lab.model.topology import Grouping
from storm_lab.papers.registry import experiment
from storm_lab.papers.tstorm.testbed import STORM, VERSION, blades
from storm_lab.papers.tstorm.word_count import REMOVED_COSTS, SLUG, costs, gain_parts, plan, topology
from storm_lab.runs.execute import PlannedRun, play

WORD_COUNT = experiment(SLUG)
DEFAULTS = WORD_COUNT.checked()


def test_the_topology_is_the_printed_one() -> None:
    declared = topology(DEFAULTS)
    assert {c.id: c.executors for c in declared.components} == {
        "reader": 2,
        "split": 5,
        "count": 5,
        "mongo": 5,
    }
    (by_word,) = declared.component("count").inputs
    assert (by_word.grouping, by_word.fields) == (Grouping.FIELDS, ("word",))
    assert declared.workers == 20
    assert len(executors_of(declared, VERSION)) == 19, "two ackers: 19 executors give 7 and 5 nodes"


def test_the_testbed_has_forty_slots_on_ten_nodes() -> None:
    cluster = blades()
    assert (len(cluster.nodes), len(list(cluster.slots()))) == (10, 40)
    assert {node.capacity_mhz for node in cluster.nodes} == {8000.0}, "four cores of 2.0 GHz"
    assert {node.capacity_mhz for node in blades(cores=2).nodes} == {4000.0}


def test_storm_runs_once_per_seed_and_tstorm_once_per_gamma_too() -> None:
    given = {"gammas": [1.0, 1.8], "seeds": [4, 5], "store_us_tried": [1000.0], "counterfactuals": False}
    given["trials"] = False
    played = WORD_COUNT.runs(WORD_COUNT.checked(given))
    specs = tuple(spec for spec in played if not spec.variant.endswith("-dear2"))
    assert [(spec.variant, spec.seed) for spec in specs[-2:]] == [
        ("storm-default-s1000", 4),
        ("tstorm-g1-s1000", 4),
    ]
    specs = specs[:-2]
    assert [(spec.variant, spec.seed) for spec in specs] == [
        (variant, seed) for variant in (STORM, "tstorm-g1", "tstorm-g1.8") for seed in (4, 5)
    ]
    assert "gamma" not in specs[0].parameters
    assert specs[-1].parameters.number("gamma") == 1.8


def test_gammas_that_differ_in_the_eighth_digit_have_runs_of_their_own() -> None:
    given = {"gammas": [1.8, 1.8000001], "seeds": [1], "trials": False}
    gammas = {
        spec.variant: spec.parameters.get("gamma") for spec in WORD_COUNT.runs(WORD_COUNT.checked(given))
    }
    assert gammas["tstorm-g1.8"] == 1.8
    assert gammas["tstorm-g1.8000001"] == 1.8000001


def test_only_counterfactual_runs_of_storm_leave_out_the_costs_of_further_processes() -> None:
    specs = {spec.variant: spec for spec in WORD_COUNT.runs(DEFAULTS)}
    spared = {v: s.parameters["spared"] for v, s in specs.items() if "spared" in s.parameters}
    assert spared == {f"storm-default-without-{name}": name for name in ("crowding", "memory", "both")}
    assert all("gamma" not in specs[variant].parameters for variant in spared)
    constants = {name for names in REMOVED_COSTS.values() for name in names}
    assert constants <= {constant.name for constant in constants_of(CostModel())}


def test_gains_over_storm_with_cheaper_processes_come_from_counterfactual_runs() -> None:
    levels = {"storm-default": 20.0, "storm-default-without-both": 10.0, "tstorm-g1": 8.0}
    rows = [(v, 1, t, ms, 5) for v, ms in levels.items() for t in (240.0, 250.0)]
    columns = ["variant", "seed", "t_s", "processing_mean_ms", "tuples"]
    found = gain_parts(SimpleNamespace(latency_10s=pd.DataFrame(rows, columns=columns)), 1)
    assert found["spared"].tolist() == ["nothing", "both"]
    assert found["gain_%"].tolist() == pytest.approx([60.0, 20.0])


@pytest.mark.slow
def test_the_second_schedule_of_a_longer_run_is_rejected(tmp_path: Path) -> None:
    # The paper's runs of 1000 s show one re-assignment; the default length ends before a second schedule.
    specs = WORD_COUNT.runs(WORD_COUNT.checked({"gammas": [1.8], "seeds": [1], "duration_s": 670.0}))
    (spec,) = [spec for spec in specs if spec.variant == "tstorm-g1.8"]
    folder = play(PlannedRun.of(spec, tmp_path))
    control = pd.read_parquet(folder / "control.parquet")
    made = control[control["actor"] == "generator"]
    times = made.groupby("action", observed=True)["time_ns"].max() / 1e9
    assert 300 < times["generate-schedule"] < 400
    assert 600 < times["reject-schedule"] < 670


def test_a_line_of_eight_words_has_the_cost_that_the_parameter_gives() -> None:
    code_costs = costs(DEFAULTS)
    assert round(code_costs.split_line_us + 8 * code_costs.split_word_us, 6) == DEFAULTS.number("split_us")
    assert round(code_costs.store_cpu_us + code_costs.store_server_us, 6) == DEFAULTS.number("store_us")


def test_the_plan_streams_every_line_to_both_readers() -> None:
    spec = WORD_COUNT.runs(DEFAULTS)[0]
    made = plan(spec)
    assert len(made.trace.sources["reader"]) == 3600
    assert made.sources["reader"].rate_per_s == 2 * DEFAULTS.number("lines_per_s")
    # Every word is counted once and stored once.
    words = (made.trace.emissions["stream"] == made.trace.streams.index(("split", "default"))).sum()
    assert len(made.trace.records) == 3600 + 3600 + 2 * words


def test_two_cores_and_costly_processes_are_played_with_every_seed_and_scheduler() -> None:
    given = {"gammas": [1.0], "seeds": [4, 5], "store_us_tried": [1000.0], "counterfactuals": False}
    read = [s for s in WORD_COUNT.runs(WORD_COUNT.checked(given)) if s.variant.endswith("-dear2")]
    assert [(spec.variant, spec.seed) for spec in read] == [
        (variant, seed) for variant in ("storm-default-dear2", "tstorm-g1-dear2") for seed in (4, 5)
    ]
    described = read[0].describe(read[0])
    assert described.cost.process_penalty == 1.0
    assert {node.cores for node in described.cluster.nodes} == {2}
