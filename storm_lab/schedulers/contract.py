"""What a scheduling policy is: a read-only view in; assignment, status and reasons out.

A policy knows no clock and no emulator. Measured load reaches it through the view, or does not (cold start).
Where it needs chance it draws from :meth:`SchedulingView.random`, so the same view gives the same answer.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
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


@dataclass(frozen=True)
class SchedulingView:
    """Everything a policy may look at in one scheduling round.

    Args:
        topologies: submitted topologies, in the order in which Nimbus learned of them.
        cluster: the nodes with a recent heartbeat; a node that is down is simply absent.
        version: the Storm version whose behaviour the version-dependent policies follow.
        present: executors that are alive, and their slots. Slots may lie on absent nodes.
        load: the monitors' averages, or None while nothing has been measured (cold start).
        blacklisted_hosts: hosts that may get no new executors.
        dead_slots: slots hidden for this round because a worker has just died there.
        user_pools: guaranteed resources per topology owner (resource-aware scheduling).
        isolated: machines per topology *name* (isolation scheduling).
        seed: start of the random numbers of policies that draw some.
        explain: record a reason for every executor; costs time and memory, so off by default.
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
        """Topology id to its executors, ackers included, in order of their first task."""
        return {topology.id: executors_of(topology, self.version) for topology in self.topologies}

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """Node id to node."""
        return {node.id: node for node in self.cluster.nodes}

    @cached_property
    def topology(self) -> Mapping[str, Topology]:
        """Topology id to topology."""
        return {topology.id: topology for topology in self.topologies}

    @cached_property
    def usable_slots(self) -> tuple[Slot, ...]:
        """Slots of live nodes that are neither blacklisted nor hidden, used or not, node by node."""
        return tuple(
            slot
            for node in self.cluster.nodes
            if (node.host or node.id) not in self.blacklisted_hosts
            for slot in node.slots
            if slot not in self.dead_slots
        )

    @cached_property
    def free_slots(self) -> tuple[Slot, ...]:
        """Usable slots without a worker."""
        used = set(self.present.slots.values())
        return tuple(slot for slot in self.usable_slots if slot not in used)

    def unplaced(self, topology_id: str) -> tuple[Executor, ...]:
        """Executors of the topology that have no slot on a live node, in order of their first task."""
        held = self.present.slots
        nodes = self.nodes
        return tuple(e for e in self.executors[topology_id] if e not in held or held[e].node not in nodes)

    def demand(self, executor: Executor) -> Resources:
        """CPU points (100 = one core) and memory in MB that the executor asks for (Storm 1.0 and later).

        A component's own figures win over the topology's settings, which win over Storm's defaults; ackers
        have settings of their own, but for Storm 1.0. `UserError`: the topology has no such component.
        """
        key = (executor.topology, executor.component)
        demand = self._demands.get(key)
        if demand is None:
            demand = self._demands[key] = self._demand_of(*key)
        return demand

    @cached_property
    def _demands(self) -> dict[tuple[str, str], Resources]:
        return {}

    def _demand_of(self, topology_id: str, component_id: str) -> Resources:
        topology = self.topology[topology_id]
        cpu = number_of(topology.settings, CPU, DEFAULT_DEMAND.cpu_points)
        onheap = number_of(topology.settings, ONHEAP, DEFAULT_DEMAND.memory_mb)
        offheap = number_of(topology.settings, OFFHEAP, DEFAULT_DEMAND.offheap_mb)
        if component_id == ACKER and self.version.parts >= _ACKER_SETTINGS_SINCE:
            return Resources(
                cpu_points=number_of(topology.settings, ACKER_CPU, cpu),
                memory_mb=number_of(topology.settings, ACKER_ONHEAP, onheap),
                offheap_mb=number_of(topology.settings, ACKER_OFFHEAP, offheap),
            )
        if component_id == ACKER:
            return Resources(cpu, onheap, offheap)
        try:
            declared = topology.component(component_id).resources
        except KeyError:
            raise UserError(
                f"an executor of topology {topology_id!r} belongs to a component "
                "that the topology does not have",
                field="component",
                value=component_id,
            ) from None
        return Resources(cpu, onheap, offheap) if declared is None else declared

    def traffic_of(self, topology_id: str) -> Mapping[tuple[Executor, Executor], float]:
        """The measured traffic that the topology's executors send; empty when nothing was measured."""
        return self._traffic.get(topology_id, {})

    @cached_property
    def _traffic(self) -> dict[str, dict[tuple[Executor, Executor], float]]:
        # Once for all topologies: a pass over all the traffic for each of them grows with their product.
        grouped: dict[str, dict[tuple[Executor, Executor], float]] = {}
        for pair, rate in (self.load.traffic if self.load is not None else {}).items():
            grouped.setdefault(pair[0].topology, {})[pair] = rate
        return grouped

    def random(self, purpose: str) -> random.Random:
        """A fresh generator that depends on the seed and on ``purpose`` only."""
        return random.Random(f"{self.seed}/{purpose}")


@dataclass(frozen=True, slots=True)
class TopologyStatus:
    """What became of one topology in a round; ``message`` is one line for people."""

    scheduled: bool
    message: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A slot that was considered: its score, or the constraint that ruled it out."""

    slot: Slot
    score: float | None = None
    ruled_out_by: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Why an executor is where it is. ``choice`` None means that it found no place.

    ``score_name`` says what the candidates' scores are, unit and better direction included.
    """

    executor: Executor
    choice: Slot | None
    candidates: tuple[Candidate, ...] = ()
    score_name: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class SchedulingResult:
    """The answer of a round.

    Args:
        assignment: all executors that have a slot after the round, kept and new ones.
        status: topology id to status, one entry per topology of the view.
        decisions: in the order in which the policy decided; empty unless the view asked for reasons.
        notes: figures about the whole schedule, such as a lower bound on its inter-node traffic.
    """

    assignment: Assignment
    status: Mapping[str, TopologyStatus]
    decisions: tuple[Decision, ...] = ()
    notes: Mapping[str, float | str] = field(default_factory=dict)


class Journal:
    """Collects decisions if, and only if, the view asks for them.

    Policies guard the building of candidates with ``if journal.wanted`` so that nobody pays for silence.
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
        """Note one decision."""
        if self.wanted:
            self._decisions.append(Decision(executor, choice, tuple(candidates), score_name, note))

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What was recorded, in order."""
        return tuple(self._decisions)


@dataclass(frozen=True, slots=True)
class NoParameters:
    """For policies without parameters."""


class Scheduler(ABC, Generic[P]):
    """A scheduling policy.

    A subclass sets ``name`` (what users type), ``version`` (changes when its answers change) and
    ``Parameters`` (a frozen dataclass whose fields all have defaults), and implements :meth:`schedule`.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    Parameters: ClassVar[type] = NoParameters
    rename_invariant: ClassVar[bool] = False
    """Whether renaming the nodes changes nothing but names (Storm's own schedulers leak hash orders)."""

    def __init__(self, parameters: P | None = None) -> None:
        self.parameters: P = self.Parameters() if parameters is None else parameters

    @abstractmethod
    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place the view's topologies. Infeasible is a status, not an exception.

        A `UserError` names what no schedule can be made of (a negative demand, a topology without components,
        ...).
        """
