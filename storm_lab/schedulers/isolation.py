"""Storm's isolation scheduler: chosen topologies get machines of their own, the rest is scheduled by default.

Source: ``IsolationScheduler`` of Storm 0.8.2 to 2.x. Which hosts are chosen is random in Storm too; here the
    draw comes
from the view's seed, so only counts (workers per host, number of hosts, no sharing) can be compared with
Storm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from storm_lab.errors import UserError
from storm_lab.model import Executor, Slot, Topology
from storm_lab.model.executor import integer_divided
from storm_lab.model.javahash import int32, string_hash
from storm_lab.model.version import V0_9_0, V2_0_0
from storm_lab.schedulers.cluster_state import ClusterState
from storm_lab.schedulers.contract import (
    Candidate,
    Journal,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
from storm_lab.schedulers.default import schedule_by_default
from storm_lab.schedulers.even import storm_result
from storm_lab.schedulers.hash_order import copied_set_order, executor_hash, handed_over_order, hash_map_order
from storm_lab.schedulers.parameters import check_ranges, described
from storm_lab.schedulers.view_checks import check_view

Spec = frozenset[Executor]


@dataclass(frozen=True, slots=True)
class IsolationParameters:
    """Which topologies are isolated; what the view says (``isolation.scheduler.machines``) holds as well."""

    machines: str = described("", "topology names and their numbers of machines: name:2,other:1")

    def __post_init__(self) -> None:
        check_ranges(self)
        self.as_mapping()

    def as_mapping(self) -> dict[str, int]:
        """Topology name to number of machines.

        Raises:
            UserError: an entry is not ``name:number`` with a number of at least one.
        """
        found: dict[str, int] = {}
        for entry in filter(None, (part.strip() for part in self.machines.split(","))):
            name, _, number = entry.rpartition(":")
            if not name or not number.isdigit() or int(number) < 1:
                raise UserError("an entry is written name:number of machines", field="machines", value=entry)
            found[name] = int(number)
        return found


class IsolationScheduler(Scheduler[IsolationParameters]):
    """Dedicated machines for some topologies. With none named it is the default scheduler."""

    name: ClassVar[str] = "isolation"
    version: ClassVar[str] = "1"
    Parameters: ClassVar[type] = IsolationParameters

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Keep what is right, give hosts to isolated topologies, then schedule the others on the rest.

        Raises:
            UserError: a number of machines below one.
        """
        check_view(view)
        machines = {**view.isolated, **self.parameters.as_mapping()}
        for name, number in machines.items():
            if number < 1:
                raise UserError("an isolated topology needs at least one machine", field=name, value=number)
        journal = Journal(view)
        state = ClusterState(view)
        isolated = [t for t in state.topologies if (t.name or t.id) in machines]
        if state.version >= V2_0_0:
            isolated = hash_map_order(isolated, lambda topology: string_hash(topology.id))
        wanted = {t.id: _Wanted(state, t, machines[t.name or t.id]) for t in isolated}
        before = set(state.blacklist)
        _keep_what_is_right(state, wanted)
        _place_on_own_hosts(state, isolated, wanted, journal)
        failed = [t.id for t in isolated if wanted[t.id].specs]
        if not failed:
            names = {t.id for t in isolated}
            schedule_by_default(state, [t for t in state.needy() if t.id not in names], journal)
        elif state.version >= V0_9_0:
            state.free(slot for slot in state.used_slots() if _host_of(state, slot) not in state.blacklist)
        state.blacklist = before
        result = storm_result(state, journal)
        status = {**result.status, **_statuses(state, failed, wanted)}
        return SchedulingResult(result.assignment, status, result.decisions)


