"""storm-loadgen: captured rates and latencies become rates of spouts, tuples per call and costs."""

from pathlib import Path

import pytest

from storm_lab.model import Grouping
from storm_lab.workloads.importers import export_loadgen, import_topology
from storm_lab.workloads.importers.export import loadgen_document
from storm_lab.workloads.importers.figures import Keys, KeyShape, Spread
from tests.importers.reading import assumptions, executions, import_text, overlay_of, ready, unusable_text
from tests.importers.test_plain import COMPLETE

CAPTURED = """
name: wc
config: {topology.workers: 3, topology.acker.executors: 1, topology.worker.childopts: "-Xmx1g"}
spouts:
  - id: spout
    parallelism: 5
    cpuLoad: 20.0
    memoryLoad: 0.0
    streams:
      - streamId: default
        rate: {mean: 100.0, stddev: 25.0, min: 0.0, max: 500.0}
        areKeysSkewed: true
      - streamId: rare
        rate: {mean: 25.0}
bolts:
  - id: split
    parallelism: 8
    streams: [{streamId: default, rate: {mean: 500.0}, areKeysSkewed: false}]
    slowExecutorPattern: {slownessMs: 5.0, count: 1}
  - {id: count, parallelism: 3}
  - {id: watch, parallelism: 2, streams: [{rate: {mean: 1}}]}
streams:
  - {from: spout, to: split, grouping: {type: SHUFFLE, streamId: default},
     execTime: {mean: 0.05}, processTime: {mean: 3.0}}
  - {from: split, to: count, grouping: {type: FIELDS}, execTime: {mean: 0.2, stddev: 0.0}}
  - {from: spout, to: count, grouping: {type: PARTIAL_KEY, streamId: rare}, execTime: {mean: 1, stddev: 0}}
  - {from: split, to: watch, grouping: {type: ALL}}
"""


def test_rates_become_tuples_per_call(tmp_path: Path) -> None:
    imported = import_text(tmp_path, CAPTURED)
    assert imported.format == "storm-loadgen"
    playable = ready(imported)
    topology = playable.topology
    # Five executors, each 100 + 25 tuples per second.
    assert playable.sources["spout"].rate_per_s == 625.0
    emits = playable.figures["spout"].emits
    assert (emits["default"].per_call, emits["rare"].per_call) == (0.8, 0.2)
    # 8 x 500 out of 5 x 100.
    assert playable.figures["split"].emits["default"].per_call == 8.0
    # 2 x 1 out of 4000 that reach both tasks.
    assert playable.figures["watch"].emits["default"].per_call == 2 / 8000
    counts = executions(playable)
    assert counts["split"] == pytest.approx(counts["spout"] * 0.8, abs=1)
    assert counts["count"] == pytest.approx(counts["spout"] * (6.4 + 0.2), abs=9)
    assert (topology.workers, topology.ackers) == (3, 1)
    assert topology.component("spout").resources is not None
    assert topology.component("count").resources is None


def test_latencies_become_costs_of_each_input(tmp_path: Path) -> None:
    playable = ready(import_text(tmp_path, CAPTURED))
    assert playable.figures["split"].input_cost_us == {("spout", "default"): Spread(50.0, 12.5)}
    assert playable.figures["count"].input_cost_us == {
        ("split", "default"): Spread(200.0),
        ("spout", "rare"): Spread(1000.0),
    }
    # Without a distribution the cost is zero, as in the load generator.
    assert playable.figures["watch"].input_cost_us == {("split", "default"): Spread(0.0)}


def test_groupings_use_the_load_generators_key_and_its_distribution(tmp_path: Path) -> None:
    playable = ready(import_text(tmp_path, CAPTURED))
    count = playable.topology.component("count")
    assert [(item.grouping, item.fields) for item in count.inputs] == [
        (Grouping.FIELDS, ("key",)),
        (Grouping.PARTIAL_KEY, ("key",)),
    ]
    assert playable.figures["spout"].emits["rare"].keys == {"key": Keys(2048)}
    skewed = CAPTURED.replace("areKeysSkewed: false", "areKeysSkewed: true")
    playable = ready(import_text(tmp_path, skewed))
    assert playable.figures["split"].emits["default"].keys == {"key": Keys(2048, KeyShape.HALF_NORMAL)}


def test_unplayed_features_and_assumptions_are_reported(tmp_path: Path) -> None:
    imported = import_text(tmp_path, CAPTURED)
    for text in (
        "slowExecutorPattern of split",
        "processTime of split from spout",
        "the spread of rates",
        "topology.worker.childopts",
    ):
        assert text in unusable_text(imported)
    assert ("spout", "cost of a call") in assumptions(imported)
    assert any("clock" in what for _, what in assumptions(imported))


