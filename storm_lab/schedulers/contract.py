"""The contract of a scheduling policy: its input, a read-only view, and its output, a result with reasons.

A policy does not know the clock or the emulator. Measured load is part of the view, or absent at a cold
start. A policy that needs random numbers takes them from :meth:`SchedulingView.random`, so that the same view
gives the same answer.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

from storm_lab.errors import UserError
from storm_lab.model import (
    ACKER,
    Assignment,
    Cluster,
    Executor,
    MeasuredLoad,
    Node,
    Resources,
    Slot,
    StormVersion,
    Topology,
    executors_of,
)
from storm_lab.model.settings import ACKER_CPU, ACKER_OFFHEAP, ACKER_ONHEAP, CPU, OFFHEAP, ONHEAP, number_of
from storm_lab.model.topology import DEFAULT_DEMAND
from storm_lab.model.version import V2_8_8

P = TypeVar("P")

DEFAULT_STORM_VERSION = V2_8_8
_ACKER_SETTINGS_SINCE = (1, 1, 0)


def default_demand(settings: Mapping[str, float | str | bool]) -> Resources:
    """Return what an executor asks for by its topology's settings, or else by Storm's defaults."""
    return _demand(settings, (CPU, ONHEAP, OFFHEAP), DEFAULT_DEMAND)


def _demand(settings: Mapping[str, float | str | bool], keys: Sequence[str], default: Resources) -> Resources:
    defaults = (default.cpu_points, default.memory_mb, default.offheap_mb)
    return Resources(*(number_of(settings, *each) for each in zip(keys, defaults, strict=True)))


@dataclass(frozen=True)
class SchedulingView:
    """Everything that a policy may use in one scheduling round.

    Args:
        topologies: submitted topologies, in the order in which Nimbus learned of them.
        cluster: the nodes with a recent heartbeat; a node that is down is absent.
        version: the Storm version that version-dependent policies follow.
        present: executors that are alive, and their slots. Slots may be on absent nodes.
        load: the monitors' averages, or None if nothing has been measured yet (cold start).
        blacklisted_hosts: hosts that may get no new executors.
        dead_slots: slots hidden for this round because a worker has just died there.
        user_pools: guaranteed resources per topology owner (resource-aware scheduling).
        isolated: machines per topology *name* (isolation scheduling).
        seed: seed of the random numbers.
        explain: record a reason for every executor; off by default, because it costs time and memory.
    """

    topologies: tuple[Topology, ...]
    cluster: Cluster
    version: StormVersion = DEFAULT_STORM_VERSION
    present: Assignment = field(default_factory=Assignment)
    load: MeasuredLoad | None = None
    blacklisted_hosts: frozenset[str] = frozenset()
    dead_slots: frozenset[Slot] = frozenset()
    user_pools: Mapping[str, Resources] = field(default_factory=dict)
    isolated: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0
    explain: bool = False

    @cached_property
    def executors(self) -> Mapping[str, tuple[Executor, ...]]:
        """Executors by topology id, ackers included, in order of their first task."""
        return {topology.id: executors_of(topology, self.version) for topology in self.topologies}

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """Nodes by id."""
        return {node.id: node for node in self.cluster.nodes}

    @cached_property
    def topology(self) -> Mapping[str, Topology]:
        """Topologies by id."""
        return {topology.id: topology for topology in self.topologies}

    @cached_property
    def usable_slots(self) -> tuple[Slot, ...]:
        """Slots of live nodes, used or not, that are neither blacklisted nor hidden, node by node."""
        return tuple(
            slot
            for node in self.cluster.nodes
            if node.host_name not in self.blacklisted_hosts
            for slot in node.slots
            if slot not in self.dead_slots
        )

    @cached_property
    def free_slots(self) -> tuple[Slot, ...]:
        """Usable slots without a worker."""
        used = set(self.present.slots.values())
        return tuple(slot for slot in self.usable_slots if slot not in used)

    def unplaced(self, topology_id: str) -> tuple[Executor, ...]:
        """Return the topology's executors without a slot on a live node, in order of their first task."""
        slots, nodes = self.present.slots, self.nodes
        return tuple(e for e in self.executors[topology_id] if e not in slots or slots[e].node not in nodes)

    def demand(self, executor: Executor) -> Resources:
        """Return the CPU points (100 = one core) and memory in MB that the executor asks for (Storm 1.0 on).

        A component's own figures take precedence over the topology's settings, and these over Storm's
        defaults. Ackers have settings of their own, except in Storm 1.0. Raises `UserError` if the topology
        has no such component.
        """
        try:
            return self._demands[executor.topology, executor.component]
        except KeyError:
            of = f"an executor of topology {executor.topology!r}"
            message = f"{of} belongs to a component that the topology does not have"
            raise UserError(message, field="component", value=executor.component) from None

    @cached_property
    def _demands(self) -> dict[tuple[str, str], Resources]:
        demands: dict[tuple[str, str], Resources] = {}
        for topology in self.topologies:
            default = acker = default_demand(topology.settings)
            if self.version.parts >= _ACKER_SETTINGS_SINCE:
                acker = _demand(topology.settings, (ACKER_CPU, ACKER_ONHEAP, ACKER_OFFHEAP), default)
            demands |= {(topology.id, c.id): c.resources or default for c in topology.components}
            demands[topology.id, ACKER] = acker
        return demands

    def traffic_of(self, topology_id: str) -> Mapping[tuple[Executor, Executor], float]:
        """Return the measured traffic that the topology's executors send; empty if nothing was measured."""
        return self._traffic.get(topology_id, {})

    @cached_property
    def _traffic(self) -> dict[str, dict[tuple[Executor, Executor], float]]:
        # Grouped once, because a pass over all traffic for each topology would be quadratic.
        grouped: dict[str, dict[tuple[Executor, Executor], float]] = {}
        for pair, rate in (self.load.traffic if self.load is not None else {}).items():
            grouped.setdefault(pair[0].topology, {})[pair] = rate
        return grouped

    def random(self, purpose: str) -> random.Random:
        """Return a new generator that depends only on the seed and on ``purpose``."""
        return random.Random(f"{self.seed}/{purpose}")