class _Wanted:
    """What an isolated topology still needs: worker contents, and hosts by their number of workers."""

    def __init__(self, state: ClusterState, topology: Topology, machines: int) -> None:
        executors: Sequence[Executor] = state.view.executors[topology.id]
        if state.version >= V2_0_0:
            executors = handed_over_order(executors, executor_hash, state.version)
        by_component: dict[str, list[Executor]] = {}
        for executor in executors:
            by_component.setdefault(executor.component, []).append(executor)
        components = list(by_component)
        if state.version >= V2_0_0:
            components = hash_map_order(components, string_hash)
        line = [executor for component in components for executor in by_component[component]]
        buckets = [line[i :: topology.workers] for i in range(topology.workers)]
        self.specs: list[Spec] = [frozenset(bucket) for bucket in buckets if bucket]
        if state.version >= V2_0_0:
            self.specs = copied_set_order(self.specs, _spec_hash)
        sizes = integer_divided(len(self.specs), min(machines, len(self.specs)))
        self.hosts = Counter(sizes)
        self.machines = machines


def _spec_hash(spec: Spec) -> int:
    """Hash of a Java set: the sum of its members' hashes."""
    return int32(sum(map(executor_hash, spec)))


def _host_of(state: ClusterState, slot: Slot) -> str:
    node = state.view.nodes.get(slot.node)
    return state.host(node) if node is not None else slot.node


def _keep_what_is_right(state: ClusterState, wanted: Mapping[str, _Wanted]) -> None:
    """Step 1: hosts with just the right workers of one isolated topology stay; others lose theirs."""
    on_host: dict[str, list[tuple[Slot, str, Spec]]] = {}
    for topology in state.topologies:
        for slot, executors in state.workers(topology.id).items():
            on_host.setdefault(_host_of(state, slot), []).append((slot, topology.id, frozenset(executors)))
    for host, workers in on_host.items():
        owner = workers[0][1]
        need = wanted.get(owner)
        good = (
            need is not None
            and all(topology == owner for _, topology, _ in workers)
            and need.hosts[len(workers)] > 0
            and all(spec in need.specs for _, _, spec in workers)
        )
        if good and need is not None:
            need.hosts[len(workers)] -= 1
            for _, _, spec in workers:
                need.specs.remove(spec)
            state.blacklist.add(host)
        else:
            state.free(slot for slot, topology, _ in workers if topology in wanted)


def _place_on_own_hosts(
    state: ClusterState, isolated: list[Topology], wanted: Mapping[str, _Wanted], journal: Journal
) -> None:
    """Step 2: hosts in random order; the one at the head serves the largest need it is big enough for."""
    hosts: dict[str, list[Slot]] = {}
    for node in state.nodes:
        slots = state.assignable_slots(node)
        if slots:
            hosts.setdefault(state.host(node), []).extend(slots)
    queue = list(hosts)
    state.view.random("isolation").shuffle(queue)
    for topology in isolated:
        need = wanted[topology.id]
        for size in sorted(need.hosts.elements(), reverse=True):
            if not queue or len(hosts[queue[0]]) < size:
                continue
            host = queue.pop(0)
            state.free(slot for slot in state.used_slots() if _host_of(state, slot) == host)
            for slot in hosts[host][:size]:
                spec = need.specs.pop(0)
                state.assign(slot, topology.id, sorted(spec))
                for executor in sorted(spec):
                    journal.record(
                        executor, slot, [Candidate(s) for s in hosts[host]], note=f"own host {host}"
                    )
            need.hosts[size] -= 1
            state.blacklist.add(host)


def _statuses(
    state: ClusterState, failed: list[str], wanted: Mapping[str, _Wanted]
) -> dict[str, TopologyStatus]:
    status: dict[str, TopologyStatus] = {}
    for topology in state.topologies:
        if topology.id in failed:
            need = wanted[topology.id]
            status[topology.id] = TopologyStatus(
                False,
                f"could not get {need.machines} machines of its own: {len(need.specs)} workers homeless",
            )
        elif topology.id in wanted:
            status[topology.id] = TopologyStatus(True, f"Isolated on {wanted[topology.id].machines} machines")
        elif failed and state.unassigned(topology):
            status[topology.id] = TopologyStatus(False, f"waits until {failed[0]} has machines of its own")
    return status
