"""The identity of live objects: their data by value, and the code that they use.

Code of the package counts by the definitions that it uses, and a user's code by modules
(`storm_lab.identity.closure`). Code that a notebook or an interactive session defines has no file that could
be trusted. It counts as it is in memory: the compiled code, and everything in its namespace that it refers
to, recursively.
"""

from __future__ import annotations

import copyreg
import dis
import enum
import functools
import hashlib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from storm_lab.identity.closure import Root, own_code
from storm_lab.identity.origin import Origin, origin

_PLAIN = (type(None), bool, int, float, complex, str, bytes)

_PARTS: Mapping[type, tuple[str, ...]] = {
    MethodType: ("__func__", "__self__"),
    functools.partial: ("func", "args", "keywords"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    functools.cached_property: ("func",),
    type(functools.cache(lambda: None)): ("__wrapped__",),
}
"""What makes up a callable or descriptor, by its class."""

_OF_A_CLASS = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__annotate_func__", "_abc_impl"}
    | {"__firstlineno__", "__static_attributes__", "__slotnames__"}
)
"""Attributes of a class that do not affect what it does."""


def value_digest(value: object, *, words: Iterable[str] = ()) -> str:
    """Return the SHA-256 of an object's data and of the code that it uses.

    ``words`` are names that reach its code from elsewhere. A word that names something made through a table
    or a group of entry points, such as a scheduler, adds the code of that.
    """
    code = own_code()
    reader = _Reader()
    text = reader.describe(value)
    closure = code.closure(reader.roots)
    more = {closure.offers[word] for word in words if word in closure.offers}
    if more:
        closure = code.closure(reader.roots | more)
    return hashlib.sha256(f"{text}\n{closure.digest}".encode("utf-8", "surrogatepass")).hexdigest()


