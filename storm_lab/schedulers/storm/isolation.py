"""Storm's isolation scheduler: some topologies get their own machines; the default scheduler does the rest.

Source: ``IsolationScheduler`` of Storm 0.8.2 to 2.x. The hosts are chosen at random in Storm, too; here the
draw comes from the view's seed. Apart from the draw, the answer equals Storm's, slot by slot. Where Storm
throws (because fewer executors than workers leave no worker to place), this scheduler places what there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storm_lab.errors import UserError
from storm_lab.model import Executor, Slot, Topology
from storm_lab.model.checks import check_whole
from storm_lab.model.executor import integer_divided
from storm_lab.model.grouped import grouped
from storm_lab.model.javahash import int32, string_hash
from storm_lab.model.topology import MAX_TASKS
from storm_lab.model.version import V0_9_0, V2_0_0
from storm_lab.schedulers.contract import (
    Candidate,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
from storm_lab.schedulers.parameters import PolicyParameters, parameter
from storm_lab.schedulers.storm.cluster_state import ClusterState
from storm_lab.schedulers.storm.default import schedule_by_default
from storm_lab.schedulers.storm.even import storm_result
from storm_lab.schedulers.storm.hash_order import (
    built_and_copied_order,
    copied_map_order,
    copied_set_order,
    executor_hash,
)

Spec = frozenset[Executor]


@dataclass(frozen=True, slots=True)
class IsolationParameters(PolicyParameters):
    """The isolated topologies, in addition to those of the view (``isolation.scheduler.machines``)."""

    machines: str = parameter("")  # name:2,other:1

    def __post_init__(self) -> None:
        PolicyParameters.__post_init__(self)
        self.as_mapping()

    def as_mapping(self) -> dict[str, int]:
        """Return machines by topology name; `UserError` if an entry is not ``name:number`` with 1 or more."""
        found: dict[str, int] = {}
        for entry in filter(None, (part.strip() for part in self.machines.split(","))):
            name, _, number = entry.rpartition(":")
            if not name or not number.isdigit() or int(number) < 1:
                raise UserError("an entry must be name:number of machines", field="machines", value=entry)
            found[name] = int(number)
        return found


class IsolationScheduler(Scheduler[IsolationParameters]):
    """Dedicated machines for some topologies. If none is named, it equals the default scheduler."""

    name = "isolation"
    version = "2"
    Parameters = IsolationParameters

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Keep correct hosts, give hosts to isolated topologies, then schedule the others on the rest.

        Raises `UserError` for a number of machines below one.
        """
        state = ClusterState(view)
        machines = {**view.isolated, **self.parameters.as_mapping()}
        for name, number in machines.items():
            check_whole("an isolated topology", f"machines of {name}", number, low=1, high=MAX_TASKS)
        isolated = _in_map_order(state, [t for t in state.topologies if (t.name or t.id) in machines])
        wanted = {t.id: _Wanted(state, t, machines[t.name or t.id]) for t in isolated}
        before = set(state.blacklist)
        _keep_correct_hosts(state, wanted)
        _place_on_own_hosts(state, isolated, wanted)
        own_hosts = state.blacklist - before
        failed = [t.id for t in isolated if wanted[t.id].specs]
        if not failed:
            schedule_by_default(state, _topologies_for_default(state, wanted))
        elif state.version >= V0_9_0:
            state.free(slot for slot in state.used if _host_of(state, slot) not in state.blacklist)
        state.blacklist = before
        result = storm_result(state)
        status = {**result.status, **_statuses(state, failed, wanted, own_hosts)}
        return SchedulingResult(result.assignment, status, result.decisions)


class _Wanted:
    """What an isolated topology still needs: worker contents, and hosts by their number of workers."""

    def __init__(self, state: ClusterState, topology: Topology, machines: int) -> None:
        self.specs = _worker_specs(state, topology)
        # Storm divides the number of workers asked for, even if there are too few executors for them.
        self.hosts = Counter(integer_divided(topology.workers, machines))
        del self.hosts[0]
        self.machines = machines


def _worker_specs(state: ClusterState, topology: Topology) -> list[Spec]:
    """Divide the executors evenly, component by component; the shares are in the order of getting slots."""
    executors = built_and_copied_order(state.view.executors[topology.id], executor_hash)
    by_component = grouped(executors, lambda executor: executor.component)
    components = state.order.associated(list(by_component), state.order.string)
    buckets = list(range(topology.workers))
    if state.version < V2_0_0:
        buckets = state.order.collected(buckets[: len(executors)], state.order.number)
    ordered = [executor for component in components for executor in by_component[component]]
    specs = [frozenset(ordered[i :: topology.workers]) for i in buckets if i < len(ordered)]
    # The hash of a set in Java or Clojure is the sum of its members' hashes.
    return copied_set_order(specs, lambda spec: int32(sum(map(executor_hash, spec))))


def _host_of(state: ClusterState, slot: Slot) -> str:
    """Return the slot's host. For nodes that are gone, Storm has no host and treats them as one machine."""
    node = state.view.nodes.get(slot.node)
    return node.host_name if node is not None else ""