@dataclass(frozen=True, slots=True)
class TopologyStatus:
    """The outcome for one topology in a round; ``message`` is one line for people."""

    scheduled: bool
    message: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A slot that was considered, with its score or the constraint that ruled it out."""

    slot: Slot
    score: float | None = None
    ruled_out_by: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The reason for an executor's slot. ``choice`` None means that no slot was found.

    ``score_name`` says what the candidates' scores are, including the unit and which direction is better.
    """

    executor: Executor
    choice: Slot | None
    candidates: tuple[Candidate, ...] = ()
    score_name: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class SchedulingResult:
    """The result of a round.

    Args:
        assignment: all executors that have a slot after the round, kept and new ones.
        status: topology id to status, one entry per topology of the view.
        decisions: in the order in which the policy decided; empty unless the view asks for reasons.
        notes: figures about the schedule as a whole, such as a lower bound on its inter-node traffic.
    """

    assignment: Assignment
    status: Mapping[str, TopologyStatus]
    decisions: tuple[Decision, ...] = ()
    notes: Mapping[str, float | str] = field(default_factory=dict)


class Journal:
    """Collects decisions if, and only if, the view asks for them.

    Policies build candidates only ``if journal.wanted``, so that a round without reasons costs nothing extra.
    """

    def __init__(self, view: SchedulingView) -> None:
        self.wanted = view.explain
        self._decisions: list[Decision] = []

    def record(
        self,
        executor: Executor,
        choice: Slot | None,
        candidates: Iterable[Candidate] = (),
        *,
        score_name: str = "",
        note: str = "",
    ) -> None:
        """Record one decision."""
        if self.wanted:
            self._decisions.append(Decision(executor, choice, tuple(candidates), score_name, note))

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The recorded decisions, in order."""
        return tuple(self._decisions)


@dataclass(frozen=True, slots=True)
class NoParameters:
    """For policies without parameters."""


class Scheduler(ABC, Generic[P]):
    """A scheduling policy.

    A subclass sets ``name`` (which users type), ``version`` (changed whenever its answers change) and
    ``Parameters`` (a frozen dataclass whose fields all have defaults), and implements :meth:`schedule`.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    Parameters: ClassVar[type] = NoParameters
    rename_invariant: ClassVar[bool] = False
    """Whether renaming the nodes changes only names. Storm's own schedulers depend on hash orders."""

    def __init__(self, parameters: P | None = None) -> None:
        self.parameters: P = self.Parameters() if parameters is None else parameters

    @abstractmethod
    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place the view's topologies. If one cannot be placed, its status says so; this is not an exception.

        A `UserError` names input for which no schedule can be made (a negative demand, a topology without
        components, ...).
        """
