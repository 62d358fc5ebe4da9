"""Faults and fault plans: changes that happen to the cluster at given times, whatever runs on it.

A kind of fault is a frozen dataclass with a name, a check against the state that earlier entries of the plan
lead to, and a strike, which makes it happen. A new kind is one new file with the ``@fault_kind`` decorator.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, partial
from typing import Any, ClassVar, TypeVar

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.decision_log import Fact
from storm_lab.errors import UserError, check_known, unknown_name
from storm_lab.model import Cluster, Slot, StormVersion, Topology
from storm_lab.model.checks import check_kinds

ACTOR = "fault"

F = TypeVar("F", bound="type[Fault]")


@dataclass
class PlannedWorld:
    """State of the cluster after the earlier entries of a plan, against which an entry is checked.

    ``submit_s``: when a user submits each topology, 0 for those that it does not name. ``unrated``: topology
    and spout of each source that has no rate.
    """

    cluster: Cluster
    topologies: Sequence[Topology]
    version: StormVersion
    duration_s: float
    submit_s: Mapping[str, float] = field(default_factory=dict)
    unrated: frozenset[tuple[str, str]] = frozenset()
    nodes_down: set[str] = field(default_factory=set)
    slots_killed: set[Slot] = field(default_factory=set)
    links_disturbed: set[frozenset[str]] = field(default_factory=set)
    links_ever_disturbed: set[frozenset[str]] = field(default_factory=set)
    topologies_off: set[str] = field(default_factory=set)
    topologies_killed: set[str] = field(default_factory=set)
    daemons_down: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Fault(ABC):
    """One entry of a fault plan, ``at_s`` seconds after the start of the run."""

    name: ClassVar[str]
    at_s: float

    @abstractmethod
    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse the entry if it is impossible after earlier ones, else record its effect in ``world``.

        The `UserError` names the value, the remedy, and the ``entry``, the fault's place in the plan.
        """

    @abstractmethod
    def strike(self, control: ControlPlane) -> None:
        """Make the fault happen, and note it in the decision log."""

    def note(self, control: ControlPlane, subject: str, **facts: Fact) -> None:
        """Note in the decision log that the fault happens to ``subject``, with further facts."""
        control.log.note(ACTOR, self.name, subject, "fault plan", **facts)

    def refusal(self, entry: str, of: str, message: str, remedy: str) -> UserError:
        """Create the refusal of this entry for the value of its field ``of``."""
        return UserError(message, field=f"{entry}.{of}", value=getattr(self, of), remedy=remedy)


def check_node(name: str, world: PlannedWorld, entry: str) -> None:
    """Refuse a node that is not in the cluster (`UserError`)."""
    known = [node.id for node in world.cluster.nodes]
    check_known("node", name, known, "the cluster", field=entry)


def check_topology(topology_id: str, world: PlannedWorld, entry: str) -> Topology:
    """Return the topology with that id; `UserError` if the run has none."""
    known = {topology.id: topology for topology in world.topologies}
    check_known("topology", topology_id, list(known), "the run", field=f"{entry}.topology")
    return known[topology_id]


def _check_submission(world: PlannedWorld, at_s: float, topology_id: str) -> None:
    """Refuse a topology that a user submits while Nimbus is down (`UserError`)."""
    if "Nimbus" in world.daemons_down:
        message = f"Nimbus is down when topology {topology_id!r} is submitted"
        remedy = "revive Nimbus before, or submit the topology at another time"
        raise UserError(message, field="submit_s", value=at_s, remedy=remedy)


_KINDS: dict[str, type[Fault]] = {}


def fault_kind(kind: F) -> F:
    """Add a kind of fault, a frozen dataclass (class decorator); `ValueError` if another has its ``name``."""
    known = _KINDS.get(kind.name, kind)
    if known.__qualname__ != kind.__qualname__:
        raise ValueError(
            f"two kinds of fault are named {kind.name!r}: {known.__qualname__}, {kind.__qualname__}"
        )
    _KINDS[kind.name] = kind
    return kind


@cache
def _import_kinds() -> None:
    """Import all modules of this package, so that their kinds are known."""
    package = importlib.import_module("storm_lab.emulator.control.faults")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def _fault(name: str, parameters: Mapping[str, Any], entry: str) -> Fault:
    """Create a fault; `UserError` for an unknown name, or an unknown or missing parameter."""
    check_known("fault", name, _KINDS, "the emulator", field=entry)
    kind: Any = _KINDS[name]
    items = {item.name: item.default for item in fields(kind)}
    for parameter, value in parameters.items():
        if parameter not in items:
            unknown = unknown_name("parameter", parameter, items, f"fault {name!r}")
            raise UserError(unknown.message, field=f"{entry}.{parameter}", value=value, remedy=unknown.remedy)
    for parameter, default in items.items():
        if default is MISSING and parameter not in parameters:
            message = f"fault {name!r} needs this parameter"
            raise UserError(message, field=f"{entry}.{parameter}", remedy="give a value")
    fault: Fault = kind(**parameters)
    return fault


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Faults in any order; those of the same instant strike in the plan's order."""

    faults: tuple[Fault, ...] = ()

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> FaultPlan:
        """Read a plan from plain data: each row names its kind under ``fault``, the rest are its fields.

        Raises `UserError` for a row without a kind, an unknown kind, or an unknown or missing field.
        """
        _import_kinds()
        faults: list[Fault] = []
        for index, row in enumerate(rows):
            entry = f"faults[{index}]"
            parameters = dict(row)
            name = parameters.pop("fault", None)
            if not isinstance(name, str):
                message = "the entry names no fault"
                remedy = f"choose one of {', '.join(sorted(_KINDS))}"
                raise UserError(message, field=f"{entry}.fault", value=name, remedy=remedy)
            faults.append(_fault(name, parameters, entry))
        return cls(tuple(faults))

    def check(self, world: PlannedWorld) -> None:
        """Refuse the first impossible entry in order of time; the `UserError` names its place in the plan."""
        check_kinds("a fault plan", self)
        for index, fault in enumerate(self.faults):
            at: object = fault.at_s  # Plain data may hold anything here.
            number = isinstance(at, int | float) and not isinstance(at, bool) and math.isfinite(at)
            if not number or not 0 <= fault.at_s < world.duration_s:
                message = f"{fault.name} is outside the run"
                remedy = f"give a time in seconds from 0 to less than the run's {world.duration_s:g}"
                raise UserError(message, field=f"faults[{index}].at_s", value=at, remedy=remedy)
        # Topologies of time 0 are submitted before anything else happens.
        later = ((at_s, topology) for topology, at_s in world.submit_s.items() if at_s > 0)
        submissions = sorted(later, reverse=True)
        for index, fault in sorted(enumerate(self.faults), key=lambda item: item[1].at_s):
            while submissions and submissions[-1][0] < fault.at_s:
                _check_submission(world, *submissions.pop())
            fault.check(world, f"faults[{index}]")
        while submissions:
            _check_submission(world, *submissions.pop())

    def start(self, control: ControlPlane) -> None:
        """Schedule the faults on the clock."""
        for index, fault in enumerate(self.faults):
            control.clock.at(ns(fault.at_s), Rank.FAULT, f"fault:{index:06}", partial(fault.strike, control))
