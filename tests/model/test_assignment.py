"""Assignments can be passed between processes."""

from __future__ import annotations

import copy
import pickle

import pytest

from storm_lab.model import Assignment, Executor, Slot


def test_an_assignment_survives_pickling_and_stays_read_only() -> None:
    pairs = [(Executor("t", 2, 2, "b"), Slot("n2", 6701)), (Executor("t", 1, 1, "a"), Slot("n1", 6700))]
    whole = Assignment.of(pairs)
    again = pickle.loads(pickle.dumps(whole))
    assert again == whole == copy.deepcopy(whole)
    assert list(again.slots) == list(whole.slots)
    with pytest.raises(TypeError):
        again.slots[Executor("t", 3, 3, "c")] = Slot("n1", 6700)
    assert pickle.loads(pickle.dumps(Assignment())) == Assignment()
