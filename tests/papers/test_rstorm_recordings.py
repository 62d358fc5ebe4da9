"""The recorded runs of R-Storm's author: the data, the declaration, and what is read from the logs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from storm_lab.errors import UserError
from storm_lab.model import Assignment, Slot, check_assignment, executors_of
from storm_lab.papers.rstorm import recording
from storm_lab.papers.rstorm.recording import PACKAGED, load_recordings, merged_by_host
from storm_lab.papers.rstorm.recordings import (
    EXPERIMENT,
    component_errors,
    plan,
    rates,
    ratio_errors,
    seed_spread,
    sink_errors,
    sinks_by_seed,
    what_if,
)
from storm_lab.papers.rstorm.testbed import VERSION, recorded_hosts
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.papers.rstorm import RStormParameters, RStormScheduler

PACKAGE_FILE = Path(recording.__file__).with_name("recordings.json")


@pytest.mark.parametrize("run", load_recordings().runs, ids=lambda run: run.variant)
def test_every_recorded_placement_is_complete_on_the_six_hosts(run) -> None:
    topology = load_recordings().topology(run.topology).topology
    check_assignment(run.placement, recorded_hosts(), executors_of(topology, VERSION))


@pytest.mark.parametrize("run", load_recordings().runs, ids=lambda run: run.variant)
def test_the_even_scheduler_ran_twelve_workers_and_r_storm_one_per_host(run) -> None:
    slots = set(run.placement.slots.values())
    if run.scheduler == "even":
        assert len(slots) == 12
    else:
        assert len(slots) == len({slot.node for slot in slots}) in (5, 6)


def test_recorded_sink_rates_follow_from_the_components_before_them() -> None:
    # Linear-3: no tuple stays in a process and the sinks keep up, so they execute what bolt 1 emits.
    run = load_recordings().topology("linear-3").runs["even"]
    assert run.sink == pytest.approx(run.emitted["bolt_linear_1"], rel=0.01)


def test_merging_workers_moves_no_executor_to_another_host() -> None:
    for run in load_recordings().runs:
        merged = merged_by_host(run).placement
        assert {e: s.node for e, s in merged.slots.items()} == {
            e: s.node for e, s in run.placement.slots.items()
        }
        assert len(set(merged.slots.values())) == len(merged.nodes_used())


def test_lines_are_shortened_filtered_and_lengthened_as_defined() -> None:
    recordings = load_recordings()
    trace = plan(recordings.topology("page-load"), recordings.line_lengths).trace
    sizes = {}
    for number, (component, _) in enumerate(trace.streams):
        sizes[component] = trace.emissions["bytes"][trace.emissions["stream"] == number]
    lines = len(sizes["spout_head"])
    assert len(sizes["bolt_transform"]) == lines
    assert len(sizes["bolt_filter"]) / lines == pytest.approx(0.8, abs=0.03)
    assert len(sizes["bolt_output_sink"]) / lines == pytest.approx(0.64, abs=0.04)
    assert sizes["spout_head"].mean() == pytest.approx(40.25 + 3, abs=2)
    assert sizes["bolt_transform"].mean() == pytest.approx(31.75 + 3, abs=2)
    kept = sizes["bolt_filter_2"].mean()
    assert sizes["bolt_aggregate"].mean() == pytest.approx(kept + 8, abs=1)


def test_every_recording_has_a_run_and_what_if_runs_are_added() -> None:
    variants = {spec.variant for spec in EXPERIMENT.runs(EXPERIMENT.checked())}
    assert {run.variant for run in load_recordings().runs} <= variants
    assert {"linear-even-merged", "page-load-even-no-penalty"} <= variants
    assert "linear-3-even-merged" not in variants
    bare = EXPERIMENT.runs(EXPERIMENT.checked({"what_if": False, "trials": False}))
    assert {spec.variant for spec in bare} == {run.variant for run in load_recordings().runs}


def test_clock_speed_and_character_cost_are_varied_only_on_the_runs_they_affect() -> None:
    variants = {spec.variant for spec in EXPERIMENT.runs(EXPERIMENT.checked())}
    assert {"linear-even-slow", "page-load-rstorm-heavy"} <= variants
    assert not {"linear-even-heavy", "page-load-paced-even-slow", "linear-3-even-slow"} & variants


def file_of(folder: Path, document: object) -> str:
    path = folder / "own.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def own_file(folder: Path, change) -> str:
    document = json.loads(PACKAGE_FILE.read_text(encoding="utf-8"))
    change(document)
    return file_of(folder, document)


def test_a_file_can_add_a_topology_with_a_placement(tmp_path: Path) -> None:
    def add_star(document: dict) -> None:
        star = document["topologies"]["star"]
        names = {c["id"]: c["executors"] for c in star["components"]}
        rows, task = [], 1
        for component in sorted(names):
            for _ in range(names[component]):
                rows.append([component, task, task, task % 6, 0])
                task += 1
        star["runs"] = {"own": {"placement": rows}}

    source = own_file(tmp_path, add_star)
    variants = [s.variant for s in EXPERIMENT.runs(EXPERIMENT.checked({"recordings": source}))]
    assert "star-own" in variants
    run = load_recordings(source).topology("star").runs["own"]
    assert run.sink is None
    check_assignment(
        run.placement,
        recorded_hosts(),
        executors_of(load_recordings(source).topology("star").topology, VERSION),
    )


def test_a_scheduler_of_a_readers_file_may_have_the_name_of_a_trial(tmp_path: Path) -> None:
    def rename(document: dict) -> None:
        runs = document["topologies"]["linear"]["runs"]
        runs["fast"] = runs.pop("even")

    given = {"recordings": own_file(tmp_path, rename), "seeds": [1]}
    (spec,) = [spec for spec in EXPERIMENT.runs(EXPERIMENT.checked(given)) if spec.variant == "linear-fast"]
    placed = load_recordings(given["recordings"]).topology("linear").runs["fast"].placement
    assert spec.describe(spec).placement == placed


def detailed_star(**changes: object) -> dict[str, object]:
    """A star in the long form: one executor per component, in one worker on each of four hosts."""
    names = ("bolt_output_0", "bolt_output_1", "center", "spout_0", "spout_1")
    components: list[dict[str, object]] = [
        {
            "id": name,
            "kind": "spout" if name.startswith("spout") else "bolt",
            "executors": 1,
            "tasks": 1,
            "cpu_points_per_executor": 50 if name.startswith("spout") else 15,
            "behaviour": "emits the fixed word" if name.startswith("spout") else "re-emits its input",
        }
        for name in names
    ]
    streams = [
        {"from": a, "to": b, "grouping": "shuffle"}
        for a, b in (
            ("spout_0", "center"),
            ("spout_1", "center"),
            ("center", "bolt_output_0"),
            ("center", "bolt_output_1"),
        )
    ]
    run = {
        "placement_columns": ["first_task", "last_task", "component", "port_index", "host_index"],
        "placement": [[i + 1, i + 1, name, 2, min(i, 3)] for i, name in enumerate(names)],
        "steady_state": {
            "sink_total_per_10s": {"mean": 45000, "std": 100},
            "components": {
                "spout_0": {"emitted_per_10s": {"mean": 30000, "std": 1}},
                "center": {"emitted_per_10s": {"mean": 50000}, "executed_per_10s_mean_derived": 50000},
                "bolt_output_0": {"emitted_per_executor_per_10s_mean": None},
            },
        },
    }
    entry = {"topology": {"components": components, "streams": streams}, "runs": {"rstorm": run}}
    return {"schema": "rstorm-recordings/1", "topologies": {"Star": entry}} | changes


def test_a_recording_in_the_long_form_is_played_like_the_packages_own(tmp_path: Path) -> None:
    source = file_of(tmp_path, detailed_star())
    recordings = load_recordings(source)
    star = recordings.topology("star")
    run = star.runs["rstorm"]
    assert (run.sink, run.emitted) == (45000.0, {"spout_0": 30000.0, "center": 50000.0})
    assert run.executed == {"center": 50000.0}
    assert star.sinks == ("bolt_output_0", "bolt_output_1")
    assert {d.does for d in star.definitions.values()} == {"word", "pass"}
    assert sorted(str(slot) for slot in set(run.placement.slots.values())) == [
        f"host{n}:6702" for n in range(4)
    ]
    assert recordings.line_lengths == load_recordings().line_lengths
    given = {"recordings": source, "trials": False, "seeds": [1]}
    (spec,) = EXPERIMENT.runs(EXPERIMENT.checked(given))
    assert spec.variant == "star-rstorm"


def test_extra_runs_are_read_if_the_package_knows_their_topology(tmp_path: Path) -> None:
    rows = [[name, i + 1, i % 6, 0] for i, name in enumerate(("bolt_linear_0", "spout_head"))]
    run = {
        "placement_columns": ["component", "task", "host_index", "port_index"],
        "placement": rows,
        "sink_total_per_10s": 378.5,
        "component_emitted_per_10s": {"spout_head": 595.7},
    }
    extra = {
        "Linear-3": {"what": "a chain under the even scheduler", "run": run},
        "Ring": {"what": "a ring", "runs": {"even": run}},
    }
    recordings = load_recordings(file_of(tmp_path, detailed_star(extra_runs=extra)))
    read = recordings.topology("linear-3").runs["even"]
    assert (read.sink, read.emitted) == (378.5, {"spout_head": 595.7})
    assert [(str(e), str(s)) for e, s in read.placement.slots.items()] == [
        ("bolt_linear_0[1,1]", "host0:6700"),
        ("spout_head[2,2]", "host1:6700"),
    ]
    assert recordings.topology("linear-3").topology == load_recordings().topology("linear-3").topology
    assert recordings.left_out == ("Ring",)


def test_a_components_behaviour_comes_from_the_package_or_else_its_description(tmp_path: Path) -> None:
    document = detailed_star()
    entry = document["topologies"].pop("Star")  # type: ignore[attr-defined]
    entry["topology"]["components"][2]["behaviour"] = "passes a tuple with probability 0.8"
    document["topologies"] = {"Star": entry, "MyStar": entry}
    recordings = load_recordings(file_of(tmp_path, document))
    assert recordings.topology("star").definitions["center"].does == "pass"
    assert recordings.topology("my-star").definitions["center"].does == "filter"
    entry["topology"]["components"][2]["behaviour"] = "dances"
    with pytest.raises(UserError, match=r"my-star\.center"):
        load_recordings(file_of(tmp_path, document))


@pytest.mark.shared
def test_the_long_form_and_the_packaged_recordings_agree(shared_dir: Path) -> None:
    path = shared_dir / "reference" / "rstorm-recordings.json"
    own, package = load_recordings(str(path)), load_recordings()
    assert set(own.topologies) == {"linear", "diamond", "page-load", "linear-3", "page-load-paced"}
    assert len(own.runs) == len(package.runs)
    assert not own.left_out
    for run in own.runs:
        other = package.topology(run.topology).runs[run.scheduler]
        assert run.placement == other.placement
        assert run.sink == pytest.approx(other.sink)
        assert run.emitted == pytest.approx(dict(other.emitted))
        assert own.topology(run.topology).definitions == package.topology(run.topology).definitions
        assert own.topology(run.topology).topology == package.topology(run.topology).topology


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema="other"), "schema"),
        (lambda d: d["topologies"]["linear"]["components"][1].update(does="dance"), "dance"),
        (
            lambda d: d["topologies"]["linear"]["components"][1].update(executors=0),
            "executors = 0: component 'bolt_linear_0' of topology 'linear'",
        ),
        (lambda d: d["topologies"]["linear"]["runs"]["even"].pop("placement"), "placement"),
        (lambda d: d.update(line_lengths=[]), "line_lengths: spouts emit lines"),
        (
            lambda d: d["topologies"]["linear"]["runs"]["even"]["placement"][0].__setitem__(4, 7),
            "schema: Index",
        ),
    ],
)
def test_an_invalid_recordings_file_is_refused(tmp_path: Path, change, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_recordings(own_file(tmp_path, change))


def test_a_missing_recordings_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.json"):
        load_recordings(str(tmp_path / "none.json"))


def tables(factor: float) -> SimpleNamespace:
    """Metric tables in which every recorded rate comes out ``factor`` times as high from 100 s on."""
    rows = []
    recordings = load_recordings(PACKAGED)
    for run in recordings.runs:
        sinks = recordings.topology(run.topology).sinks
        for t in (90.0, 100.0, 110.0):
            scale = factor if t >= 100 else 99.0
            for component in recordings.topology(run.topology).topology.components:
                executed = run.sink * scale / len(sinks) if component.id in sinks else 0.0
                emitted = run.emitted.get(component.id, 0.0) * scale
                rows.append((run.variant, 1, component.id, t, 10.0, executed, emitted))
    columns = ["variant", "seed", "component", "t_s", "width_s", "executed", "emitted"]
    return SimpleNamespace(component_throughput_10s=pd.DataFrame(rows, columns=columns))


def test_errors_are_computed_from_the_mean_rates_after_start_up() -> None:
    recordings = load_recordings()
    found = rates(tables(1.1), 100.0)
    sinks = sink_errors(found, recordings)
    assert len(sinks) == len(recordings.runs)
    assert sinks["error_%"].to_numpy() == pytest.approx(10.0)
    assert component_errors(found, recordings)["error_%"].to_numpy() == pytest.approx(10.0)
    ratios = ratio_errors(sinks)
    assert list(ratios["topology"]) == ["linear", "diamond", "page-load", "page-load-paced"]
    assert ratios["error_%"].to_numpy() == pytest.approx(0.0)
    assert ratios["recorded"].tolist() == pytest.approx([1.978, 1.433, 2.013, 1.004], abs=0.001)
    assert what_if(found, recordings).empty


def test_the_spread_over_seeds_is_the_largest_deviation_from_their_mean() -> None:
    rows = [("linear", "even", rate) for rate in (90.0, 100.0, 110.0)] + [("linear", "rstorm", 50.0)]
    spread = seed_spread(pd.DataFrame(rows, columns=["topology", "scheduler", "predicted"]))
    assert spread.to_numpy().tolist() == [["linear", "even", pytest.approx(10.0)], ["linear", "rstorm", 0.0]]


def test_every_seed_of_a_recorded_run_has_its_own_error() -> None:
    recordings = load_recordings()
    two = pd.concat([rates(tables(f), 100.0).assign(seed=s) for s, f in ((1, 1.1), (2, 0.9))])
    by_seed = sinks_by_seed(two, recordings)
    assert len(by_seed) == 2 * len(recordings.runs)
    assert by_seed.groupby("seed")["error_%"].mean().tolist() == pytest.approx([10.0, -10.0])
    assert sink_errors(two, recordings)["error_%"].to_numpy() == pytest.approx(0.0, abs=1e-9)


def test_what_if_runs_are_compared_with_runs_of_the_same_seed() -> None:
    recordings = load_recordings()
    sinks = recordings.topology("linear").sinks
    played = [("linear-even", 1, 10.0), ("linear-even", 2, 30.0), ("linear-even-merged", 1, 20.0)]
    found = pd.DataFrame(
        [(variant, seed, sink, rate, 0.0) for variant, seed, rate in played for sink in sinks],
        columns=["variant", "seed", "component", "executed", "emitted"],
    )
    (row,) = what_if(found, recordings).to_dict("records")
    assert row["merged"] == pytest.approx(2.0)
    assert row["even"] == pytest.approx(20.0 * len(sinks))


@pytest.mark.parametrize("name", ["linear", "diamond", "page-load", "page-load-paced"])
def test_r_storm_groups_executors_as_in_the_recorded_workers(name: str) -> None:
    """Compares all executors worker by worker; the recordings do not say which host was in which rack."""
    recorded = load_recordings().topology(name)
    view = SchedulingView((recorded.topology,), recorded_hosts(), VERSION)
    placed = RStormScheduler().schedule(view).assignment
    assert contents(placed) == contents(recorded.runs["rstorm"].placement)


def test_diamonds_recorded_placement_needs_the_order_of_javas_map() -> None:
    recorded = load_recordings().topology("diamond")
    view = SchedulingView((recorded.topology,), recorded_hosts(), VERSION)
    declared = RStormScheduler(RStormParameters(siblings="declared")).schedule(view).assignment
    assert contents(declared) != contents(recorded.runs["rstorm"].placement)


def contents(placement: Assignment) -> Counter[tuple[str, ...]]:
    """Count workers by the components of their executors."""
    workers: dict[Slot, list[str]] = {}
    for executor, slot in placement.slots.items():
        workers.setdefault(slot, []).append(executor.component)
    return Counter(tuple(sorted(held)) for held in workers.values())
