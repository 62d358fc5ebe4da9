"""Collecting a live run's records into a tuple log: two workers on two nodes, written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from storm_lab.emulator.control.decision_log import Decision
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.cgroups import CpuUse
from storm_lab.live.collect import collect
from storm_lab.live.lives import LiveRecords
from storm_lab.live.player_files import EXECUTION_ROW, ROOT_ROW
from storm_lab.live.processes import LiveWorker
from storm_lab.live.sampler import Sample, WorkerSample, windows_of
from storm_lab.model import Assignment, Cluster, Component, Node, Slot, StormVersion, Subscription, Topology
from storm_lab.model.executor import executors_of
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.tuplelog import RunIdentity, RunWriter, open_run
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.throughput import CountById, EmitRandomTexts, Identity

MS = 1_000_000
SECOND = 1000 * MS
ORIGIN = 500 * SECOND
V2 = StormVersion((2, 8, 3))
CLUSTER = Cluster((Node("n1"), Node("n2")))

# Tasks: __acker 1, bolt1 2, bolt2 3, spout 4.
CHAIN = Topology(
    "chain",
    (
        Component("spout", outputs={"default": ("id", "text")}),
        Component("bolt1", inputs=(Subscription("spout"),), outputs={"default": ("id", "text")}),
        Component("bolt2", inputs=(Subscription("bolt1"),)),
    ),
    workers=2,
    ackers=1,
)
CODE = {"spout": EmitRandomTexts(2, 10, 1), "bolt1": Identity(), "bolt2": CountById()}
PLAN = TopologyPlan(
    CHAIN, build_trace(CHAIN, CODE, V2), {"spout": SourcePlan(SourceKind.RATE, rate_per_s=1.0, sleep_ns=7)}
)


def at(ms: float) -> int:
    """Convert milliseconds of the run to CLOCK_MONOTONIC."""
    return ORIGIN + round(ms * MS)


def name(row: int, *, tracked: bool = True, task: int = 4, incarnation: int = 0) -> int:
    """Return a root tuple's number as tuples carry it."""
    whole = task << 48 | incarnation << 40 | row
    return whole if tracked else whole - (1 << 63)


