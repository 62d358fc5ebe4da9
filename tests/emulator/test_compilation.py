"""How the kernel is compiled: into one module per entry, and once where several processes ask for it."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest

from storm_lab.emulator import state
from storm_lab.emulator.state import jit, one_module
from storm_lab.emulator.state.one_module import EntryCompiler


@jit.jit
def _least(a: int, b: int) -> int:
    return a if a < b else b


@jit.inline
def _twice(a: int) -> int:
    return 2 * _least(a, 1000)


@jit.jit
def _sum_to(a: int) -> int:
    total = 0
    for i in range(a):
        total += _twice(i) - _least(i, 3)
    return total


@pytest.fixture
def compiled() -> Any:
    """An entry that no cache knows."""

    def total(a: int) -> int:
        return _sum_to(a) + _least(a, 5)

    return numba.njit(pipeline_class=EntryCompiler)(total)


def test_an_entry_gives_what_its_functions_give(compiled: Any) -> None:
    assert compiled(1500) == sum(2 * min(i, 1000) - min(i, 3) for i in range(1500)) + 5


def test_an_entry_calls_nothing_outside_its_module(compiled: Any) -> None:
    compiled(10)
    lines = compiled.inspect_llvm(compiled.signatures[0]).splitlines()
    outside = [line for line in lines if line.startswith("declare")]
    assert any(line.startswith("define") for line in lines)
    assert not [line for line in outside for name in ("_sum_to", "_least", "_twice") if name in line]


def test_of_several_that_need_the_kernel_one_compiles_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kinds: list[Any] = []

    def compile_slowly(kind: Any) -> None:
        time.sleep(0.2)
        kinds.append(kind)

    def played(k: object, until: int) -> None: ...

    monkeypatch.setattr(jit, "_home", lambda: tmp_path)
    monkeypatch.setattr(jit, "_ENTRIES", [SimpleNamespace(py_func=played, compile=compile_slowly)])
    askers = [threading.Thread(target=jit.get_ready, args=(7,)) for _ in range(3)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    jit.get_ready(7)
    assert len(kinds) == 1
    assert len(kinds[0]) == 2


def test_a_compilation_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tries = []

    def fail_once(kind: object) -> None:
        tries.append(kind)
        if len(tries) == 1:
            raise MemoryError

    def played(k: object) -> None: ...

    monkeypatch.setattr(jit, "_home", lambda: tmp_path)
    monkeypatch.setattr(jit, "_ENTRIES", [SimpleNamespace(py_func=played, compile=fail_once)])
    with pytest.raises(MemoryError):
        jit.get_ready(7)
    jit.get_ready(7)
    jit.get_ready(7)
    assert len(tries) == 2


def test_all_inner_names_of_this_numba_are_there() -> None:
    assert one_module.missing_names() == []


@pytest.mark.parametrize(
    "lost", [("JITCodeLibrary", "_optimize_final_module"), ("Compiler", "compile_extra")]
)
def test_without_its_inner_names_numba_compiles_by_itself(
    monkeypatch: pytest.MonkeyPatch, lost: tuple[str, str]
) -> None:
    known = one_module._METHODS
    (kind,) = (kind for kind in known if kind.__name__ == lost[0])
    monkeypatch.setattr(one_module, "_METHODS", {**known, kind: (*known[kind], f"{lost[1]}_gone")})
    assert one_module.missing_names() == [f"{lost[0]}.{lost[1]}_gone"]
    assert jit.compilers() == ({}, {})


def test_a_module_that_is_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(state, "one_module")
    monkeypatch.setitem(sys.modules, one_module.__name__, None)
    assert jit.compilers() == ({}, {})


def test_numbas_own_compiler_gives_the_same() -> None:
    options: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

    def least(a: int, b: int) -> int:
        return a if a < b else b

    inner: Any = numba.njit(**options)(least)

    def total(a: int) -> int:
        return int(inner(a, 5) + inner(3, a))

    assert numba.njit(**options)(total)(1500) == 8
