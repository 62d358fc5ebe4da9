"""Loading components: classes of modules, scripts, and topology files, also where modules are absent."""

from __future__ import annotations

import importlib
import importlib.util
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from storm_lab.workloads.multilang import dsl
from storm_lab.workloads.multilang.components import Component, ScriptRanError
from storm_lab.workloads.multilang.install import Absent, AbsentModules, module_of_absent_spec
from storm_lab.workloads.multilang.plan import ComponentSpec

_MOST_ABSENT = 40


class LoadError(Exception):
    """A component or a topology cannot be loaded; the text says why, in one line."""


class Loader:
    """Loads user code; modules that are not installed are absent, by name in `absent.missed`."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.absent = AbsentModules()
        self._folders = [Path(folder).resolve() for folder in folders]
        sys.meta_path.append(self.absent)

    def topology(self, file: str) -> type:
        """The topology class of a file.

        Raises:
            LoadError: it cannot be imported, has no topology class, or a component of it is absent.
        """
        module = self._attempt(lambda: _module_of(Path(file)), Path(file).name)
        found = [
            value
            for value in vars(module).values()
            if isinstance(value, dsl.TopologyType) and value is not dsl.Topology
        ]
        if not found:
            raise LoadError(f"{Path(file).name} has no class that is a Topology")
        topology: type = found[-1]
        for name, value in vars(topology).items():
            module = module_of_absent_spec(value)
            if module is not None:
                raise LoadError(f"{name} is of the module {module}, which is not installed here")
        return topology

    def make(self, spec: ComponentSpec) -> Component:
        """A fresh instance of a component.

        Raises:
            LoadError: it cannot be made.
        """
        if "script" in spec.code:
            made = self._attempt(lambda: _run_script(spec.code["script"]), Path(spec.code["script"]).name)
        else:
            module = spec.code["module"]
            cls = self._attempt(lambda: _class_of(module, spec.code["class"]), module)
            made = self._used(cls, spec.name)
        if not isinstance(made, Component):
            raise LoadError(f"{type(made).__name__} is neither a spout nor a bolt")
        return made

    def _used(self, cls: Callable[[], Any], what: str) -> Any:
        try:
            return cls()
        except Exception as error:
            raise LoadError(said(error)) from None

    def _attempt(self, load: Callable[[], Any], what: str) -> Any:
        """Load; a module that is not there is made absent, and everything is loaded again."""
        for _ in range(_MOST_ABSENT):
            Absent.importing = True
            try:
                return load()
            except ModuleNotFoundError as error:
                root = (error.name or "").partition(".")[0]
                if not root or root in self.absent.roots:
                    raise LoadError(said(error)) from None
                self.absent.roots.add(root)
                self._forget()
            except SyntaxError as error:
                where = f"{Path(error.filename or what).name}:{error.lineno}"
                raise LoadError(f"{where} is not Python {sys.version_info[0]}: {error.msg}") from None
            except (Exception, SystemExit) as error:
                raise LoadError(f"{self._where(error) or what}: {said(error)}") from None
            finally:
                Absent.importing = False
        raise LoadError(f"{what} needs too many modules that are not installed")

    def _where(self, error: BaseException) -> str:
        """The innermost line of the user's code that an exception went through; empty if there is none."""
        frames = [
            (Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_tb(error.__traceback__)
        ]
        for path, line in reversed(frames):
            if any(path.resolve().is_relative_to(folder) for folder in self._folders):
                return f"{path.name}:{line}"
        return ""

    def _forget(self) -> None:
        """Forget the user's modules; others may not be imported a second time."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file and any(Path(file).resolve().is_relative_to(folder) for folder in self._folders):
                del sys.modules[name]


def said(error: BaseException) -> str:
    """An exception in one line of bounded length."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 300 else f"{text[:297]}..."


def _module_of(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _class_of(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _run_script(path: str) -> Any:
    sys.argv = [path]
    try:
        runpy.run_path(path, run_name="__main__")
    except ScriptRanError as ran:
        return ran.component
    raise RuntimeError("it does not call run() of a component")
