"""Measures read from a run's log, checked by hand: rates, CPU per tuple, percentiles, silences."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from storm_lab.calibration.measurements import compiler_seconds
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.live.scenes import HERE, chain
from storm_lab.live.suite.compare import (
    FACTORS,
    WIDEST,
    Compared,
    Ordering,
    Row,
    Trust,
    compare_sitting,
    orderings_of,
    pooled,
)
from storm_lab.live.suite.measure import Measured, RunTables
from storm_lab.live.suite.scene import Effect, Half, Measure, Scene
from storm_lab.live.suite.sittings import SITTINGS
from storm_lab.live.suite.trust_tables import (
    factors_table,
    orderings_table,
    scenes_table,
    threads_table,
    trust_lines,
    unusable_table,
)
from storm_lab.model import StormVersion
from storm_lab.runs.live_play import KEPT, executions_measured, roots_measured, thin
from storm_lab.tuplelog import open_run
from tests.tuplelog.tiny import S, write_run

MHZ = 2000.0
VERSION = StormVersion((2, 8, 3))
SPEC = chain(VERSION, MHZ, SourcePlan(SourceKind.RATE, rate_per_s=100.0), HERE, ackers=1, duration_s=20.0)


def _measured(value: float, half: float = 0.0) -> Measured:
    return Measured(value, value - half, value + half, 5)


def _run(
    folder: Path,
    *,
    runtime: str = "live",
    silent: tuple[float, float] = (12.0, 15.0),
    starved=(),
    used_cores: tuple[float, ...] = (0.3,),
    busy_cores: float = 2.0,
    throttled: float = 0.0,
    quota_cores: float | None = None,
    more_cpu=None,
    workers: int = 1,
    ready_s: float = 2.0,
    per_s: int = 100,
):
    """Write 20 s of ``per_s`` tuples/s, each 2 ms, 30 us of CPU; silent for a while; some windows starved."""
    times = [number * S // per_s for number in range(20 * per_s)]
    emitted = [at for at in times if not silent[0] * S <= at < silent[1] * S]
    # One tuple in ten is slow.
    latencies = [9_000_000 if number % 10 == 0 else 2_000_000 for number in range(len(emitted))]
    took = [40_000 if number % 10 == 0 else 20_000 for number in range(len(emitted))]
    executors = {"bolt1": 2, "bolt2": 3, "spout": 4, "__acker": 1}
    sink = {"topology": "chain", "component": "bolt2", "task": 3, "node": "n1"}
    seconds = [{**sink, "start_ns": second * S, "end_ns": (second + 1) * S} for second in range(20)]
    executed = np.histogram(emitted, np.arange(21) * S)[0]
    used = {"main": executed * 0.03, "compiler": np.full(20, 500.0), **(more_cpu or {})}
    starts = [{"time_ns": 0, "action": "submit", "subject": "chain", "detail": '{"took_ms": 1000.0}'}]
    starts += [{"time_ns": 5 * S, "action": "kill-worker", "subject": "n1:6700", "detail": "{}"}]
    starts += [{"time_ns": 7 * S, "action": "start-worker", "subject": "n1:6700", "detail": "{}"}]
    tables = {
        "placements": [
            {"topology": "chain", "component": name, "start_task": task, "end_task": task, "node": "n1"}
            | {"port": 6700, "start_ns": round(ready_s * S)}
            for name, task in executors.items()
        ],
        "roots": [
            {"topology": "chain", "root_id": number, "spout_task": 4, "line": number, "outcome": "acked"}
            | {"emit_ns": at, "complete_ns": at + latency, "latency_ns": latency}
            for number, (at, latency) in enumerate(zip(emitted, latencies, strict=True))
        ],
        "executions": [
            {**sink, "root_id": number, "source_task": 2, "locality": "process"}
            | {"enqueue_ns": at, "start_ns": at, "end_ns": at + ns}
            for number, (at, ns) in enumerate(zip(emitted, took, strict=True))
        ],
        "counts": [second | {"executed": count} for second, count in zip(seconds, executed, strict=True)],
        "cpu": [
            second | {"worker": number % workers, "thread": thread, "cpu_ms": cpu_ms[number]}
            for thread, cpu_ms in used.items()
            for number, second in enumerate(seconds)
        ],
        "control": starts,
    }
    waiting = [9.0 if second in starved else 0.1 for second in range(20)]
    windows = {
        "end_s": [second + 1.0 for second in range(20)],
        "busy_cores": [busy_cores] * 20,
        "hosts": {
            f"n{number}": {"used_cores": [used] * 20, "throttled": [throttled] * 20, "waiting": waiting}
            for number, used in enumerate(used_cores, 1)
        },
    }
    conditions = {"cores": 2, "quota_cores": {"n1": quota_cores}, "windows": windows}
    conditions = conditions if runtime == "live" else {}
    write_run(folder, tables, duration_s=20, conditions=conditions, runtime=runtime, storm_version="2.8.3")
    return open_run(folder)


def _scene(*measures: Measure, from_s: float = 4.0, to_s: float = 12.0, **more) -> Scene:
    return Scene("s", "chain", from_s, to_s, measures, component="bolt2", **more)


@pytest.mark.parametrize("runtime", ["live", "emulator"])
def test_rates_cpu_and_percentiles_match_values_computed_by_hand(tmp_path, runtime):
    tables = RunTables(_run(tmp_path / "run", runtime=runtime), SPEC)
    scene = _scene(Measure.THROUGHPUT)
    assert tables.measure(scene, Measure.THROUGHPUT).value == pytest.approx(100.0, abs=0.5)
    # The compiler's half a core is not counted.
    assert tables.measure(scene, Measure.CPU).value == pytest.approx(30.0, rel=0.01)
    assert tables.measure(scene, Measure.P50).value == 2.0
    assert tables.measure(scene, Measure.P95).value == 9.0
    assert tables.measure(scene, Measure.SPREAD).value == 2.0


def test_cpu_is_broken_down_by_kind_of_thread(tmp_path):
    more = {"network": np.full(20, 1.5), "receive": np.full(20, 0.5), "compiler": np.full(20, 9.0)}
    tables = RunTables(_run(tmp_path / "run", more_cpu=more), SPEC)
    # Per second, the main thread uses 3 ms and threads that read from the network 2 ms, for 100 tuples.
    told = tables.cpu_by_thread(_scene(Measure.CPU))
    assert told == pytest.approx({"main": 30.0, "receive": 20.0}, rel=0.01)
    assert sum(told.values()) == pytest.approx(tables.measure(_scene(), Measure.CPU).value)
    assert tables.cpu_by_thread(_scene(from_s=30.0, to_s=40.0)) == {}


def test_compiler_time_of_busy_workers_is_given_in_seconds(tmp_path):
    # Half a core for 20 s; 1,700 tuples, as the spout emits for 17 s.
    tables = RunTables(_run(tmp_path / "run"), SPEC)
    assert tables.compiler_seconds(1700) == [10.0]
    assert tables.compiler_seconds(1701) == []
    assert compiler_seconds([tables]) is None


def test_the_first_compiler_alone_is_done_after_fewer_tuples(tmp_path):
    # The spout emits 200 tuples a second for 17 s, which the first compiler compiles after 200 calls.
    tables = RunTables(_run(tmp_path / "run", per_s=200), SPEC)
    assert compiler_seconds([tables]) is None
    assert compiler_seconds([tables], c1_only=True) == 10.0


def test_housekeeping_is_measured_in_cores_per_worker(tmp_path):
    # 12 ms in each second of the scene, and none before.
    own = {"housekeeping": np.where(np.arange(20) < 4, 0.0, 12.0)}
    tables = RunTables(_run(tmp_path / "run", more_cpu=own), SPEC)
    assert tables.housekeeping_shares([_scene(), _scene(from_s=2.0, to_s=6.0)]) == pytest.approx(
        [0.012, 0.006]
    )
    starved = RunTables(_run(tmp_path / "starved", more_cpu=own, starved=range(4, 10)), SPEC)
    assert starved.housekeeping_shares([_scene()]) == []
    assert RunTables(_run(tmp_path / "none"), SPEC).housekeeping_shares([_scene()]) == []


def test_housekeeping_of_workers_with_connections_can_be_left_out(tmp_path):
    own = {"housekeeping": np.full(20, 12.0)}
    one, two = (
        RunTables(_run(tmp_path / str(workers), more_cpu=own, workers=workers), SPEC) for workers in (1, 2)
    )
    assert one.housekeeping_shares([_scene()], alone=True) == pytest.approx([0.012])
    assert two.housekeeping_shares([_scene()]) == pytest.approx([0.006])
    assert two.housekeeping_shares([_scene()], alone=True) == []


def test_windows_in_which_hosts_starved_are_left_out(tmp_path):
    tables = RunTables(_run(tmp_path / "run", starved=range(4, 10)), SPEC)
    # Two of eight seconds are left: too few.
    assert tables.measure(_scene(), Measure.THROUGHPUT) is None
    assert "fewer than 3 seconds" in tables.missing(_scene(), Measure.THROUGHPUT)
    tables = RunTables(_run(tmp_path / "other", starved=(4, 5)), SPEC)
    assert tables.measure(_scene(), Measure.THROUGHPUT).count == 6


@pytest.mark.parametrize(
    ("case", "counts"),
    [
        # Two hosts with a quota of 0.9 cores each use both cores.
        ({"used_cores": (0.9, 0.9), "quota_cores": 0.9}, True),
        # Without quotas, each host is due both cores.
        ({"used_cores": (0.9, 0.9)}, False),
        ({"used_cores": (1.8, 0.1)}, True),
        # A host that its quota throttles in a quarter of the periods has had its due.
        ({"used_cores": (0.4, 0.4, 0.4), "throttled": 0.25}, True),
        ({"used_cores": (0.4, 0.4, 0.4), "throttled": 0.24}, False),
        # Threads that wake up together wait for each other even on an idle machine.
        ({"used_cores": (0.6, 0.6), "busy_cores": 1.2}, True),
    ],
)
def test_hosts_starve_if_the_machine_is_full_and_they_get_less_than_they_are_due(tmp_path, case, counts):
    tables = RunTables(_run(tmp_path / "run", starved=range(20), **case), SPEC)
    assert (tables.measure(_scene(), Measure.THROUGHPUT) is not None) is counts


def test_hosts_whose_use_is_not_counted_are_measured_in_all_seconds(tmp_path):
    # As on loopback, where there are no control groups.
    tables = RunTables(_run(tmp_path / "run", used_cores=()), SPEC)
    assert tables.measure(_scene(), Measure.THROUGHPUT).count == 8


def test_a_scene_is_measured_from_when_its_workers_are_ready(tmp_path):
    tables = RunTables(_run(tmp_path / "run"), SPEC)
    assert tables.measure(_scene(from_s=0.0, to_s=12.0), Measure.THROUGHPUT).count == 5
    assert tables.measure(_scene(from_s=0.0, to_s=4.0), Measure.THROUGHPUT) is None
    assert tables.missing(_scene(from_s=0.0, to_s=4.0), Measure.CPU) == "its workers were ready too late"
    assert tables.missing(_scene(), Measure.CPU) == ""


@pytest.mark.parametrize(("fresh", "predicted"), [(True, 100.0), (False, None)])
def test_saturated_workers_are_compared_at_the_same_age(tmp_path, fresh, predicted):
    # Live workers are ready at 8 s and count from 13 s on, at ages of 5 to 8 s: the emulator's at 7 to 10 s.
    live = RunTables(_run(tmp_path / "live", ready_s=8.0, silent=(18.0, 19.0)), SPEC)
    played = RunTables(_run(tmp_path / "played", runtime="emulator", silent=(10.0, 16.0)), SPEC)
    scene = _scene(Measure.THROUGHPUT, from_s=10.0, to_s=16.0, fresh=fresh)
    (row,) = compare_sitting(SITTINGS["flood"], "2.8", [scene], [live], [played])
    (said,) = row.compared
    assert said.measured.value == 100.0
    assert (said.predicted and said.predicted.value) == predicted


def test_workers_that_start_earlier_on_real_storm_are_compared_without_a_shift(tmp_path):
    live = RunTables(_run(tmp_path / "live", ready_s=2.0, silent=(18.0, 19.0)), SPEC)
    played = RunTables(_run(tmp_path / "played", runtime="emulator", ready_s=8.0, silent=(16.0, 20.0)), SPEC)
    scene = _scene(Measure.THROUGHPUT, from_s=10.0, to_s=16.0, fresh=True)
    (row,) = compare_sitting(SITTINGS["flood"], "2.8", [scene], [live], [played])
    assert row.compared[0].predicted.value == 100.0


def test_nothing_is_predicted_if_emulated_workers_never_become_ready(tmp_path, monkeypatch):
    live = RunTables(_run(tmp_path / "live"), SPEC)
    played = RunTables(_run(tmp_path / "played", runtime="emulator"), SPEC)
    monkeypatch.setattr(played, "ready_s", lambda scene: math.inf)
    scene = _scene(Measure.THROUGHPUT, from_s=10.0, to_s=16.0, fresh=True)
    (row,) = compare_sitting(SITTINGS["flood"], "2.8", [scene], [live], [played])
    (said,) = row.compared
    assert said.measured is not None
    assert said.predicted is None


@pytest.mark.parametrize(("silent", "count"), [((12.0, 15.0), 20), ((7.8, 8.0), None)])
def test_a_percentile_needs_twenty_tuples(tmp_path, silent, count):
    tables = RunTables(_run(tmp_path / "run", per_s=5, silent=silent), SPEC)
    found = tables.measure(_scene(Measure.P50, to_s=8.0), Measure.P50)
    assert (found and found.count) == count


def test_the_interval_of_a_percentile_does_not_reach_below_zero(tmp_path):
    """Medians of 9, 2 and 2 ms, as only one slow tuple is left of the first second: 2 -+ t * s / sqrt(3)."""
    tables = RunTables(_run(tmp_path / "run", per_s=10, silent=(4.1, 5.0)), SPEC)
    found = tables.measure(_scene(Measure.P50, to_s=7.0), Measure.P50)
    assert (found.value, found.low) == (2.0, 0.0)
    assert found.high == pytest.approx(2.0 + 4.303 * 4.041 / math.sqrt(3), abs=0.01)


def test_times_of_the_control_plane_match_values_computed_by_hand(tmp_path):
    tables = RunTables(_run(tmp_path / "run", silent=(12.0, 15.0)), SPEC)
    start = _scene(effect=Effect.READY, from_s=0.0)
    # Submitted after 1 s; the first root tuple takes 9 ms from time 0.
    assert tables.measure(start, Measure.CONTROL).value == pytest.approx(-0.991)
    crash = _scene(effect=Effect.RELAUNCH, slot="n1:6700")
    assert tables.measure(crash, Measure.CONTROL).value == 2.0
    silence = _scene(effect=Effect.RESUME, from_s=11.0, to_s=20.0)
    assert tables.measure(silence, Measure.CONTROL).value == pytest.approx(3.01, abs=0.02)
    # A silence that is not over when the scene ends counts until then.
    cut = _scene(effect=Effect.RESUME, from_s=11.0, to_s=14.0)
    assert tables.measure(cut, Measure.CONTROL).value == pytest.approx(2.01, abs=0.02)
    # One that had begun before is no effect of the scene's event.
    later = _scene(effect=Effect.RESUME, from_s=13.0, to_s=20.0)
    assert tables.measure(later, Measure.CONTROL) is None
    assert tables.missing(later, Measure.CONTROL) == "the effect was not observed"


def test_a_thinned_run_is_valid_and_yields_the_same_measures(tmp_path):
    run = _run(tmp_path / "run")
    spread = _scene(Measure.SPREAD)
    thin(run, tmp_path / "thin", executions_measured([spread], SPEC), roots_measured([_scene(Measure.P50)]))
    again = open_run(tmp_path / "thin", verify=True)
    assert again.run == run.run
    assert again.manifest.conditions["kept_a_second"] == KEPT
    one, other = RunTables(run, SPEC), RunTables(again, SPEC)
    for measure in (Measure.THROUGHPUT, Measure.CPU, Measure.P50, Measure.P95, Measure.SPREAD):
        assert one.measure(_scene(), measure) == other.measure(_scene(), measure)
    # Executions that no scene measures are left out; a silence is measured at the sinks.
    assert executions_measured([_scene(Measure.P50)], SPEC) == frozenset()
    assert executions_measured([_scene(effect=Effect.RESUME)], SPEC) == {("chain", "bolt2")}
    thin(run, tmp_path / "thinner", (), {})
    less = RunTables(open_run(tmp_path / "thinner"), SPEC)
    assert less.measure(spread, Measure.SPREAD) is None
    assert less.measure(_scene(), Measure.P50) is None
    assert less.measure(_scene(), Measure.THROUGHPUT) == one.measure(_scene(), Measure.THROUGHPUT)
    # Root tuples are kept where latencies or starts are measured, until the end of the last such scene.
    assert roots_measured([_scene(Measure.THROUGHPUT)]) == {}
    assert roots_measured([_scene(Measure.CONTROL, effect=Effect.RESUME)]) == {}
    start = _scene(Measure.CONTROL, effect=Effect.READY, from_s=0.0, to_s=5.0)
    assert roots_measured([start]) == {"chain": 5.0}
    thin(run, tmp_path / "starts", (), roots_measured([start]))
    kept = RunTables(open_run(tmp_path / "starts"), SPEC)
    assert kept.measure(start, Measure.CONTROL) == one.measure(start, Measure.CONTROL)
    assert kept.run.table("roots").num_rows < one.run.table("roots").num_rows


def _trust() -> Trust:
    pairs = {"a": (100.0, 110.0), "b": (100.0, 80.0), "c": (10.0, 10.0)}
    halves = {"a": Half.PREDICTED, "b": Half.PREDICTED, "c": Half.CALIBRATES}
    rows = tuple(
        Row(
            f"{name}@2.8",
            "light",
            "2.8",
            halves[name],
            (Compared(Measure.P50, _measured(real), _measured(said)),),
        )
        for name, (real, said) in pairs.items()
    )
    return Trust(rows, (Ordering(Measure.P50, "a", "b", False), Ordering(Measure.P50, "a", "c", None)))


def test_the_document_has_the_keys_that_programs_read():
    found = _trust().document()
    assert list(found)[: len(FACTORS) + 3] == ["scenes", "predicted_scenes", *FACTORS, "orderings_wrong"]
    assert (found["scenes"], found["predicted_scenes"], found["orderings_wrong"]) == (3, 2, 1)
    # The median of 1.1 and 1.25; scenes that calibrate do not count.
    assert found["latency_factor"] == pytest.approx(1.175)
    third = replace(_trust().recorded[0], compared=(Compared(Measure.P50, _measured(4.0), _measured(3.0)),))
    assert Trust((third,), ()).document()["latency_factor"] == 1.3333
    assert found["throughput_factor"] is None
    assert len(found["rows"]) == 3
    assert (found["unusable_scenes"], found["unusable_measures"], found["unusable"]) == (0, 0, [])
    json.dumps(found, allow_nan=False)


def test_tables_match_the_document():
    assert scenes_table(_trust())["factor"].round(2).tolist() == [1.1, 1.25, 1.0]
    latency = factors_table(_trust()).set_index("median factor of").loc["complete latency"]
    assert latency.tolist() == [1.25, 1.175, 2, 1.0, 1]
    assert orderings_table(_trust())["the emulator"].tolist() == ["opposite order", "not distinguishable"]


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize(
    ("measured", "usable"),
    [
        (_measured(10.0, 4.9), True),
        (_measured(10.0, 5.1), False),  # 15.1 is more than three times 4.9
        (_measured(10.0, 10.0), False),
        (_measured(10.0, math.inf), False),
        (None, False),
    ],
)
def test_a_measurement_that_is_too_imprecise_counts_in_neither_half(half, measured, usable):
    # However close the emulator's value is.
    each = Compared(Measure.CPU, measured, _measured(10.0), "" if measured else "no good seconds")
    assert (not each.unusable, each.factor is not None) == (usable, usable)
    trust = Trust((Row("a@2.8", "light", "2.8", half, (each,)),), ())
    assert (len(trust.rows), len(trust.unusable)) == ((1, 0) if usable else (0, 1))
    assert trust.document()["unusable_measures"] == int(not usable)
    assert trust.factor("cpu_factor", half) == (1.0 if usable else None)
    counted = unusable_table(trust)
    assert counted[half.value].sum() == int(not usable)
    text = "\n".join(trust_lines(trust))
    assert ("unusable: " in text) == (not usable)
    if measured is None:
        assert "no good seconds" in text


def test_cpu_by_thread_is_the_mean_over_plays_in_which_a_thread_may_be_missing(tmp_path):
    """Of 100 tuples a second, the main thread uses 3 ms and threads that receive, in two runs, 2 and 1 ms."""
    plain, busy, played = (
        RunTables(_run(tmp_path / name, more_cpu={"receive": np.full(20, used)}), SPEC)
        for name, used in (("plain", 0.0), ("busy", 2.0), ("played", 1.0))
    )
    for emulated, threads in (([played], {"main": (30.0, 30.0), "receive": (10.0, 10.0)}), ([], {})):
        (row,) = compare_sitting(SITTINGS["light"], "2.8", [_scene(Measure.CPU)], [plain, busy], emulated)
        assert row.threads == {kind: pytest.approx(pair) for kind, pair in threads.items()}


def test_the_table_of_threads_has_a_row_for_each_scene_with_cpu_by_thread():
    cpu = (Compared(Measure.CPU, _measured(140.0), _measured(120.0)),)
    threads = {"main": (75.2, 70.9), "housekeeping": (5.0, 44.0)}
    told = Row("a@0.9", "light", "0.9", Half.PREDICTED, cpu, "m", threads)
    silent = Row("b@0.9", "light", "0.9", Half.PREDICTED, cpu, "m")
    (row,) = threads_table(Trust((told, silent), ())).to_dict("records")
    assert (row["scene"], row["main"], row["housekeeping"]) == ("m a@0.9", "75 / 71", "5 / 44")


def test_the_text_names_sitting_scene_interval_and_factor():
    lines = list(trust_lines(_trust()))
    assert all(len(line) <= 110 for line in lines[:-8])
    (row,) = [line for line in lines if line.strip().startswith("b ")]
    assert row.split() == ["b", "predicted", "p50", "ms", "100", "100", "to", "100", "80", "1.25"]
    assert "Light load by distance, and cold code, Storm 2.8" in lines
    assert "  a against b, by p50: opposite order" in lines
    assert any(str(WIDEST)[0] in line and "unusable" in line for line in lines)


def test_several_plays_are_pooled_with_their_scatter():
    both = pooled([_measured(10.0, 1.0), _measured(14.0, 1.0)], Measure.THROUGHPUT)
    assert (both.value, both.low, both.high) == (12.0, 10.0, 14.0)
    assert pooled([], Measure.THROUGHPUT) is None


def test_of_times_of_the_control_plane_the_median_counts():
    times = pooled([_measured(5.0, 0.0), _measured(6.0, 0.0), _measured(90.0, 0.0)], Measure.CONTROL)
    assert (times.value, times.low, times.high) == (6.0, 5.0, 90.0)


@pytest.mark.parametrize(
    ("first", "second", "agrees"),
    [
        # The machine of the second play is twice as fast; in both, one worker per host does a fifth more.
        ([(100, 5), (200, 10)], [(120, 5), (240, 10)], True),
        ([(120, 5), (240, 10)], [(100, 5), (200, 10)], False),
        # One play is inconclusive, or shows the opposite order.
        ([(100, 5), (200, 30)], [(120, 5), (240, 30)], None),
        ([(100, 5), (240, 10)], [(120, 5), (200, 10)], None),
        # The intervals of one play touch.
        ([(100, 5), (200, 20)], [(120, 5), (240, 20)], None),
        ([(120, 5), (240, 20)], [(100, 5), (200, 20)], None),
        # One play has no measure.
        ([(100, 5), None], [(120, 5), (240, 10)], None),
    ],
)
def test_real_storm_shows_an_order_only_if_every_play_shows_the_same_one(first, second, agrees):
    def row(name, plays, predicted):
        told = tuple(None if each is None else _measured(*map(float, each)) for each in plays)
        both = Compared(
            Measure.THROUGHPUT, pooled(told, Measure.THROUGHPUT), _measured(predicted), plays=told
        )
        return Row(name, "linear", "0.9", Half.PREDICTED, (both,))

    names = ("linear-even-12@0.9", "linear-even-6@0.9")
    opposite = None if agrees is None else not agrees
    for predicted, expected in (((100.0, 110.0), agrees), ((110.0, 100.0), opposite)):
        rows = map(row, names, (first, second), predicted)
        found = orderings_of(SITTINGS["linear"], "0.9", {each.name: each for each in rows})
        assert next(each.agrees for each in found if (each.one, each.other) == names) is expected


def test_a_factor_needs_a_measured_and_a_predicted_value():
    assert Compared(Measure.P50, _measured(2.0), None).factor is None
    assert Compared(Measure.P50, _measured(2.0), _measured(1.0)).factor == 2.0