def test_the_clock_of_the_cluster_scales_the_costs(tmp_path: Path) -> None:
    machines = tmp_path / "m.yaml"
    machines.write_text("storm_lab: machines/1\nnodes: [{name: n, count: 2, type: m5.large}]\n")
    imported = import_text(tmp_path, CAPTURED, machines=machines)
    assert ready(imported).figures["count"].input_cost_us[("split", "default")] == Spread(200.0).scaled(1.55)
    assert imported.machines is not None
    stated = overlay_of(tmp_path, "measured_on: {mhz: 4000}")
    imported = import_text(tmp_path, CAPTURED, machines=machines, overlay=stated)
    assert ready(imported).figures["count"].input_cost_us[("split", "default")] == Spread(400.0)


def test_a_bolt_that_emits_without_input_is_reported(tmp_path: Path) -> None:
    text = CAPTURED.replace("rate: {mean: 100.0, stddev: 25.0, min: 0.0, max: 500.0}", "rate: {mean: 0}")
    imported = import_text(tmp_path, text)
    assert "split.default, 4000 tuples/s: nothing arrives" in unusable_text(imported)


def test_a_captured_topology_survives_export_and_import(tmp_path: Path) -> None:
    playable = ready(import_text(tmp_path, CAPTURED))
    out = tmp_path / "out.yaml"
    lost = export_loadgen(playable, out)
    assert lost == ["sizes of tuples", "what a spout's call costs"]
    again = ready(import_topology(out))
    assert again.topology == playable.topology
    assert again.sources == playable.sources
    for name, figures in playable.figures.items():
        found = again.figures[name]
        for stream, emits in figures.emits.items():
            assert found.emits[stream].per_call == pytest.approx(emits.per_call)
            assert found.emits[stream].keys == emits.keys
        for source, cost in figures.input_cost_us.items():
            assert found.input_cost_us[source].mean == pytest.approx(cost.mean)
            assert found.input_cost_us[source].stddev == pytest.approx(cost.stddev)


def test_what_the_load_generators_format_cannot_hold_is_reported(tmp_path: Path) -> None:
    playable = ready(import_text(tmp_path, COMPLETE))
    document, lost = loadgen_document(playable)
    assert {item.split(":")[0] for item in lost} == {
        "sizes of tuples",
        "sources that are never empty",
        "names of fields",
        "more than one task per executor",
        "external servers",
        "keys by Zipf's law",
        "tick tuples",
        "what a spout's call costs",
        "numbers of keys",
    }
    assert document["config"]["topology.debug"] is False


def test_exported_rates_account_for_loops_and_all_groupings(tmp_path: Path) -> None:
    text = """
storm_lab: topology/1
name: loop
components:
  s: {rate_per_s: 90, anchored: true, cost_us: 1, executors: 2, emits: {default: {per_call: 1, bytes: 1}}}
  a:
    cost_us: 1
    inputs: [{from: s}, {from: b}]
    emits: {default: {per_call: 1, bytes: 1}}
  b:
    executors: 3
    cost_us: 1
    inputs: [{from: a, grouping: all}]
    emits: {default: {per_call: 0.1, bytes: 1}}
"""
    document, _ = loadgen_document(ready(import_text(tmp_path, text)))
    rates = {
        item["id"]: item["streams"][0]["rate"]["mean"] for item in (*document["spouts"], *document["bolts"])
    }
    # a = 90 + 0.1 * 3 a, so a = 90 / 0.7; b has three tasks, each a tenth of that.
    assert rates["s"] == 45.0
    assert rates["a"] == pytest.approx(90 / 0.7)
    assert rates["b"] == pytest.approx(90 / 0.7 / 10)


@pytest.mark.parametrize(
    ("spout", "lost"),
    [
        ("anchored: false", "spouts without message ids"),
        ("anchored: true", "failed tuples that are not emitted again"),
        ("resources: {offheap_mb: 64}", "memory outside of the heap"),
        ("records: w.txt", "values that were recorded or given"),
    ],
)
def test_what_a_spout_of_the_load_generator_does_otherwise_is_reported(
    tmp_path: Path, spout: str, lost: str
) -> None:
    (tmp_path / "w.txt").write_text("a\nb\n")
    playable = ready(
        import_text(tmp_path, f"storm_lab: topology/1\nname: n\ncomponents: {{s: {{{spout}}}}}\n")
    )
    assert lost in {item.split(":")[0] for item in loadgen_document(playable)[1]}


@pytest.mark.parametrize(("stddev", "noted"), [(0.0, False), (2.0, True)])
def test_a_spread_of_rates_is_noted_only_if_there_is_one(tmp_path: Path, stddev: float, noted: bool) -> None:
    rate = f"{{mean: 10.0, stddev: {stddev}}}"
    text = f"spouts: [{{id: s, parallelism: 1, streams: [{{streamId: default, rate: {rate}}}]}}]\n"
    assert ("the spread of rates" in unusable_text(import_text(tmp_path, text))) == noted


def test_a_key_that_is_given_twice_is_reported(tmp_path: Path) -> None:
    imported = import_text(tmp_path, CAPTURED.replace("parallelism: 5", "parallelism: 4\n    parallelism: 5"))
    assert "the key 'parallelism': it is given twice: the last one counts" in unusable_text(imported)
