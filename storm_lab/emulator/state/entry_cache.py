"""numba's cache of a function, in a folder that is named after all that the machine code depends on.

By itself numba looks at when the function's file was changed, and on which line it begins: too much after a
comment, too little after a change of another file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator


class _Place(UserProvidedCacheLocator):
    """Where a function's machine code lies: in numba's ``CACHE_DIR``, under its full name."""

    def __init__(self, function: Callable[..., object], file: str) -> None:
        super().__init__(function, file)  # type: ignore[no-untyped-call]
        self._module = function.__module__

    def get_cache_path(self) -> str:
        """The folder."""
        return str(numba.config.CACHE_DIR)  # type: ignore[attr-defined]

    def get_source_stamp(self) -> str:
        """Nothing more: the folder's name says it all."""
        return ""

    def get_disambiguator(self) -> str:
        """What tells functions of one name apart."""
        return self._module


class _Kept(CompileResultCacheImpl):
    _locator_classes: Any = (_Place,)


class EntryCache(FunctionCache):
    """The cache of a function that Python calls."""

    _impl_class = _Kept
