"""How kernel code is compiled: one decorator, one cache that cannot go stale.

numba's own cache notices changes of the decorated function's file only, not of the files it calls. So the
cache folder is named by a digest of this room's whole source. With ``STORM_LAB_JIT=0`` in the environment
the same code runs as plain Python and gives the same bytes; numba is then not imported at all.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., object])

ENABLED = os.environ.get("STORM_LAB_JIT", "1") != "0"


def source_digest() -> str:
    """Digest of the emulator's source files, in hex."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_home() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "storm_lab" / "kernel" / source_digest()


if ENABLED:
    import numba

    numba.config.CACHE_DIR = str(_cache_home())  # type: ignore[attr-defined]

    # Inner functions need no entry from Python: leaving that out halves the time of compilation.
    _INNER: Any = {
        "cache": True,
        "nogil": True,
        "error_model": "numpy",
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }

    _ENTRY: Any = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

    def jit(function: F) -> F:
        """Compile ``function``, to be called from compiled code, on first use; keep the machine code."""
        compiled: F = numba.njit(**_INNER)(function)
        return compiled

    def inline(function: F) -> F:
        """As :func:`jit`, for small functions that every event passes through."""
        compiled: F = numba.njit(forceinline=True, **_INNER)(function)
        return compiled

    def entry(function: F) -> F:
        """As :func:`jit`, for functions that are called from Python with a handle on the state."""
        compiled: F = numba.njit(**_ENTRY)(function)
        return compiled
else:
    # Unsigned 64-bit arithmetic wraps around on purpose.
    warnings.filterwarnings("ignore", message="overflow encountered in scalar", category=RuntimeWarning)

    def jit(function: F) -> F:
        """Leave ``function`` as plain Python."""
        return function

    inline = entry = jit
