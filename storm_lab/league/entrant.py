"""Entrants of a league: the user's own scheduler, or any that is installed.

An entrant is used as Nimbus's own scheduler. One that needs measured load takes T-Storm's place instead:
Storm's default scheduler and the initial consolidation start the topology; then the schedule generator runs
the entrant every 300 s, with the smooth hand-over. Each run gets a copy of the scheduler with freshly
imported code, so that none sees what another one left behind.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import pickle
import sys
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError, exception_summary, is_own_code
from storm_lab.experiments.online_scheduling import generator
from storm_lab.experiments.parameter import Parameters
from storm_lab.identity.origin import libraries
from storm_lab.identity.value import value_digest
from storm_lab.monitoring.online_scheduling import InitialConsolidation
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.storm.default import DefaultScheduler

_SHARED = frozenset({"__main__", "__mp_main__", "storm_lab"})
"""Modules that are never imported again."""

_imported: WeakKeyDictionary[type, dict[Path, str]] = WeakKeyDictionary()
"""Class -> digests of the files that it was imported from."""


@dataclass(frozen=True)
class Entrant:
    """A scheduler with its name in the table. An ``online`` one runs on measured load, in T-Storm's place."""

    name: str
    scheduler: Scheduler[Any]
    online: bool = False
    _code: str = field(init=False, repr=False, compare=False, default="")
    """Digest of code that only a notebook has, with its class attributes and global variables."""

    def __post_init__(self) -> None:
        if self.in_notebook:
            object.__setattr__(self, "_code", value_digest(self.scheduler))

    def applied(self, run: EmulationSpec, parameters: Parameters) -> EmulationSpec:
        """Return the run under it, with the settings of `storm_lab.experiments.online_scheduling`.

        Each run gets a `fresh_copy`, so that what a scheduler leaves behind does not affect the next run.
        Raises `UserError` as `fresh_copy`, or if a run has changed what the scheduler uses of a notebook.
        """
        if self._code and value_digest(self.scheduler) != self._code:
            message = "its class, or a global variable that it uses, has changed since the entrant was made"
            remedy = "keep state in self, set in __init__, and make the entrant again"
            raise UserError(message, field="scheduler", value=self.scheduler.name, remedy=remedy)
        scheduler = fresh_copy(self.scheduler)
        if not self.online:
            return replace(run, scheduler=scheduler)
        services = (*run.services, InitialConsolidation(), generator(scheduler, parameters))
        return replace(run, scheduler=DefaultScheduler(), services=services, migration=Smooth())

    @property
    def in_notebook(self) -> bool:
        """Whether the class is defined in a notebook or script, where other processes cannot find it."""
        return type(self.scheduler).__module__ == "__main__"


def fresh_copy(scheduler: Scheduler[Any]) -> Scheduler[Any]:
    """Return a copy with the same state; unless it is the project's, its modules are imported anew.

    These are the modules of its package and the Python files beside it. In this project's worker processes
    the new ones replace the old ones. Elsewhere other code may hold the old ones, so these are put back.
    Attributes of a class, global variables and defaults of arguments belong to the code: plain copies would
    share them.

    The code of a notebook, of compiled modules and of classes inside functions cannot be imported again: such
    a scheduler is only copied. Raises `UserError` if the modules cannot be imported again, or a file has
    changed since it was imported.
    """
    kind = type(scheduler)
    modules = {} if is_own_code(kind) else _modules_with(kind.__module__)
    try:
        state = pickle.dumps(scheduler) if modules else b""
    except Exception:
        state = b""
    if not state:
        return deepcopy(scheduler)
    files = {file for module in modules.values() if (file := _file(module)) is not None and file.is_file()}
    digests = {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    known = _imported.setdefault(kind, digests)
    for file in sorted(known.keys() & digests.keys()):
        if known[file] != digests[file]:
            message = f"{file.name} has changed while its runs were played"
            raise UserError(message, field="scheduler", value=scheduler.name, remedy="start again")
    for name in modules:
        del sys.modules[name]
    try:
        fresh: Scheduler[Any] = pickle.loads(state)
    except (Exception, SystemExit) as error:
        message = f"it cannot be imported a second time, for a run of its own: {exception_summary(error)}"
        raise UserError(message, field="scheduler", value=scheduler.name) from error
    finally:
        if multiprocessing.parent_process() is None:
            sys.modules.update(modules)
    _imported[type(fresh)] = digests | known
    return fresh


def _modules_with(name: str) -> dict[str, ModuleType]:
    """Return the imported modules of a module's package and beside it; none if that cannot be repeated."""
    first = name.partition(".")[0]
    folder = _folder(sys.modules.get(first))
    if first in _SHARED or folder is None:
        return {}
    tops = {first}
    if folder not in libraries():
        tops |= {top for top in list(sys.modules) if "." not in top and _folder(sys.modules[top]) == folder}
    found = {each: module for each, module in sys.modules.items() if each.partition(".")[0] in tops - _SHARED}
    files = [file for module in found.values() if (file := _file(module)) is not None]
    return found if all(file.suffix == ".py" for file in files) else {}


def _file(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None


def _folder(module: ModuleType | None) -> Path | None:
    """Return the folder that holds a top-level module or package; None if there is none."""
    places = [*getattr(module, "__path__", ()), *filter(None, [_file(module)])]
    return Path(places[0]).resolve().parent if places else None
