"""Sources: what a statement says and uses, and what does not count."""

from __future__ import annotations

import pytest

from storm_lab.identity.source import Source, imports_of


def uses(text: str) -> set[str]:
    (statement,) = Source.parsed("m", text).statements
    return {".".join(chain) for chain in statement.reading.uses}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(a):\n    return a + B", {"B"}),
        ("def f():\n    b = 1\n    return b", set()),
        ("def f():\n    global b\n    b = 1\n    return b", {"b"}),
        ("def f(a=B):\n    return a", {"B"}),
        ("def f(a: T) -> U: ...", {"T", "U"}),
        ("f = lambda x: x + y", {"f", "y"}),
        ("X = [i for i in range(N)]", {"X", "N", "range"}),
        ("def f():\n    return [i for i in A] + [i]", {"A", "i"}),
        ("def f():\n    if (n := g()):\n        return n", {"g"}),
        ("def f():\n    def g():\n        return a\n    a = 1\n    return g", set()),
        ("class C(B):\n    x = 1\n    def f(self):\n        return x", {"B", "x"}),
        ("def f(k):\n    return kinds.SPOUT + k.kind", {"kinds.SPOUT"}),
        ("def f(x):\n    match x:\n        case [first, *rest]:\n            return first, rest", set()),
        ("def f():\n    try:\n        g()\n    except E as error:\n        return error", {"E", "g"}),
    ],
)
def test_names_that_a_statement_takes_from_outside(text: str, expected: set[str]) -> None:
    assert uses(text) == expected


def said(text: str) -> list[str]:
    return [statement.reading.digest for statement in Source.parsed("m", text).statements]


def test_comments_docstrings_places_and_imports_do_not_count() -> None:
    plain = "def f(a):\n    return g(a)\nA = 1"
    full = """
import os

def f(a):
    'Do.'
    from x import g
    return g(a)  # so
A = 1
'Why.'
"""
    assert said(plain) == said(full)


def test_of_a_physical_constant_its_value_counts_and_what_is_known_of_it_does_not() -> None:
    mine = "from storm_lab.emulator.constant import constant as c\n"
    assert said(f"{mine}a = c(1.0, (0, 2), 'a book')") == said(
        f"{mine}a = c(1.0, (0, 3), source='two books')"
    )
    assert said(f"{mine}a = c(1.0, (0, 2), 'a book')") != said(f"{mine}a = c(1.5, (0, 2), 'a book')")


def test_all_that_another_function_of_that_name_is_given_counts() -> None:
    theirs = "from books import constant\n"
    assert said(f"{theirs}a = constant(1.0, (0, 2))") != said(f"{theirs}a = constant(1.0, (0, 3))")


@pytest.mark.parametrize("other", ["A = 2", "A = 1.0", "A = True", "A = '1'", "A = -1", "B = 1", "A = 1,"])
def test_values_count(other: str) -> None:
    assert said("A = 1") != said(other)


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("A = f()", False),
        ("f()", True),
        ("numba.config.X = 1", True),
        ("TABLE['a'] = 1", True),
        ("@dataclass(frozen=True)\nclass C: ...", False),
        ("import functools\n@functools.cache\ndef f(): ...", False),
        ("@KINDS.register\nclass C: ...", True),
        ("if A:\n    B = 1\nelse:\n    B = 2", False),
        ("if A:\n    f()", True),
    ],
)
def test_what_an_import_of_the_module_sets_off(text: str, acts: bool) -> None:
    assert [statement.has_side_effect for statement in Source.parsed("m", text).statements] == [acts]


def test_what_only_a_type_checker_or_a_direct_call_sees_is_left_out() -> None:
    text = "if TYPE_CHECKING:\n    from x import Y\n    A = 1\nif __name__ == '__main__':\n    f()"
    source = Source.parsed("m", text)
    assert source.statements == []
    assert source.imports == {"Y": [("x", "Y")]}


def test_imports_are_found_wherever_they_stand() -> None:
    assert imports_of("import a.b\ndef f():\n    from c import d as e") == {("a.b", None), ("c", "d")}


def test_relative_imports_lead_where_python_leads_them() -> None:
    assert Source.parsed("p.q.m", "from ..r import x").imports == {"x": [("p.r", "x")]}
    assert Source.parsed("p.q", "from .r import x", is_package=True).imports == {"x": [("p.q.r", "x")]}
