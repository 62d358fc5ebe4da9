"""numba's cache of a function, in a folder whose name depends on everything that affects the machine code.

numba's own cache checks when the function's file was changed and on which line the function begins. That
recompiles after a mere comment, and misses changes of other files.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator


class _CacheFolder(UserProvidedCacheLocator):
    """The cache folder of a function's machine code: in numba's ``CACHE_DIR``, under its full name."""

    def __init__(self, function: Callable[..., object], file: str) -> None:
        super().__init__(function, file)  # type: ignore[no-untyped-call]
        self._module = function.__module__

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(numba.config.CACHE_DIR)  # type: ignore[attr-defined]

    def get_source_stamp(self) -> str:
        """Return nothing: the folder's name is the stamp."""
        return ""

    def get_disambiguator(self) -> str:
        """Return the module's name, which distinguishes functions of the same name."""
        return self._module


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes: Any = (_CacheFolder,)


class EntryCache(FunctionCache):
    """Cache of a function that Python calls."""

    _impl_class = _CacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code; None, as if there were none, if its files are damaged."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save machine code; on a full disk it is compiled again next time."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