def _in_map_order(state: ClusterState, topologies: list[Topology]) -> list[Topology]:
    return state.order.associated(topologies, lambda topology: state.order.string(topology.id))


def _topologies_for_default(state: ClusterState, wanted: Mapping[str, _Wanted]) -> list[Topology]:
    """Return the topologies for the default scheduler, in order.

    2.x intends to leave out the isolated ones but does not: those with fewer workers than they asked for are
    scheduled once more, outside of their own hosts.
    """
    if state.version >= V2_0_0:
        return state.topologies_to_schedule()
    others = [topology for topology in state.topologies if topology.id not in wanted]
    ordered = copied_map_order(_in_map_order(state, others), lambda topology: string_hash(topology.id))
    return [topology for topology in ordered if state.needs_scheduling(topology)]


def _keep_correct_hosts(state: ClusterState, wanted: Mapping[str, _Wanted]) -> None:
    """Step 1: keep hosts that hold exactly the right workers of one isolated topology; free the others."""
    on_host: dict[str, list[tuple[Slot, str, Spec]]] = {}
    for topology in state.topologies:
        for slot, executors in state.workers_by_slot(topology.id).items():
            on_host.setdefault(_host_of(state, slot), []).append((slot, topology.id, frozenset(executors)))
    for host in state.order.collected(list(on_host), state.order.string):
        workers = on_host[host]
        owner = workers[0][1]
        need = wanted.get(owner)
        good = (
            need is not None
            and all(topology == owner for _, topology, _ in workers)
            and need.hosts[len(workers)] > 0
            and all(spec in need.specs for _, _, spec in workers)
        )
        if need is not None and good:
            need.hosts[len(workers)] -= 1
            for _, _, spec in workers:
                need.specs.remove(spec)
            state.blacklist.add(host)
        else:
            state.free(slot for slot, topology, _ in workers if topology in wanted)


def _place_on_own_hosts(state: ClusterState, isolated: list[Topology], wanted: Mapping[str, _Wanted]) -> None:
    """Step 2: take hosts in random order; the first serves the largest need for which it has enough slots."""
    slots = (slot for node in state.nodes for slot in state.assignable_slots(node))
    hosts = grouped(slots, lambda slot: _host_of(state, slot))
    queue = state.order.collected(list(hosts), state.order.string)
    queue.sort(key=lambda host: -len(hosts[host]))
    state.view.random("isolation").shuffle(queue)
    for topology in isolated:
        need = wanted[topology.id]
        for size in sorted(need.hosts.elements(), reverse=True):
            if not queue or not need.specs or len(hosts[queue[0]]) < size:
                continue
            host = queue.pop(0)
            state.free(slot for slot in state.used if _host_of(state, slot) == host)
            for slot, spec in zip(hosts[host][:size], list(need.specs), strict=False):
                need.specs.remove(spec)
                state.assign(slot, topology.id, sorted(spec))
                if state.view.explain:
                    candidates = _candidates(hosts, [host, *queue], slot, size)
                    note = f"own host {host}"
                    for executor in sorted(spec):
                        state.journal.record(executor, slot, candidates, score_name=_SCORE, note=note)
            state.blacklist.add(host)


_SCORE = "turn of the host in the draw (lowest wins)"


def _candidates(
    hosts: Mapping[str, Sequence[Slot]], queue: Sequence[str], chosen: Slot, size: int
) -> list[Candidate]:
    """Return the slots of the hosts that are still available, those of the first host first."""
    found = []
    for turn, host in enumerate(queue):
        for slot in hosts[host]:
            reason = None
            if turn == 0 and slot != chosen:
                reason = "one worker a slot: another worker's turn, or more than the host's share"
            elif len(hosts[host]) < size:
                reason = f"host has {len(hosts[host])} slots, the topology needs {size} on one host"
            found.append(Candidate(slot, None if reason else float(turn), reason))
    return found


def _statuses(
    state: ClusterState, failed: list[str], wanted: Mapping[str, _Wanted], own_hosts: set[str]
) -> dict[str, TopologyStatus]:
    status: dict[str, TopologyStatus] = {}
    for topology in state.topologies:
        if topology.id in failed:
            need = wanted[topology.id]
            without = f"{len(need.specs)} workers without a machine"
            text = f"could not get {need.machines} machines of its own: {without}"
            status[topology.id] = TopologyStatus(False, text)
        elif topology.id in wanted and not state.unassigned(topology):
            hosts = {_host_of(state, slot) for slot in state.slot_of[topology.id].values()}
            text = f"Isolated on {len(hosts)} machines"
            if not hosts <= own_hosts:
                text = "Fully Scheduled, but not isolated: it has fewer workers than it asked for"
            status[topology.id] = TopologyStatus(True, text)
        elif failed and state.unassigned(topology):
            status[topology.id] = TopologyStatus(False, f"waits until {failed[0]} has machines of its own")
    return status
