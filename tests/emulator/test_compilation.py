"""How the kernel is compiled: one module per entry function, and only once if several threads ask for it."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

import storm_lab.emulator.setup.dataplane  # noqa: F401 - so that all entries are there
from storm_lab.emulator import state
from storm_lab.emulator.kernel import network
from storm_lab.emulator.state import jit, one_module
from storm_lab.emulator.state.entry_cache import EntryCache
from storm_lab.emulator.state.layout import DTYPES
from storm_lab.emulator.state.one_module import EntryCompiler
from storm_lab.errors import UserError
from storm_lab.identity.closure import Code, own_code

KERNEL_FILES = sorted((Path(state.__file__).parent.parent / "kernel").glob("[a-z]*.py"))


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
    """An entry function that is in no cache."""

    def total(a: int) -> int:
        return _sum_to(a) + _least(a, 5)

    return numba.njit(pipeline_class=EntryCompiler)(total)


def test_a_compiled_entry_returns_the_same_as_plain_python(compiled: Any) -> None:
    assert compiled(1500) == sum(2 * min(i, 1000) - min(i, 3) for i in range(1500)) + 5


def test_an_entry_calls_nothing_outside_its_module(compiled: Any) -> None:
    compiled(10)
    lines = compiled.inspect_llvm(compiled.signatures[0]).splitlines()
    outside = [line for line in lines if line.startswith("declare")]
    assert any(line.startswith("define") for line in lines)
    assert not [line for line in outside for name in ("_sum_to", "_least", "_twice") if name in line]


def test_no_caller_checks_for_errors_where_none_can_be_raised() -> None:
    entry: Any = network.end_cut
    compiled: Any = numba.njit(**jit._ENTRY)(entry.py_func)
    compiled.compile((numba.int64,) * 4)
    lines = compiled.inspect_llvm(compiled.signatures[0]).splitlines()
    inner = [line for line in lines if line.startswith("define internal")]
    # A function that can fail returns whether it has.
    assert inner
    assert [line for line in inner if " void @" not in line] == []


@pytest.mark.parametrize("path", KERNEL_FILES, ids=lambda path: path.stem)
def test_no_compiled_function_of_the_kernel_can_raise_an_error(path: Path) -> None:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            parts = list(ast.walk(node))
            assert not [part for part in parts if isinstance(part, ast.Raise | ast.Assert)], node.name
            # `x in (a, b)` indexes a tuple, which numba checks.
            assert not [part for part in parts if isinstance(part, ast.In | ast.NotIn)], node.name


def test_only_one_of_several_threads_compiles_the_kernel(
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


def test_a_cache_that_cannot_be_written_is_reported_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    jit._home.cache_clear()
    with pytest.raises(UserError, match=r"compiled kernels cannot be kept there .*; set XDG_CACHE_HOME"):
        jit.get_ready(7)


@pytest.mark.parametrize("variable", ["STORM_LAB_JIT=0", "NUMBA_DISABLE_JIT=1"])
def test_without_the_compiler_numba_is_not_imported(variable: str) -> None:
    code = "import sys, storm_lab.emulator.setup.dataplane; print('numba' in sys.modules)"
    done = subprocess.run(
        ["env", variable, sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_all_required_internals_of_the_installed_numba_exist() -> None:
    assert one_module.missing_names() == []


@pytest.mark.parametrize(
    "lost", [("JITCodeLibrary", "_optimize_final_module"), ("Compiler", "compile_extra")]
)
def test_numba_compiles_by_itself_if_an_internal_name_is_missing(
    monkeypatch: pytest.MonkeyPatch, lost: tuple[str, str]
) -> None:
    known = one_module._METHODS
    (kind,) = (kind for kind in known if kind.__name__ == lost[0])
    monkeypatch.setattr(one_module, "_METHODS", {**known, kind: (*known[kind], f"{lost[1]}_gone")})
    assert one_module.missing_names() == [f"{lost[0]}.{lost[1]}_gone"]
    assert jit.compilers() == ({}, {})


def test_numba_compiles_by_itself_if_one_module_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(state, "one_module")
    monkeypatch.setitem(sys.modules, one_module.__name__, None)
    assert jit.compilers() == ({}, {})


Edit = Callable[[str, str, str], Code]


def kernel_of(code: Code, layout: dict[str, Any] | None = None) -> str:
    """Digest that names the cache of the kernel compiled from ``code``."""
    entries = [(function.py_func.__module__, function.py_func.__qualname__) for function in jit._ENTRIES]
    assert {module.rpartition(".")[2] for module, _ in entries} >= {"main_loop", "lifecycle", "source_queue"}
    return jit.kernel_digest(entries, DTYPES if layout is None else layout, code)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("workloads/workload_trace.py", r'^        \("server_ns", np.int64\),', r'\g<0> ("more", np.int64),'),
        (
            "workloads/workload_trace.py",
            r'^        \("first_record", np.int32\),',
            r'\g<0> ("more", np.int64),',
        ),
        ("emulator/state/kinds.py", r"^NEVER = ", "NEVER = 1 + "),
        ("emulator/kernel/main_loop.py", r"^    while s.ready_n > 0:$", "    while s.ready_n > 1:"),
        ("emulator/state/row.py", r"builder\.sext\(", "builder.zext("),
    ],
)
def test_edits_that_affect_the_machine_code_change_the_cache(
    edited: Edit, file: str, old: str, new: str
) -> None:
    assert kernel_of(edited(file, old, new)) != kernel_of(own_code())


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("workloads/workload_trace.py", "# serialised payload", "# bytes on the wire"),
        ("workloads/workload_trace.py", r"^class WorkloadTrace:", "class WorkloadTrace(object):"),
        ("emulator/kernel/main_loop.py", r"^def resume_blocked", "# A word.\ndef resume_blocked"),
        ("emulator/control/nimbus.py", r"^class Nimbus:", "class Nimbus(object):"),
    ],
)
def test_edits_that_do_not_affect_the_machine_code_keep_the_cache(
    edited: Edit, file: str, old: str, new: str
) -> None:
    assert kernel_of(edited(file, old, new)) == kernel_of(own_code())


def test_a_different_record_layout_changes_the_cache() -> None:
    record = np.dtype([*DTYPES["record"].descr, ("more", np.int64)])
    assert kernel_of(own_code(), {**DTYPES, "record": record}) != kernel_of(own_code())


def _entered(a: int) -> int:
    return a + 1


def _hits(function: Callable[[int], int]) -> int:
    """Compile a function with its cache, call it, and return how often the cache had its code."""
    compiled: Any = numba.njit(function)
    compiled._cache = EntryCache(function)  # type: ignore[no-untyped-call]
    assert compiled(1) == 2
    return sum(compiled.stats.cache_hits.values())


def test_machine_code_is_cached_under_the_functions_full_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    assert [_hits(_entered), _hits(_entered)] == [0, 1]
    assert {file.suffix for file in tmp_path.iterdir()} == {".nbi", ".nbc"}
    assert all(__name__ in file.name for file in tmp_path.iterdir())


def test_machine_code_in_damaged_files_is_compiled_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    assert _hits(_entered) == 0
    (code,) = tmp_path.glob("*.nbc")
    code.write_bytes(code.read_bytes()[:100])
    assert [_hits(_entered), _hits(_entered)] == [0, 1]


def test_numba_caches_in_its_own_way_if_the_entry_cache_cannot_be_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, EntryCache.__module__, None)
    compiled: Any = numba.njit(_entered)
    jit._cache_on_disk(compiled)
    assert compiled(1) == 2
    assert list(tmp_path.rglob("*.nbc"))
