"""Load components from modules, scripts and topology files, even if some of their imports are missing.

Modules of this package stand in for streamparse, pystorm and storm. Components are made when the first tuple
for one of their tasks arrives.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import runpy
import sys
import traceback
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from storm_lab.workloads.multilang import components, dsl, storm_module
from storm_lab.workloads.multilang.clock import TookTooLongError, at_most
from storm_lab.workloads.multilang.components import Bolt, Component, ScriptRanError, Spout
from storm_lab.workloads.multilang.emits import CallCollector
from storm_lab.workloads.multilang.plan import ComponentSpec, Plan

_MOST_ABSENT = 40
_PACKAGES = ("streamparse", "pystorm", "pystorm_a8c")
_MODULES = (
    "bolt", "spout", "component", "ipc", "storm", "storm.bolt", "storm.spout", "storm.component", "dsl",
    "dsl.topology", "dsl.stream", "dsl.bolt", "dsl.spout", "dsl.component", "thrift", "run",
)  # fmt: skip
"""Modules of each package; the names of all of them are in every one."""
_COMPONENTS = (
    "Component", "Tuple", "Bolt", "BatchingBolt", "TicklessBatchingBolt", "Spout", "ReliableSpout",
)  # fmt: skip
_DSL = (
    "Grouping", "Stream", "Topology", "JavaBolt", "JavaSpout", "ShellBolt", "ShellSpout", "GlobalStreamId",
)  # fmt: skip


class LoadError(Exception):
    """A component or a topology cannot be loaded; the text says why, in one line."""


class Loader:
    """Loads user code; replaces modules that are not installed, and lists them in `absent.missed`."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.absent = AbsentModules()
        self._folders = [Path(folder).resolve() for folder in folders]
        sys.meta_path.append(self.absent)

    def topology(self, file: str) -> type[dsl.Topology]:
        """Return the topology class of a file; `LoadError` if there is none, or a part cannot be loaded."""
        module = self._attempt(lambda: _module_of(Path(file)), Path(file).name)
        found = [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, dsl.Topology) and value is not dsl.Topology
        ]
        if not found:
            raise LoadError(f"{Path(file).name} has no class that is a Topology")
        topology = found[-1]
        for name, value in vars(topology).items():
            module = module_of_absent_spec(value)
            if module is not None:
                raise LoadError(f"{name} is of the module {module}, which is not installed here")
        return topology

    def make(self, spec: ComponentSpec) -> Component:
        """Make a new instance of a component; `LoadError` if it cannot be made."""
        if "script" in spec.code:
            made = self._attempt(lambda: _run_script(spec.code["script"]), Path(spec.code["script"]).name)
        else:
            module = spec.code["module"]
            find = attrgetter(spec.code["class"])
            cls = self._attempt(lambda: find(importlib.import_module(module)), module)
            try:
                made = cls()
            except Exception as error:
                raise LoadError(exception_text(error)) from None
        if not isinstance(made, Component):
            raise LoadError(f"{type(made).__name__} is neither a spout nor a bolt")
        return made

    def _attempt(self, load: Callable[[], Any], what: str) -> Any:
        """Load something; if a module is missing, put a stand-in in its place and load everything again."""
        for _ in range(_MOST_ABSENT):
            Absent.importing = True
            try:
                return load()
            except ModuleNotFoundError as error:
                root = (error.name or "").partition(".")[0]
                if not root or root in self.absent.roots:
                    raise LoadError(exception_text(error)) from None
                self.absent.roots.add(root)
                self._forget()
            except SyntaxError as error:
                where = f"{Path(error.filename or what).name}:{error.lineno}"
                raise LoadError(f"{where} is not Python {sys.version_info[0]}: {error.msg}") from None
            except (Exception, SystemExit) as error:
                raise LoadError(f"{self._where(error) or what}: {exception_text(error)}") from None
            finally:
                Absent.importing = False
        raise LoadError(f"{what} needs too many modules that are not installed")

    def _is_users(self, file: str) -> bool:
        return any(Path(file).resolve().is_relative_to(folder) for folder in self._folders)

    def _where(self, error: BaseException) -> str:
        """Return the innermost line of user code that an exception passed through; empty if there is none."""
        for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
            if self._is_users(frame.f_code.co_filename):
                return f"{Path(frame.f_code.co_filename).name}:{line}"
        return ""

    def _forget(self) -> None:
        """Forget the user's modules; others may not be imported a second time."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and self._is_users(file):
                del sys.modules[name]


def exception_text(error: BaseException) -> str:
    """Return an exception as one line of bounded length."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 300 else f"{text[:297]}..."


def _module_of(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _run_script(path: str) -> Any:
    sys.argv = [path]
    try:
        runpy.run_path(path, run_name="__main__")
    except ScriptRanError as ran:
        return ran.component
    raise RuntimeError("it does not call run() of a component")


def install() -> None:
    """Install the stand-in modules; later imports of their names find them."""
    content = {
        "__version__": "4.1.2",
        "__path__": [],
        "BasicBolt": components.Bolt,
        "ComponentSpec": dsl.Spec,
        **{name: getattr(components, name) for name in _COMPONENTS},
        **{name: getattr(dsl, name) for name in _DSL},
    }
    for package in _PACKAGES:
        for name in (package, *(f"{package}.{module}" for module in _MODULES)):
            sys.modules[name] = module = ModuleType(name)
            module.__dict__.update(content)
            module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
            parent, _, last = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], last, module)
    sys.modules["storm"] = storm_module


