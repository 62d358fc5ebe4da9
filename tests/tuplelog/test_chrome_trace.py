"""A run in Chrome's trace format: slices, names, instants and counters as the viewers read them."""

import json
import math
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.tuplelog import open_run
from storm_lab.tuplelog.chrome_trace import write_chrome_trace
from tests.tuplelog.tiny import MS, S, root, write_run

EXECUTION = {
    "root_id": 0, "topology": "wc", "component": "split", "task": 2, "source_task": 1, "worker": 0,
    "node": "n1", "locality": "process", "enqueue_ns": S, "start_ns": S + 2 * MS, "end_ns": S + 5 * MS,
}  # fmt: skip
TABLES = {
    "roots": [root(1, 10)],
    "executions": [EXECUTION, {**EXECUTION, "enqueue_ns": 9 * S, "start_ns": 9 * S, "end_ns": 9 * S + MS}],
    "control": [
        {"time_ns": 2 * S, "actor": "fault", "action": "kill-node", "subject": "n1", "detail": "{}"}
    ],
    "cpu": [
        {"start_ns": 0, "end_ns": 2 * S, "node": "n1", "topology": "wc", "worker": 0, "component": "split",
         "task": 2, "thread": "main", "cpu_ms": 500.0},
        {"start_ns": 0, "end_ns": 2 * S, "node": "n1", "topology": "", "worker": -1, "component": "",
         "task": -1, "thread": "housekeeping", "cpu_ms": 500.0},
    ],
    "placements": [
        {"topology": "wc", "component": "split", "start_task": 2, "end_task": 3, "worker": 0, "node": "n1",
         "port": 6700, "start_ns": 0, "end_ns": None},
    ],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_run(tmp_path / "run", TABLES)
    return tmp_path / "run"


def events(folder: Path, path: Path, **times: float) -> list[dict[str, object]]:
    write_chrome_trace(open_run(folder), path, **times)
    return list(json.loads(path.read_text())["traceEvents"])


def test_an_execution_is_a_slice_of_its_task_in_its_worker(folder: Path, tmp_path: Path) -> None:
    (first, _) = [each for each in events(folder, tmp_path / "t.json") if each["ph"] == "X"]
    assert (first["ts"], first["dur"], first["pid"], first["tid"]) == (1_002_000.0, 3000.0, 0, 2)
    assert first["args"]["waited_us"] == 2000.0  # type: ignore[index]


def test_workers_and_tasks_have_names_and_nodes_have_counters(folder: Path, tmp_path: Path) -> None:
    found = events(folder, tmp_path / "t.json")
    names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in found if e["ph"] == "M"}  # type: ignore[index]
    assert names["process_name", 0, 0] == "worker 0, n1:6700"
    assert names["thread_name", 0, 3] == "split 3"
    (counter,) = [each for each in found if each["ph"] == "C"]
    assert (counter["name"], counter["args"]) == ("n1", {"cores": 0.5})
    (instant,) = [each for each in found if each["ph"] == "i"]
    assert (instant["name"], instant["ts"]) == ("kill-node n1", 2_000_000.0)


def test_only_executions_between_two_times_are_written(folder: Path, tmp_path: Path) -> None:
    assert sum(each["ph"] == "X" for each in events(folder, tmp_path / "t.json", from_s=5.0)) == 1
    with pytest.raises(UserError, match="0 executions between these times"):
        write_chrome_trace(open_run(folder), tmp_path / "t.json", from_s=20.0, to_s=30.0)


def test_a_window_that_began_before_is_a_counter_from_the_first_time(folder: Path, tmp_path: Path) -> None:
    found = events(folder, tmp_path / "t.json", from_s=1.0, to_s=1.5)
    (counter,) = [each for each in found if each["ph"] == "C"]
    assert (counter["ts"], counter["args"]) == (1_000_000.0, {"cores": 0.5})


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({"from_s": math.nan}, "--from = nan: is not a valid time; give 0 to 1000000000 s"),
        ({"from_s": -1.0}, "--from = -1.0: is not a valid time; give 0 to 1000000000 s"),
        ({"to_s": math.inf}, "--to = inf: is not a valid time; give 0 to 1000000000 s"),
        ({"from_s": 5.0, "to_s": 4.0}, "--to = 4.0: it is before --from = 5; give a time after"),
    ],
)
def test_invalid_or_swapped_times_are_refused(
    folder: Path, tmp_path: Path, times: dict[str, float], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        write_chrome_trace(open_run(folder), tmp_path / "t.json", **times)


def test_a_file_that_cannot_be_written_is_named_as_given(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    for place in (Path("/proc/t.json"), tmp_path / "taken" / "t.json"):
        with pytest.raises(UserError, match=f"^file = '{place}': .*cannot be written.*; name a file") as said:
            write_chrome_trace(open_run(folder), place)
        assert ".part" not in str(said.value)


def test_an_empty_file_name_is_refused(folder: Path) -> None:
    with pytest.raises(UserError, match=r"^file = '\.': this is not a file name; name a file"):
        write_chrome_trace(open_run(folder), Path())