class Files:
    """Writes the files that workers write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def worker(self, pid: int, started_ms: float, *lines: dict[str, Any], supervisor: str = "?") -> None:
        head = {
            "event": "worker",
            "time_ns": at(started_ms + 900),
            "pid": pid,
            "port": 6700,
            "command": f"org.apache.storm.daemon.worker.Worker chain-1-17 {supervisor} 6700 x",
            "started_ns": at(started_ms),
        }
        text = "".join(json.dumps(line) + "\n" for line in (head, *lines))
        (self.folder / f"worker-{pid}-1.jsonl").write_text(text)

    def roots(self, *rows: tuple[float, float, int, int, int], incarnation: int = 0) -> None:
        """Write rows of emit and end in ms, line, attempt and outcome."""
        table = np.zeros(len(rows) + 3, ROOT_ROW)
        for place, (emit, end, line, attempt, outcome) in enumerate(rows):
            table[place] = (at(emit), at(end) if end else 0, line, attempt, outcome)
        (self.folder / f"roots-4-{incarnation}.bin").write_bytes(table.tobytes())

    def executions(self, task: int, *rows: tuple[float, float, int, int]) -> None:
        """Write rows of start and end in ms, root and source."""
        table = np.zeros(len(rows) + 3, EXECUTION_ROW)
        for place, (start, end, root, source) in enumerate(rows):
            table[place] = (at(start), at(end), root, source, 0)
        (self.folder / f"executions-{task}-0.bin").write_bytes(table.tobytes())


def opened(task: int, ms: float, *, incarnation: int = 0) -> dict[str, Any]:
    return {
        "event": "task",
        "time_ns": at(ms),
        "task": task,
        "incarnation": incarnation,
        "thread": 100 + task,
    }


def window(start: float, end: float, **parts: Any) -> dict[str, Any]:
    return {
        "event": "window",
        "start_ns": at(start),
        "end_ns": at(end),
        "tasks": [],
        "sent": [],
        "threads": [],
        "process_cpu_ns": 0,
    } | parts


def sample(ms: float, *pids: int, compiler_ms: float = 0.0, total_ms: float = 0.0, **hosts: float) -> Sample:
    """Return a sample of workers, of which 11 is on n1 and 22 on n2."""
    workers = tuple(
        WorkerSample(
            LiveWorker(Slot({11: "n1", 22: "n2"}.get(pid, "n1"), 6700), pid, "chain-1-17", at(1000)),
            round(total_ms * MS),
            round(compiler_ms * MS),
            0,
        )
        for pid in pids
    )
    use = {node: CpuUse(round(cpu * MS), 0, 0) for node, cpu in hosts.items()}
    return Sample(at(ms), workers, use, 0, 0.0)


def records(
    folder: Path, *samples: Sample, sample_every: int = 1, seconds: float = 10.0, **changes: Any
) -> LiveRecords:
    spec = EmulationSpec(CLUSTER, V2, (PLAN,), DefaultScheduler(), seconds, sample_every=sample_every)
    whole = LiveRecords(
        spec,
        folders={"chain": folder},
        origin_ns=ORIGIN,
        samples=samples or (sample(2000, 11, 22), sample(10_000, 11, 22)),
        assignments=[],
        supervisors={},
        decisions=[],
    )
    return replace(whole, **changes)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Spout and bolt1 in worker 11 on n1, bolt2 and the acker in worker 22 on n2."""
    folder = tmp_path / "records"
    folder.mkdir()
    made = Files(folder)
    made.worker(
        11,
        1000,
        opened(4, 2100),
        opened(2, 2200),
        window(
            1000,
            3000,
            tasks=[[4, 3, 3, 0, 2, 1, 0], [2, 2, 2, 2, 2, 0, 5 * MS]],
            sent=[[4, 2, 3, 90], [2, 3, 2, 60]],
            threads=[
                [104, "Thread-9-spout-executor[4, 4]", 4 * MS],
                [102, "Thread-8-bolt1-executor[2, 2]", 2 * MS],
                [1, "Worker-Transfer", 3 * MS],
                [2, "main", 1 * MS],
            ],
            process_cpu_ns=30 * MS,
        ),
    )
    made.worker(
        22,
        1100,
        opened(3, 2300),
        window(1100, 3000, threads=[[5, "Thread-8-__acker-executor[1, 1]", 6 * MS]], process_cpu_ns=6 * MS),
    )
    made.roots((2500, 2504, 0, 0, 1), (2600, 2699.5, 1, 0, 2), (9999, 0, 2, 0, 0))
    made.executions(2, (2501, 2502, name(0), 4), (2601, 2602, name(1), 4))
    made.executions(3, (2503, 2503.25, name(0), 2), (2700, 2701, name(5, tracked=False), 2))
    return made


def written(tmp_path: Path, what: LiveRecords) -> dict[str, list[dict[str, Any]]]:
    identity = RunIdentity("live", "x", {}, 1, "2.8.3", "c", "l", {}, what.spec.sample_every, runtime="live")
    folder = tmp_path / "run"
    with RunWriter(folder, identity) as log:
        collect(what, log)
        log.finish(duration_ns=what.duration_ns, conditions={"cores": 2})
    run = open_run(folder, verify=True)
    assert run.manifest.identity.runtime == "live"
    assert run.manifest.conditions == {"cores": 2}
    return {
        table: [{k: v for k, v in row.items() if k != "run"} for row in run.table(table).to_pylist()]
        for table in run.manifest.tables
    }


def test_root_tuples_have_their_times_and_outcomes(tmp_path: Path, files: Files):
    roots = written(tmp_path, records(files.folder))["roots"]
    assert roots[0] == {
        "root_id": 0,
        "topology": "chain",
        "spout_task": 4,
        "line": 0,
        "attempt": 0,
        "emit_ns": 2500 * MS,
        "complete_ns": 2504 * MS,
        "outcome": "acked",
        "latency_ns": 4 * MS,
        "sleep_ns": 7,
    }
    assert [(row["outcome"], row["latency_ns"]) for row in roots[1:]] == [
        ("failed", round(99.5 * MS)),
        ("pending", None),
    ]


