"""Sources: the names that a statement uses, and what its digest depends on."""

from __future__ import annotations

import pytest

from storm_lab.identity.source import Source, imports_of


def uses(text: str) -> set[str]:
    (statement,) = Source.parsed("m", text).statements
    return {".".join(chain) for chain in statement.uses}


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
        ("def f():\n    return (n := g()).size + n", {"g"}),
        ("def f():\n    def g():\n        return a\n    a = 1\n    return g", set()),
        ("class C(B):\n    x = 1\n    def f(self):\n        return x", {"B", "x"}),
        ("def f(k):\n    return kinds.SPOUT + k.kind", {"kinds.SPOUT"}),
        ("def f(x):\n    match x:\n        case [first, *rest]:\n            return first, rest", set()),
        ("def f():\n    try:\n        g()\n    except E as error:\n        return error", {"E", "g"}),
    ],
)
def test_outside_names_that_a_statement_uses_are_found(text: str, expected: set[str]) -> None:
    assert uses(text) == expected


def digests_of(text: str) -> list[str]:
    return [statement.digest for statement in Source.parsed("m", text).statements]


def test_comments_docstrings_positions_and_imports_do_not_count() -> None:
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
    assert digests_of(plain) == digests_of(full)


def test_the_value_of_a_physical_constant_counts_but_its_range_and_source_do_not() -> None:
    mine = "from storm_lab.model.constant import constant as c\n"
    assert digests_of(f"{mine}a = c(1.0, (0, 2), 'a book')") == digests_of(
        f"{mine}a = c(1.0, (0, 3), source='two books')"
    )
    assert digests_of(f"{mine}a = c(1.0, (0, 2), 'a book')") != digests_of(
        f"{mine}a = c(1.5, (0, 2), 'a book')"
    )


def test_all_arguments_of_another_function_of_that_name_count() -> None:
    theirs = "from books import constant\n"
    assert digests_of(f"{theirs}a = constant(1.0, (0, 2))") != digests_of(
        f"{theirs}a = constant(1.0, (0, 3))"
    )


@pytest.mark.parametrize("other", ["A = 2", "A = 1.0", "A = True", "A = '1'", "A = -1", "B = 1", "A = 1,"])
def test_values_and_names_count(other: str) -> None:
    assert digests_of("A = 1") != digests_of(other)


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("A = f()", False),
        ("f()", True),
        ("numba.config.X = 1", True),
        ("TABLE['a'] = 1", True),
        ("@dataclass(frozen=True)\nclass C: ...", False),
        ("import functools\n@functools.cache\ndef f(): ...", False),
        ("from functools import cache\n@cache\ndef f(): ...", False),
        ("from numba.extending import register_model\n@register_model(R)\nclass C: ...", True),
        ("@KINDS.register\nclass C: ...", True),
        ("if A:\n    B = 1\nelse:\n    B = 2", False),
        ("if A:\n    f()", True),
    ],
)
def test_statements_with_side_effects_on_import_are_recognised(text: str, acts: bool) -> None:
    assert [statement.has_side_effect for statement in Source.parsed("m", text).statements] == [acts]


def test_code_for_type_checkers_or_direct_calls_only_is_left_out() -> None:
    text = "if TYPE_CHECKING:\n    from x import Y\n    A = 1\nif __name__ == '__main__':\n    f()"
    source = Source.parsed("m", text)
    assert source.statements == []
    assert source.imports == {"Y": [("x", "Y")]}


def test_imports_are_found_inside_functions_too() -> None:
    assert imports_of("import a.b\ndef f():\n    from c import d as e") == {("a.b", None), ("c", "d")}


def test_relative_imports_are_resolved_as_in_python() -> None:
    assert Source.parsed("p.q.m", "from ..r import x").imports == {"x": [("p.r", "x")]}
    assert Source.parsed("p.q", "from .r import x", is_package=True).imports == {"x": [("p.q.r", "x")]}