class _Reader:
    """Turns objects into text; ``roots`` collects the code that it meets."""

    def __init__(self) -> None:
        self.roots: set[Root] = set()
        self._seen: dict[int, tuple[object, str]] = {}

    def describe(self, value: Any) -> str:
        """Return an object as text; inside itself, an object is named by the order in which it was met."""
        if isinstance(value, _PLAIN) and not isinstance(value, enum.Enum):
            return f"{type(value).__name__} {value!r}"
        if id(value) not in self._seen:
            self._seen[id(value)] = (value, f"met {len(self._seen)}")
            text = self._describe_object(value)
            if len(text) > 200:
                text = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            self._seen[id(value)] = (value, text)
        return self._seen[id(value)][1]

    def _describe_object(self, value: Any) -> str:
        if isinstance(value, enum.Enum):
            return f"{self.describe(type(value))}.{value.name}"
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, FunctionType):
            return self._function(value)
        for kind, parts in _PARTS.items():
            if isinstance(value, kind):
                return f"{kind.__name__} {[self.describe(getattr(value, part)) for part in parts]}"
        if isinstance(value, ModuleType):
            return self._module(value.__name__)
        if isinstance(value, CodeType):
            return self._code(value)
        return self._data(value)

    def _data(self, value: Any) -> str:
        kind = self.describe(type(value))
        if isinstance(value, BuiltinFunctionType):
            owner = value.__self__
            bound = "" if owner is None or isinstance(owner, ModuleType) else f" of {self.describe(owner)}"
            return f"built in {value.__module__}.{value.__qualname__}{bound}"
        if isinstance(value, Path):
            return f"path {value}"
        if type(value) is np.ndarray and not value.dtype.hasobject:
            digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return f"array {value.dtype.descr} {value.shape} {digest}"
        if isinstance(value, set | frozenset):
            return f"{kind} {sorted(self.describe(item) for item in value)}"
        if type(value) in (list, tuple):
            return f"{kind} {[self.describe(item) for item in value]}"
        # A subclass of dict may hold more than its items, which pickle finds.
        plain = type(value) is dict or not isinstance(value, dict)
        if isinstance(value, Mapping) and plain and not is_dataclass(value):
            return f"{kind} {[(self.describe(key), self.describe(item)) for key, item in value.items()]}"
        if type(value).__module__.startswith("storm_lab.") and isinstance(
            own := getattr(value, "digest", None), str
        ):
            return f"{kind} {own}"
        if is_dataclass(value):
            parts = [(name, self.describe(getattr(value, name, None))) for name in _attributes(value)]
            return f"{kind} {parts}"
        try:
            # Take it apart as pickle does.
            reduce = copyreg.dispatch_table.get(type(value))
            state: Any = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except (TypeError, AttributeError):
            return kind
        if isinstance(state, str):
            return f"{kind} {state}"
        # The items of a list or dictionary come as an iterator; a class of iterators is none.
        items = (list(p) if hasattr(p, "__next__") and not isinstance(p, type) else p for p in state)
        return f"{kind} {[self.describe(item) for item in items]}"

    def _class(self, kind: type) -> str:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if self._note_root(kind):
            return f"class {name}"
        bases = [self.describe(base) for base in kind.__bases__]
        own = {key: item for key, item in vars(kind).items() if key not in _OF_A_CLASS and not _is_slot(item)}
        return f"class {name} {bases} {[(key, self.describe(item)) for key, item in own.items()]}"

    def _function(self, function: FunctionType) -> str:
        name = f"{function.__module__}.{function.__qualname__}"
        noted = self._note_root(function)
        if noted and "<locals>" not in name:
            return f"function {name}"
        inner = [self._cell(cell) for cell in function.__closure__ or ()]
        if noted:
            return f"function {name} {inner}"
        defaults = (self.describe(function.__defaults__), self.describe(function.__kwdefaults__))
        code = self._code(function.__code__, function.__doc__)
        names, modules = _names(function.__code__)
        around = function.__globals__
        uses = [(item, self.describe(around[item])) for item in sorted(names & around.keys())]
        imports = [self._module(item) for item in sorted(modules)]
        return f"function {name} {inner} {defaults} {code} {uses} {imports}"

    def _cell(self, cell: Any) -> str:
        try:
            return self.describe(cell.cell_contents)
        except ValueError:
            return "empty"

    def _code(self, code: CodeType, docstring: str | None = None) -> str:
        """Return compiled code as text, without its positions in the file and the function's docstring."""
        constants = list(code.co_consts)
        if docstring is not None and constants[:1] == [docstring]:
            constants[0] = None
        parts = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        flags = (code.co_flags, code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount)
        return f"code {code.co_name} {parts} {flags} {[self.describe(item) for item in constants]}"

    def _module(self, name: str) -> str:
        if origin(name) is Origin.SOURCE:
            self.roots.add((name, None))
        return f"module {name}"

    def _note_root(self, value: Any) -> bool:
        """Whether the code is from a file or a library with locked versions; notes the file as a root."""
        module, name = value.__module__ or "", value.__qualname__.split(".")[0]
        where = origin(module)
        ours = isinstance(value, type) and any(
            base.__module__.startswith("storm_lab.") for base in value.__mro__
        )
        if where is Origin.SOURCE or (where is Origin.LIBRARY and ours):
            self.roots.add((module, name))
        return where is not Origin.MEMORY


def _attributes(value: Any) -> list[str]:
    """Return the fields of a dataclass, and what else its object holds besides cached properties."""
    names = [item.name for item in fields(value)]
    others = sorted(getattr(value, "__dict__", {}).keys() - names)
    kind = type(value)
    return names + [n for n in others if not isinstance(getattr(kind, n, None), functools.cached_property)]


def _is_slot(value: object) -> bool:
    return inspect.ismemberdescriptor(value) or inspect.isgetsetdescriptor(value)


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """Return the global names and modules that code, and all code inside it, loads."""
    names, modules, waiting = set[str](), set[str](), [code]
    while waiting:
        code = waiting.pop()
        waiting += [item for item in code.co_consts if isinstance(item, CodeType)]
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(step.argval)
            elif step.opname == "IMPORT_NAME":
                modules.add(step.argval)
    return names, modules