class Absent:
    """Stands in for a name of a module that is not installed: it can be imported, but not used."""

    importing = False
    """True during imports: calls are allowed then, for decorators and constants of absent modules."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Absent(self._module, f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return another stand-in while modules are imported; raise `ModuleNotFoundError` afterwards."""
        return Absent(self._module, self._name) if Absent.importing else self._miss()

    def __getitem__(self, key: Any) -> Any:
        return self()

    def __iter__(self) -> NoReturn:
        # Without this, Python would ask for one item after the other, without end.
        self._miss()

    def __repr__(self) -> str:
        return f"{self._name}, which is not installed here"

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (type("AbsentBase", (), {"__init__": self._miss}),)

    def _miss(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ModuleNotFoundError(f"it needs the module {self._module}, which is not installed here")


def module_of_absent_spec(value: object) -> str | None:
    """Return the absent module of a component whose ``spec`` was called while a topology was imported."""
    return value._module if isinstance(value, Absent) and value._name.endswith(".spec") else None


class AbsentModules:
    """Finds modules that are not installed, if the names of their top-level packages are in `roots`."""

    def __init__(self) -> None:
        self.roots: set[str] = set()
        self.missed: set[str] = set()
        """Names of what is missing: top-level packages, and modules that an installed package lacks."""

    def find_spec(
        self, name: str, path: Iterable[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of an absent module."""
        if name.partition(".")[0] not in self.roots:
            return None
        if self._missed_with(name) == name:
            self.missed.add(name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return a module in which every name is absent."""
        module = ModuleType(spec.name)
        vars(module)["__all__"] = ()
        vars(module)["__getattr__"] = Absent(self._missed_with(spec.name), spec.name).__getattr__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: an absent module has no code."""

    def _missed_with(self, name: str) -> str:
        """Return the outermost missing module that contains a module; the module itself if there is none."""
        parts = name.split(".")
        outer = (".".join(parts[:end]) for end in range(1, len(parts)))
        return next((module for module in outer if module in self.missed), name)


MOST_INSTANCES = 64  # most instances of a component; further tasks share them
START_S = 20.0  # seconds that making and initialising an instance may take


class Instances:
    """Instances by component and task, whose calls ``collector`` collects.

    ``faults`` maps a component to the reason why it cannot be made.
    """

    def __init__(
        self, plan: Plan, specs: Sequence[ComponentSpec], loader: Loader, collector: CallCollector
    ) -> None:
        self.collector = collector
        self.faults: dict[str, str] = {}
        self._plan = plan
        self._specs = {spec.name: spec for spec in specs}
        self._loader = loader
        self._made: dict[tuple[str, int], Component | None] = {}

    def get(self, name: str, task: int) -> Component | None:
        """Return the instance of a task; None if it cannot be made."""
        key = (name, task % MOST_INSTANCES)
        if key not in self._made:
            self._made[key] = self._make(name, key[1])
        return self._made[key]

    def made(self, name: str) -> list[tuple[int, Component | None]]:
        """Return the tasks of a component that have an instance, always with the first, and the instances."""
        self.get(name, 0)
        return [(task, self._made[owner, task]) for owner, task in sorted(self._made) if owner == name]

    def values(self, source: str, stream: str, values: Sequence[Any]) -> Any:
        """Return the values of a tuple, as a named tuple if the names of its fields allow it."""
        fields = tuple(self._specs[source].outputs.get(stream, ()))
        if any(isinstance(value, list | dict) for value in values):
            # Each receiver gets its own copy, which it may change.
            values = json.loads(json.dumps(values))
        kind = _named(fields)
        return tuple(values) if kind is None or len(fields) != len(values) else kind(*values)

    def _make(self, name: str, task: int) -> Component | None:
        spec = self._specs[name]
        if not spec.code:
            self.faults[name] = f"it is not Python: {spec.java or 'no code was found'}"
            return None
        try:
            with at_most(START_S):
                made = self._loader.make(spec)
                if isinstance(made, Spout) is not spec.is_spout or not isinstance(made, Spout | Bolt):
                    raise LoadError(f"{type(made).__name__} is not a {'spout' if spec.is_spout else 'bolt'}")
                conf, context = self._handshake(spec, task)
                made.attach(self.collector, conf, context)
                made.initialize(conf, context)
                return made
        except LoadError as error:
            why = str(error)
        except TookTooLongError:
            why = f"it did not start within {START_S:g} s"
        except (Exception, SystemExit) as error:
            why = f"its initialize raised {exception_text(error)}"
        self.faults.setdefault(name, why)
        return None

    def _handshake(self, spec: ComponentSpec, task: int) -> tuple[dict[str, Any], dict[str, Any]]:
        conf = {"topology.name": self._plan.name, "topology.debug": False, **self._plan.config, **spec.config}
        context = {
            "taskid": self.collector.table.first[spec.name] + task,
            "componentid": spec.name,
            "task->component": self.collector.table.component_of(),
            "source->stream->fields": {
                item.component: self._specs[item.component].outputs
                for item in spec.inputs
                if item.component in self._specs
            },
            "stream->outputfields": spec.outputs,
        }
        return conf, context


@cache
def _named(fields: tuple[str, ...]) -> Any:
    try:
        return namedtuple("Values", fields)
    except ValueError:
        return None
