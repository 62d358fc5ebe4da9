"""Digests of live objects: a user's scheduler gets another one when anything that it uses changes."""

from __future__ import annotations

import functools
import importlib
import itertools
import linecache
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from storm_lab.identity.value import value_digest

BASE = "LEAST = 2\nclass Base:\n    def best(self):\n        return LEAST\n"
HELPERS = "WEIGHTS = {'cpu': 1.0}\ndef score(node):\n    return WEIGHTS['cpu'] * node\n"
IDEA = """
from base import Base
import helpers

LIMIT = 3

class Idea(Base):
    name = "idea"
    levels = [1, 2]

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    @property
    def most(self):
        return LIMIT

    @staticmethod
    def half(value):
        return value / 2

    @classmethod
    def made(cls):
        return cls(2.0)

    def schedule(self, view):
        # Highest score first.
        return helpers.score(self.half(view))
"""
FILES = {"base": BASE, "helpers": HELPERS, "idea": IDEA}
EDITS = [
    ("base", "LEAST = 2", "LEAST = 3"),
    ("helpers", "1.0", "0.0"),
    ("helpers", "* node", "+ node"),
    ("idea", "LIMIT = 3", "LIMIT = 4"),
    ("idea", "[1, 2]", "[1, 3]"),
    ("idea", "return LIMIT", "return -LIMIT"),
    ("idea", "value / 2", "value / 3"),
    ("idea", "cls(2.0)", "cls(2.5)"),
    ("idea", "gamma=1.0", "gamma=1.5"),
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder with a scheduler in three files."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(text)
    yield tmp_path
    for name in FILES:
        sys.modules.pop(name, None)


def edit(project: Path, file: str, old: str, new: str) -> None:
    text = (project / f"{file}.py").read_text()
    assert text.count(old) == 1
    (project / f"{file}.py").write_text(text.replace(old, new))


@pytest.mark.parametrize(("file", "old", "new"), EDITS)
def test_an_edit_of_anything_that_a_scheduler_uses_changes_its_digest(
    project: Path, file: str, old: str, new: str
) -> None:
    idea = importlib.import_module("idea").Idea()
    before = value_digest(idea)
    assert value_digest(idea) == before
    edit(project, file, old, new)
    assert value_digest(idea) != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("later.py", "1.0", '1.0 * __import__("importlib").import_module("later").WEIGHT'),
        # A folder without __init__.py is a package, too.
        (
            "parts/scoring.py",
            "WEIGHTS = {'cpu': 1.0}",
            "from parts import scoring\nWEIGHTS = {'cpu': scoring.WEIGHT}",
        ),
    ],
)
def test_an_edit_of_a_module_that_is_imported_in_another_way_changes_the_digest(
    project: Path, file: str, old: str, new: str
) -> None:
    (project / file).parent.mkdir(exist_ok=True)
    (project / file).write_text("WEIGHT = 2")
    edit(project, "helpers", old, new)
    idea = importlib.import_module("idea").Idea()
    before = value_digest(idea)
    (project / file).write_text("WEIGHT = 3")
    assert value_digest(idea) != before


def test_the_body_of_a_cached_function_counts() -> None:
    made = []
    for body in ("return 1", "return 2"):
        space: dict[str, Any] = {"__name__": "__main__"}
        linecache.cache["cached"] = (len(body), None, [], "cached")
        exec(compile(f"import functools\n@functools.cache\ndef f():\n    {body}", "cached", "exec"), space)
        made.append(value_digest(space["f"]))
    assert made[0] != made[1]


def test_a_comment_or_a_file_that_is_not_imported_does_not_change_the_digest(project: Path) -> None:
    idea = importlib.import_module("idea").Idea()
    before = value_digest(idea)
    edit(project, "idea", "# Highest score first.", "# Least score last.")
    (project / "other.py").write_text("A = 1")
    assert value_digest(idea) == before


def test_the_digest_depends_on_the_state_of_an_object(project: Path) -> None:
    kind = importlib.import_module("idea").Idea
    assert value_digest(kind(1.0)) == value_digest(kind(1.0)) != value_digest(kind(2.0))
    weighted = kind()
    weighted.weights = {"cpu": [1, 2]}
    before = value_digest(weighted)
    weighted.weights["cpu"].append(3)
    assert value_digest(weighted) != before


