"""Modules put in place of streamparse, pystorm and storm, and of modules that are not installed."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from storm_lab.workloads.multilang import components, dsl, storm_module

_PACKAGES = ("streamparse", "pystorm", "pystorm_a8c")
_BOLTS = ("Bolt", "BatchingBolt", "TicklessBatchingBolt", "Tuple")
_SPOUTS = ("Spout", "ReliableSpout")
_DSL = (
    "Grouping", "Stream", "Topology", "JavaBolt", "JavaSpout", "ShellBolt", "ShellSpout", "GlobalStreamId",
)  # fmt: skip


def install() -> None:
    """Put the modules in place; what is imported under their names from here on is ours."""
    bolts = {name: getattr(components, name) for name in _BOLTS}
    spouts = {name: getattr(components, name) for name in _SPOUTS}
    base = {"Component": components.Component, "Tuple": components.Tuple}
    language = {name: getattr(dsl, name) for name in _DSL}
    for package in _PACKAGES:
        _module(package, {**bolts, **spouts, **base, **language, "__version__": "4.1.2"})
        _module(f"{package}.bolt", {**bolts, "BasicBolt": components.Bolt})
        _module(f"{package}.spout", spouts)
        _module(f"{package}.component", base)
        _module(f"{package}.ipc", base)
        _module(f"{package}.storm", {**bolts, **spouts, **base})
        _module(f"{package}.storm.bolt", bolts)
        _module(f"{package}.storm.spout", spouts)
        _module(f"{package}.storm.component", base)
        _module(f"{package}.dsl", language)
        for name in ("topology", "stream", "bolt", "spout", "component"):
            _module(f"{package}.dsl.{name}", {**language, "ComponentSpec": dsl.Spec})
        _module(f"{package}.thrift", {"GlobalStreamId": dsl.GlobalStreamId})
        _module(f"{package}.run", {})
    sys.modules["storm"] = storm_module


def _module(name: str, content: dict[str, Any]) -> None:
    module = ModuleType(name)
    module.__dict__.update(content)
    module.__path__ = []
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)


class Absent:
    """A name of a module that is not installed: it can be imported, but not used."""

    importing = False
    """While modules are imported calls are let pass: decorators and constants of absent modules."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Absent(self._module, f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Another stand-in while modules are imported; afterwards the module is missed."""
        if Absent.importing:
            return Absent(self._module, self._name)
        raise ModuleNotFoundError(f"it needs the module {self._module}, which is not installed here")

    def __getitem__(self, key: Any) -> Any:
        return self()

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (_absent_base(self._module),)


def module_of_absent_spec(value: object) -> str | None:
    """The absent module of a component whose ``spec`` was called while a topology was imported."""
    return value._module if isinstance(value, Absent) and value._name.endswith(".spec") else None


def _absent_base(module: str) -> type:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        raise ModuleNotFoundError(f"it needs the module {module}, which is not installed here")

    return type("AbsentBase", (), {"__init__": init})


class AbsentModules:
    """Finds modules that are not installed, among those whose names are given to it."""

    def __init__(self) -> None:
        self.roots: set[str] = set()
        self.missed: set[str] = set()
        """What is not there: packages by their root, and of packages that are there the modules they lack."""

    def find_spec(
        self, name: str, path: Iterable[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of an absent module."""
        if name.partition(".")[0] not in self.roots:
            return None
        if self._missed_with(name) == name:
            self.missed.add(name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """A module all of whose names are absent."""
        return _AbsentModule(spec.name, self._missed_with(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""

    def _missed_with(self, name: str) -> str:
        """The outermost of the missed modules that hold a module: without it this one is not there either."""
        parts = name.split(".")
        outer = (".".join(parts[:end]) for end in range(1, len(parts)))
        return next((module for module in outer if module in self.missed), name)


class _AbsentModule(ModuleType):
    __all__: tuple[str, ...] = ()

    def __init__(self, name: str, missed: str) -> None:
        super().__init__(name)
        self._missed = missed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Absent(self._missed, f"{self.__name__}.{name}")
