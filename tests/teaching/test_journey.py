"""A tuple's journey and its acking, on a log that is worked out by hand."""

from pathlib import Path

import pandas as pd
import pytest

from storm_lab.errors import UserError
from storm_lab.teaching.journey import journey, ledger, roots_of
from storm_lab.tuplelog import open_run
from tests.tuplelog.tiny import MS, S, root, write_run


def executed(component: str, task: int, source: int, *, queued: int, took: int, done: int) -> dict:
    return {
        "root_id": 0, "topology": "wc", "component": component, "task": task, "source_task": source,
        "worker": 0, "node": "n1", "locality": "process", "enqueue_ns": S + queued * MS,
        "start_ns": S + took * MS, "end_ns": S + done * MS,
    }  # fmt: skip


@pytest.fixture
def steps(tmp_path: Path) -> pd.DataFrame:
    rows = [
        executed("split", 2, 1, queued=1, took=2, done=6),
        executed("count", 3, 2, queued=6, took=6, done=7),
        executed("count", 4, 2, queued=6, took=8, done=9),
    ]
    write_run(tmp_path / "run", {"roots": [root(1, 10, spout_task=1)], "executions": rows})
    run = open_run(tmp_path / "run")
    assert roots_of(run) == [0]
    with pytest.raises(UserError, match="root = 7"):
        journey(run, 7)
    return journey(run, 0)


def test_it_says_where_a_tuple_waited_and_who_sent_it(steps: pd.DataFrame) -> None:
    assert steps["component"].tolist() == ["split", "count", "count"]
    assert steps["since_emit_us"].tolist() == [1000.0, 6000.0, 6000.0]
    assert steps["waited_us"].tolist() == [1000.0, 0.0, 2000.0]
    assert steps["parent"].tolist() == [-1, 0, 0]


def test_a_parent_that_the_log_leaves_open_is_missing(tmp_path: Path) -> None:
    rows = [
        executed("split", 2, 1, queued=1, took=1, done=2),
        executed("count", 3, 2, queued=3, took=3, done=4),
        executed("count", 3, 2, queued=3, took=4, done=6),
        executed("store", 5, 3, queued=5, took=5, done=9),
        executed("store", 6, 3, queued=8, took=8, done=9),
    ]
    write_run(tmp_path / "run", {"roots": [root(1, 10, spout_task=1)], "executions": rows})
    steps = journey(open_run(tmp_path / "run"), 0)
    # At 5 ms the second word was being counted, so it was not what sent the first tuple to the store.
    assert steps["parent"].tolist() == [-1, 0, 0, 1, pd.NA]
    with pytest.raises(UserError, match="does not tell which execution emitted tuple 4"):
        ledger(steps)


def test_the_ledger_is_zero_at_its_end_and_not_before(steps: pd.DataFrame) -> None:
    values = ledger(steps)["value"].tolist()
    assert len(values) == 4
    assert int(values[-1], 16) == 0
    assert all(int(value, 16) for value in values[:-1])


def test_a_run_in_which_nothing_was_acked_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"roots": [root(1, None, "pending")]})
    with pytest.raises(UserError, match=r"no root tuple emitted after the warm-up of .* change the rate"):
        roots_of(open_run(tmp_path / "run"))
