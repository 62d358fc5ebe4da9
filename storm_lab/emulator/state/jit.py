"""How kernel code is compiled: one decorator, one cache that cannot go stale.

numba's own cache notices changes of the decorated function's file only, not of the files it calls. So the
cache folder is named by a digest of this room's whole source. With ``STORM_LAB_JIT=0`` in the environment
the same code runs as plain Python and gives the same bytes; numba is then not imported at all.
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., object])

ENABLED = os.environ.get("STORM_LAB_JIT", "1") != "0"


def source_digest() -> str:
    """Digest of the emulator's source files, in hex."""
    digest = hashlib.sha256()
    home = Path(__file__).parents[1]
    for path in sorted(home.rglob("*.py")):
        digest.update(path.relative_to(home).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_home() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "storm_lab" / "kernel" / source_digest()


if ENABLED:
    import fcntl

    import numba
    from numba.core.registry import cpu_target

    _HOME = _cache_home()
    numba.config.CACHE_DIR = str(_HOME)  # type: ignore[attr-defined]

    def compilers() -> tuple[dict[str, Any], dict[str, Any]]:
        """Options for inner functions and for entries; none where ours misses inner names of numba."""
        try:
            from storm_lab.emulator.state import one_module
        except (ImportError, AttributeError):
            return {}, {}
        if one_module.missing_names():
            return {}, {}
        inner = {"no_cpython_wrapper": True, "pipeline_class": one_module.InnerCompiler}
        return inner, {"pipeline_class": one_module.EntryCompiler}

    _inner, _entry = compilers()
    _BOTH: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    _INNER: Any = {**_BOTH, **_inner}
    # The entries' machine code has everything in it, so only they are kept on disk.
    _ENTRY: Any = {**_BOTH, "cache": True, **_entry}
    _ENTRIES: list[Any] = []

    def jit(function: F) -> F:
        """Compile ``function``, to be called from compiled code, when an entry reaches it."""
        compiled: F = numba.njit(**_INNER)(function)
        return compiled

    def inline(function: F) -> F:
        """As :func:`jit`, for small functions that every event passes through."""
        compiled: F = numba.njit(forceinline=True, **_INNER)(function)
        return compiled

    def entry(function: F) -> F:
        """As :func:`jit`, for functions that are called from Python with a handle on the state and whole
        numbers; keep the machine code.
        """
        compiled: F = numba.njit(**_ENTRY)(function)
        _ENTRIES.append(compiled)
        return compiled

    def get_ready(state: Any) -> None:
        """Have the machine code of all entries in the cache, for states of this type.

        Of processes that come at the same time one compiles, and the others wait for it.
        """
        ready = _HOME / f"{_compiler_digest()}.ready"
        if ready.exists():
            return
        ready.parent.mkdir(parents=True, exist_ok=True)
        with ready.with_suffix(".lock").open("w") as lock:
            # Let go when the file is closed, also by the end of the process.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if ready.exists():
                return
            kind = numba.typeof(state)  # type: ignore[no-untyped-call]
            for function in _ENTRIES:
                whole_numbers = len(signature(function.py_func).parameters) - 1
                function.compile((kind, *[numba.int64] * whole_numbers))
            ready.touch()

    def _compiler_digest() -> str:
        """Digest of what else decides which machine code numba looks for: versions and processor."""
        codegen = cpu_target.target_context.codegen()
        made_by = (sys.version, numba.__version__, codegen.magic_tuple())
        return hashlib.sha256(repr(made_by).encode()).hexdigest()[:16]
else:
    # Unsigned 64-bit arithmetic wraps around on purpose.
    warnings.filterwarnings("ignore", message="overflow encountered in scalar", category=RuntimeWarning)

    def jit(function: F) -> F:
        """Leave ``function`` as plain Python."""
        return function

    inline = entry = jit

    def get_ready(state: Any) -> None:
        """Nothing to do."""
