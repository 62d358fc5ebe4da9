"""Compilation of kernel code: the decorators, and a cache that cannot become stale.

numba's own cache notices changes of the decorated function's file only, not of the files with the functions
it calls or with the layout of arrays. So the cache folder is named by a digest of all code that the kernel's
entry points use, whatever its file, and of the arrays' layout; comments do not count. With
``STORM_LAB_JIT=0``, or numba's own ``NUMBA_DISABLE_JIT=1``, in the environment the same code runs as plain
Python and gives the same bytes; numba is then not imported at all.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from storm_lab.emulator.state.layout import DTYPES
from storm_lab.errors import refused_by_system
from storm_lab.identity.closure import Code, Root, own_code
from storm_lab.machine.places import user_cache

F = TypeVar("F", bound=Callable[..., object])

ENABLED = os.environ.get("STORM_LAB_JIT", "1") != "0" and os.environ.get("NUMBA_DISABLE_JIT", "") in ("", "0")


def cache_folder() -> Path:
    """Return the folder for compiled kernels, each of which has a folder of its own there."""
    return user_cache() / "kernel"


def kernel_digest(entries: Iterable[Root], layout: Mapping[str, object], code: Code | None = None) -> str:
    """Return the digest, in hex, of the code that the entry points use and of the arrays' layout."""
    parts = [f"{name} {item}" for name, item in sorted(layout.items())]
    parts.append((code or own_code()).closure(entries).digest)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


if ENABLED:
    import fcntl

    import numba
    from numba.core.registry import cpu_target

    def compilers() -> tuple[dict[str, Any], dict[str, Any]]:
        """Return options for inner functions and entry points; none if numba lacks names used here."""
        try:
            from storm_lab.emulator.state import one_module
        except (ImportError, AttributeError):
            return {}, {}
        if one_module.missing_names():
            return {}, {}
        inner = {"no_cpython_wrapper": True, "pipeline_class": one_module.InnerCompiler}
        return inner, {"pipeline_class": one_module.EntryCompiler}

    # The machine code of an entry point contains all that it calls, so only entry points are cached on disk.
    _ENTRIES: list[Any] = []
    _BOTH: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    _INNER, _ENTRY = ({**_BOTH, **options} for options in compilers())

    def jit(function: F) -> F:
        """Compile ``function``, which compiled code calls, when an entry point reaches it."""
        compiled: F = numba.njit(**_INNER)(function)
        return compiled

    def inline(function: F) -> F:
        """As :func:`jit`, for small functions that every event passes through."""
        compiled: F = numba.njit(forceinline=True, **_INNER)(function)
        return compiled

    def entry(function: F) -> F:
        """As :func:`jit`, for what Python calls, with a state and whole numbers; caches the machine code."""
        compiled: F = numba.njit(**_ENTRY)(function)
        _ENTRIES.append(compiled)
        return compiled

    def get_ready(state: Any) -> None:
        """Compile all entry points that are not in the cache, for states of this type.

        If several processes call this at the same time, one compiles and the others wait for it.

        Raises `UserError` if the cache lacks some and cannot be written to.
        """
        with refused_by_system(
            "compiled kernels cannot be kept there",
            field="folder for compiled kernels",
            value=str(cache_folder()),
            remedy="set XDG_CACHE_HOME to a folder of your own, on a disk with room",
        ):
            # Versions and the processor also decide which machine code numba uses.
            made_by = (sys.version, numba.__version__, cpu_target.target_context.codegen().magic_tuple())
            digest = hashlib.sha256(repr(made_by).encode()).hexdigest()[:16]
            ready = _home() / f"{digest}.ready"
            if ready.exists():
                return
            lock_file = ready.with_suffix(".lock").open("w")
        with lock_file as lock:
            # The lock is released when the file is closed, also by the end of the process.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if ready.exists():
                return
            kind = numba.typeof(state)  # type: ignore[no-untyped-call]
            # Garbage collection takes a seventh of compiling and finds few cycles.
            collects = gc.isenabled()
            gc.disable()
            try:
                for function in _ENTRIES:
                    whole_numbers = len(signature(function.py_func).parameters) - 1
                    function.compile((kind, *[numba.int64] * whole_numbers))
            finally:
                if collects:
                    gc.enable()
            # On a full disk the next process compiles again.
            with suppress(OSError):
                ready.touch()

    @cache
    def _home() -> Path:
        """Return the folder of this kernel's machine code, after telling every entry point to use it."""
        entries = [(entry.py_func.__module__, entry.py_func.__qualname__) for entry in _ENTRIES]
        layout = {name: (kind.descr, kind.itemsize) for name, kind in DTYPES.items()}
        home = cache_folder() / kernel_digest(entries, layout)[:16]
        home.mkdir(parents=True, exist_ok=True)
        numba.config.CACHE_DIR = str(home)  # type: ignore[attr-defined]
        for entry in _ENTRIES:
            _cache_on_disk(entry)
        return home

    def _cache_on_disk(entry: Any) -> None:
        """Cache an entry point's machine code; with numba's own cache if the project's does not work."""
        try:
            from storm_lab.emulator.state.entry_cache import EntryCache
        except ImportError:
            entry.enable_caching()
        else:
            entry._cache = EntryCache(entry.py_func)  # type: ignore[no-untyped-call]
else:
    # Unsigned 64-bit arithmetic wraps around on purpose.
    warnings.filterwarnings("ignore", message="overflow encountered in scalar", category=RuntimeWarning)

    def jit(function: F) -> F:
        """Leave ``function`` as plain Python."""
        return function

    inline = entry = jit

    def get_ready(state: Any) -> None:
        """Do nothing."""
