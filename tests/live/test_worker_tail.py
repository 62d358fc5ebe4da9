"""Load that the monitors read from files of running workers, here written by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from storm_lab.live.services import WorkerTail
from storm_lab.model import Component, Slot, Subscription, Topology, executors_of
from tests.live.test_collect import CHAIN, MS, PLAN, V2, Files, opened, window

ALL = executors_of(CHAIN, V2)
ACKER, BOLT1, BOLT2, SPOUT = ALL


@pytest.fixture
def tail(tmp_path: Path) -> WorkerTail:
    return WorkerTail(PLAN, V2, tmp_path)


def _first(**parts):
    return window(1000, 2000, **parts)


def test_each_window_is_returned_once(tail: WorkerTail, tmp_path: Path):
    files = Files(tmp_path)
    lines = [opened(2, 1500), _first()]
    files.worker(11, 1000, *lines)
    assert len(tail.read_new()) == 1
    assert tail.read_new() == []
    files.worker(11, 1000, *lines, window(2000, 3000))
    assert [each.start_ns for _, each in tail.read_new()] == [window(2000, 3000)["start_ns"]]


def test_an_incomplete_line_is_read_once_it_is_complete(tail: WorkerTail, tmp_path: Path):
    files = Files(tmp_path)
    files.worker(11, 1000, opened(2, 1500), _first())
    path = tmp_path / "worker-11-1.jsonl"
    whole = path.read_text()
    path.write_text(whole[:-20])
    assert tail.read_new() == []
    path.write_text(whole)
    assert len(tail.read_new()) == 1


def test_cpu_of_executors_is_that_of_their_own_threads(tail: WorkerTail, tmp_path: Path):
    threads = [
        [102, "Thread-8-bolt1-executor[2, 2]", 2 * MS],
        [9, "Thread-9-__acker-executor[1, 1]", 3 * MS],
        [10, "Worker-Transfer", 5 * MS],
    ]
    Files(tmp_path).worker(11, 1000, opened(2, 1500), _first(threads=threads))
    (pair,) = tail.read_new()
    assert tail.cpu(*pair) == {BOLT1: 2 * MS, ACKER: 3 * MS}


def test_acks_are_divided_equally_among_ackers(tmp_path: Path):
    # Tasks: __acker 1 and 2, bolt 3, spout 4.
    components = (Component("spout"), Component("bolt", inputs=(Subscription("spout"),)))
    tail = WorkerTail(replace(PLAN, topology=Topology("t", components, ackers=2)), V2, tmp_path)
    tasks = [[4, 10, 10, 0, 7, 2, 0], [3, 0, 0, 10, 10, 0, 0]]
    Files(tmp_path).worker(11, 1000, _first(tasks=tasks, sent=[[4, 3, 10, 600]]))
    ((_, one),) = tail.read_new()
    assert tail.traffic(one) == {
        ("t", 4, 3): 10,
        ("t", 3, 1): 5,
        ("t", 3, 2): 5,
        ("t", 4, 1): 5,
        ("t", 4, 2): 5,
        ("t", 1, 4): 4,
        ("t", 2, 4): 5,
    }
    assert tail.failed(one) == 2


def test_ackers_hear_nothing_of_tuples_without_message_ids(tmp_path: Path):
    untracked = {"spout": replace(PLAN.sources["spout"], anchored=False)}
    tail = WorkerTail(replace(PLAN, sources=untracked), V2, tmp_path)
    # Tasks: __acker 1, bolt1 2, bolt2 3, spout 4.
    tasks = [[4, 10, 10, 0, 0, 0, 0], [2, 10, 10, 10, 10, 0, 0], [3, 0, 0, 10, 10, 0, 0]]
    Files(tmp_path).worker(11, 1000, _first(tasks=tasks, sent=[[4, 2, 10, 600], [2, 3, 10, 600]]))
    ((_, one),) = tail.read_new()
    assert tail.traffic(one) == {("chain", 4, 2): 10, ("chain", 2, 3): 10}


def test_executors_are_ready_when_each_has_opened_in_its_assigned_slot(tail: WorkerTail, tmp_path: Path):
    files = Files(tmp_path)
    here, there = Slot("n1", 6700), Slot("n2", 6700)
    wanted = {SPOUT: here, BOLT1: here, BOLT2: there, ACKER: there}
    files.worker(11, 1000, opened(4, 1500), opened(2, 1500))
    tail.read_new()
    slots = {11: here, 22: there}
    assert not tail.ready(wanted, slots)
    files.worker(22, 1000, opened(3, 1500))
    tail.read_new()
    assert tail.ready(wanted, slots)
    assert not tail.ready({**wanted, BOLT2: here}, slots)