NOTEBOOK = """
import math
from storm_lab.schedulers import Scheduler
LIMIT = 3
WEIGHTS = {'cpu': 1.0}
rows = []

def score(node):
    return WEIGHTS['cpu'] * node

class Base:
    def best(self):
        return score(LIMIT)

class Idea(Base):
    '''An idea.'''
    name = 'idea'
    levels = [1, 2]

    @property
    def most(self):
        return math.inf

    @staticmethod
    def half(value):
        return value / 2

    def schedule(self, view):
        '''Schedule.'''
        return [self.best() for _ in view.rows]
"""


def run_cells(text: str) -> dict[str, Any]:
    """Return the namespace of a notebook whose cells contain this text."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "<cell>", "exec"), namespace)
    return namespace


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("1.0", "0.0"),
        ("* node", "+ node"),
        ("'idea'", "'ideal'"),
        ("[1, 2]", "[1, 3]"),
        ("math.inf", "math.pi"),
        ("value / 2", "value / 3"),
        ("self.best() for", "-self.best() for"),
        ("import math", "import cmath as math"),
    ],
)
def test_an_edit_of_anything_that_is_used_in_a_notebook_changes_the_digest(old: str, new: str) -> None:
    assert NOTEBOOK.count(old) == 1
    before, after = (run_cells(text)["Idea"]() for text in (NOTEBOOK, NOTEBOOK.replace(old, new)))
    assert value_digest(before) != value_digest(after)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'''An idea.'''", "'''A good idea.'''"),
        ("'''Schedule.'''", "'''Place.'''"),
        ("def score", "# how good\ndef score"),
        # The scheduler uses an attribute of this name, not this variable.
        ("rows = []", "rows = [1]"),
    ],
)
def test_an_edit_of_anything_unused_in_a_notebook_does_not_change_the_digest(old: str, new: str) -> None:
    before, after = (run_cells(text)["Idea"]() for text in (NOTEBOOK, NOTEBOOK.replace(old, new)))
    assert value_digest(before) == value_digest(after)


def test_a_scheduler_of_a_notebook_may_refer_to_itself() -> None:
    text = """
class A:
    def f(self):
        return A(), B

class B(A):
    def f(self):
        return super().f()
"""
    assert value_digest(run_cells(text)["B"]()) == value_digest(run_cells(text)["B"]())


def scaled(factor: float) -> Callable[[float], float]:
    def scale(value: float) -> float:
        return factor * value

    return scale


def power(base: float, exponent: float) -> float:
    return base**exponent


@dataclass
class Weighted:
    scale: float = 1.0

    def with_weights(self, *weights: float) -> Weighted:
        self.weights = weights
        return self

    @functools.cached_property
    def double(self) -> float:
        return 2 * self.scale


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        ("a", b"a"),
        ([1, 2], (1, 2)),
        ([1, 2], [2, 1]),
        (np.arange(3), np.arange(4)),
        (np.arange(3), np.arange(3.0)),
        (np.ma.array([1], mask=[0]), np.ma.array([1], mask=[1])),  # type: ignore[no-untyped-call]
        (defaultdict(int, a=1), defaultdict(list, a=1)),
        (MappingProxyType({"a": 1}), MappingProxyType({"a": 2})),
        (scaled(2.0), scaled(3.0)),
        (functools.partial(power, exponent=2), functools.partial(power, exponent=3)),
        (Path("a"), "a"),
        (len, max),
        (random.Random(1).random, random.Random(2).random),
        (importlib, linecache),
        (re.compile("a"), re.compile("b")),
        (np.add, np.multiply),
        (itertools.cycle([1]), itertools.cycle([2])),
        (Weighted().with_weights(1.0), Weighted().with_weights(2.0)),
    ],
)
def test_different_values_have_different_digests(one: object, other: object) -> None:
    assert value_digest(one) == value_digest(one)
    assert value_digest(one) != value_digest(other)


def test_the_digest_of_a_set_does_not_depend_on_its_order() -> None:
    words = [f"word{number}" for number in range(50)]
    backwards = words[::-1]
    assert value_digest(set(words)) == value_digest(set(backwards))


def test_a_value_that_contains_itself_has_a_digest() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    assert value_digest(ring) == value_digest(ring) != value_digest([1])


def test_taking_the_digest_does_not_change_it() -> None:
    own = run_cells(NOTEBOOK)["Idea"]()
    assert value_digest(own) == value_digest(own)


def test_a_cached_property_of_a_dataclass_does_not_count() -> None:
    used = Weighted()
    assert used.double == 2.0
    assert value_digest(used) == value_digest(Weighted())