def test_executions_have_their_root_worker_and_locality(tmp_path: Path, files: Files):
    rows = written(tmp_path, records(files.folder))["executions"]
    found = [
        (r["root_id"], r["component"], r["source_task"], r["worker"], r["node"], r["locality"]) for r in rows
    ]
    assert found == [
        (0, "bolt1", 4, 0, "n1", "process"),
        (1, "bolt1", 4, 0, "n1", "process"),
        (0, "bolt2", 2, 1, "n2", "rack"),
        (-1, "bolt2", 2, 1, "n2", "rack"),
    ]
    assert (rows[0]["start_ns"], rows[0]["end_ns"]) == (2501 * MS, 2502 * MS)
    # It is not known when a tuple entered a queue.
    assert {row["enqueue_ns"] for row in rows} == {None}


def test_placements_start_when_their_executors_are_ready(tmp_path: Path, files: Files):
    rows = written(tmp_path, records(files.folder))["placements"]
    assert {
        (r["component"], r["worker"], r["node"], r["port"], r["start_ns"], r["end_ns"]) for r in rows
    } == {
        ("spout", 0, "n1", 6700, 2100 * MS, None),
        ("bolt1", 0, "n1", 6700, 2200 * MS, None),
        ("bolt2", 1, "n2", 6700, 2300 * MS, None),
        # Its thread exists, so it counts as ready when its worker is.
        ("__acker", 1, "n2", 6700, 2300 * MS, None),
    }


def test_counters_are_read_from_the_windows_of_workers(tmp_path: Path, files: Files):
    rows = written(tmp_path, records(files.folder))["counts"]
    spout, bolt = sorted(rows, key=lambda row: -row["task"])
    assert (spout["emitted"], spout["acked"], spout["failed"]) == (3, 2, 1)
    assert (bolt["executed"], bolt["execute_ns"]) == (2, 5 * MS)
    assert (bolt["start_ns"], bolt["end_ns"]) == (1000 * MS, 3000 * MS)


def test_execute_time_is_extrapolated_from_sampled_calls(tmp_path: Path, files: Files):
    rows = written(tmp_path, records(files.folder, sample_every=10))["counts"]
    assert max(row["execute_ns"] for row in rows) == 50 * MS


def test_traffic_is_what_the_senders_counted(tmp_path: Path, files: Files):
    rows = written(tmp_path, records(files.folder))["traffic"]
    assert [
        (r["source_component"], r["target_component"], r["locality"], r["tuples"], r["bytes"]) for r in rows
    ] == [("spout", "bolt1", "process", 3, 90), ("bolt1", "bolt2", "rack", 2, 60)]


def test_cpu_is_split_by_component_and_kind_of_thread(tmp_path: Path, files: Files):
    looks = (
        sample(1000, 11, 22),
        sample(3000, 11, 22, compiler_ms=8.0, total_ms=40.0, n1=100.0, n2=55.0),
        sample(10_000, 11, 22, compiler_ms=8.0, total_ms=40.0, n1=100.0, n2=55.0),
    )
    looks = (replace(looks[0], hosts={n: CpuUse(0, 0, 0) for n in ("n1", "n2")}), *looks[1:])
    rows = written(tmp_path, records(files.folder, *looks))["cpu"]
    own = {(r["component"], r["thread"]): r["cpu_ms"] for r in rows if r["worker"] == 0}
    assert own == {
        ("spout", "main"): 4.0,
        ("bolt1", "main"): 2.0,
        ("", "transfer"): 3.0,
        ("", "compiler"): 8.0,
        # 1 ms of the main thread, and 12 of 30 ms that belong to no listed thread and not to the compiler.
        ("", "housekeeping"): 13.0,
    }
    # CPU that the node has used outside its worker.
    assert {(r["node"], r["cpu_ms"]) for r in rows if r["worker"] == -1} == {("n1", 60.0), ("n2", 15.0)}


