"""Compilers that build the kernel as C is built: functions to intermediate code, then one module of all.

By default numba makes machine code of every function, with a copy of everything that it calls, so that the
innermost functions are optimised dozens of times. But Python calls only the entry points. So these compilers
stop at the intermediate code for all other functions. An entry point is linked with those it reaches, and
optimised as a whole, once. That takes less than half the time and gives faster code. No function of the
kernel may raise an error, not even one that never happens, such as that of ``x in (a, b)``, which indexes a
tuple: every call on the way to it would have to be checked.

This relies on internal names of numba. If a version of numba lacks them, ``jit.py`` compiles every function
in numba's default way, which is slower and gives the same results.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage  # type: ignore[import-untyped]
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import CodeLibrary, CPUCodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler

_METHODS = {JITCodeLibrary: ("finalize", "_optimize_final_module"), Compiler: ("compile_extra",)}
_FIELDS = ("_final_module", "_shared_module", "_finalized", "_linking_libraries")


def missing_names() -> list[str]:
    """Return internal names that the compilers below need and this version of numba lacks."""
    missing = [
        f"{kind.__name__}.{name}" for kind, own in _METHODS.items() for name in own if not hasattr(kind, name)
    ]
    # A library's fields are set when it is created, so look for them in the code that creates it.
    creating = [getattr(vars(kind).get("__init__"), "__code__", None) for kind in CPUCodeLibrary.__mro__]
    assigned = {name for code in creating if code is not None for name in code.co_names}
    missing_fields = [name for name in _FIELDS if name not in assigned and not hasattr(CPUCodeLibrary, name)]
    return missing + [f"{CPUCodeLibrary.__name__}.{name}" for name in missing_fields]


class _InnerCode(JITCodeLibrary):
    """Intermediate code of one function, without what it calls."""

    def finalize(self) -> None:
        """Make it ready to be linked, without machine code."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                # It may be linked several times, and must not be removed before its caller is there.
                function.linkage = "weak_odr"
        self._shared_module = self._final_module
        self._finalized = True


class _EntryCode(JITCodeLibrary):
    """Machine code of one entry point and of everything that it reaches."""

    def finalize(self) -> None:
        """Link, optimise and make machine code."""
        self._linking_libraries = list(_reached(self, {}))
        super().finalize()  # type: ignore[no-untyped-call]

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage in (Linkage.weak_odr, Linkage.linkonce_odr):
                # Only this module calls this copy. So it may disappear where it is inlined, and if LLVM finds
                # that it cannot fail, its callers do not check whether it has.
                function.linkage = "internal"
        super()._optimize_final_module()  # type: ignore[no-untyped-call]


def _reached(code: CodeLibrary, found: dict[CodeLibrary, None]) -> dict[CodeLibrary, None]:
    """Return all code that a function calls, directly or not, in the order in which it is found."""
    for called in code._linking_libraries:  # type: ignore[attr-defined]
        if called not in found:
            found[called] = None
            if isinstance(called, _InnerCode):
                _reached(called, found)
    return found


class InnerCompiler(Compiler):
    """Compiler of a function that only compiled code calls."""

    def compile_extra(self, func: Any) -> Any:
        """Compile ``func`` to intermediate code only."""
        state = self.state
        state.library = _InnerCode(state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        state.flags.no_compile = True
        compiled = super().compile_extra(func)  # type: ignore[no-untyped-call]
        # This stands for the function in numba's tables; it has no address.
        module = compiled.fndesc.lookup_module()
        stand_in = _dynfunc.make_function(module, func.__name__, "", 0, compiled.environment, ())
        state.targetctx.insert_user_function(stand_in, compiled.fndesc, [compiled.library])
        return compiled._replace(entry_point=stand_in)


class EntryCompiler(Compiler):
    """Compiler of a function that Python calls, together with all that it calls."""

    def compile_extra(self, func: Any) -> Any:
        """Compile ``func`` and what it reaches to machine code."""
        state = self.state
        state.library = _EntryCode(state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        return super().compile_extra(func)  # type: ignore[no-untyped-call]