def test_roots_of_a_dead_spout_are_lost_and_its_successor_uses_new_numbers(tmp_path: Path, files: Files):
    files.worker(33, 5000, opened(4, 6000, incarnation=1), opened(2, 6000, incarnation=1))
    files.roots((7000, 7001, 3, 0, 1), incarnation=1)
    looks = (sample(4000, 11, 22), sample(5500, 22, 33), sample(10_000, 22, 33))
    tables = written(tmp_path, records(files.folder, *looks))
    assert {(r["line"], r["outcome"]) for r in tables["roots"]} == {
        (0, "acked"),
        (1, "failed"),
        (2, "lost"),
        (3, "acked"),
    }
    assert len({row["root_id"] for row in tables["roots"]}) == 4
    stays = {(r["worker"], r["end_ns"]) for r in tables["placements"] if r["component"] == "spout"}
    assert stays == {(0, 4000 * MS), (2, None)}
    ended = [r for r in tables["control"] if r["action"] == "worker-ended"]
    assert [r["subject"] for r in ended] == ["n1:6700"]


def test_numbers_of_sampled_roots_are_multiples_of_the_sampling_interval(tmp_path: Path, files: Files):
    files.worker(33, 5000, opened(4, 6000, incarnation=1))
    files.roots(*[(7000 + n, 7001 + n, n, 0, 1) for n in range(7)], incarnation=1)
    looks = (sample(4000, 11, 22), sample(5500, 22, 33), sample(10_000, 22, 33))
    roots = written(tmp_path, records(files.folder, *looks, sample_every=3))["roots"]
    assert len({row["root_id"] for row in roots}) == len(roots) == 10
    second = sorted((row["emit_ns"], row["root_id"]) for row in roots if row["emit_ns"] >= 7000 * MS)[:7]
    assert [number % 3 == 0 for _, number in second] == [True, False, False, True, False, False, True]


def test_events_after_the_end_of_the_run_are_left_out(tmp_path: Path, files: Files):
    what = records(files.folder, sample(2000, 11, 22), sample(2600, 11, 22), seconds=2.65)
    tables = written(tmp_path, what)
    assert [row["outcome"] for row in tables["roots"]] == ["acked", "pending"]
    assert len(tables["executions"]) == 3
    assert tables["counts"] == []


def test_executors_of_a_worker_without_records_come_from_the_assignment(tmp_path: Path, files: Files):
    (files.folder / "worker-22-1.jsonl").unlink()
    acker = executors_of(CHAIN, V2)[0]
    given = Assignment.of([(acker, Slot("n2", 6700))])
    tables = written(tmp_path, records(files.folder, assignments=[(at(0), given)]))
    row = next(r for r in tables["placements"] if r["component"] == "__acker")
    assert (row["node"], row["start_ns"]) == ("n2", 1000 * MS)


def test_the_node_of_a_worker_in_no_sample_comes_from_its_supervisor(tmp_path: Path, files: Files):
    files.worker(44, 1000, opened(3, 2000), supervisor="abc")
    looks = (sample(2000, 11, 22), sample(10_000, 11, 22))
    tables = written(tmp_path, records(files.folder, *looks, supervisors={"abc": "n2"}))
    assert {r["worker"] for r in tables["placements"] if r["node"] == "n2"} == {1, 2}


def test_control_events_are_sorted_by_time(tmp_path: Path, files: Files):
    said = [Decision(0, "nimbus", "submit", "chain"), Decision(at(99_000) - ORIGIN, "fault", "late", "x")]
    rows = written(tmp_path, records(files.folder, decisions=said))["control"]
    assert [(row["time_ns"] // MS, row["actor"], row["action"]) for row in rows] == [
        (0, "nimbus", "submit"),
        (1000, "supervisor:n1", "start-worker"),
        (1100, "supervisor:n2", "start-worker"),
        (2200, "worker:0", "worker-ready"),
        (2300, "worker:1", "worker-ready"),
    ]


def test_the_cpu_of_each_host_is_recorded_for_every_window():
    before = Sample(at(0), (), {"n1": CpuUse(0, 0, 0)}, 0, 0.0)
    worker = LiveWorker(Slot("n1", 6700), 11, "chain-1-17", at(0))
    after = Sample(
        at(1000),
        (WorkerSample(worker, 0, 0, 0, waited_ns=round(500 * MS)),),
        {"n1": CpuUse(round(250 * MS), 50, 10)},
        round(1500 * MS),
        0.0,
    )
    found = windows_of((before, after), at(0))
    assert found["end_s"] == [1.0]
    assert found["busy_cores"] == [1.5]
    assert found["hosts"] == {"n1": {"used_cores": [0.25], "throttled": [0.2], "waiting": [0.5]}}
