"""Scheduling cases as JSON: a cluster, topologies, who runs where, and measured load.

One case is one JSON object; ``docs/schedulers.md`` documents every key. Anything wrong is refused with one
line that names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from storm_lab.errors import StormLabError, UserError
from storm_lab.model import (
    Assignment,
    Cluster,
    Component,
    Executor,
    Grouping,
    InvalidAssignmentError,
    MeasuredLoad,
    Node,
    Resources,
    Slot,
    StormVersion,
    Subscription,
    Topology,
    executors_of,
)
from storm_lab.model.cluster import DEFAULT_RACK
from storm_lab.model.settings import CPU, OFFHEAP, ONHEAP, check_topology_settings
from storm_lab.model.settings import number_of as setting_of
from storm_lab.model.topology import DEFAULT_DEMAND
from storm_lab.model.version import V2_0_0
from storm_lab.schedulers.cases.case_fields import (
    a_mapping,
    a_name,
    a_row,
    a_sequence,
    a_slot,
    a_whole,
    an_amount,
    number_of,
    refuse_unknown_keys,
    required,
)
from storm_lab.schedulers.contract import SchedulingView

_INPUT_KEYS = {
    "scheduler", "supervisors", "topologies", "existing", "conf", "traffic", "cpu", "node_cpu",
    "blacklisted_hosts", "dead_slots", "seed",
}  # fmt: skip
_NODE_KEYS = {"id", "host", "rack", "ports", "resources", "cores", "mhz"}
_TOPOLOGY_KEYS = {"id", "name", "workers", "ackers", "launch", "owner", "conf", "components", "priority"}
_COMPONENT_KEYS = {"id", "par", "tasks", "cpu", "mem", "offheap", "inputs"}
_INPUT_OF_COMPONENT_KEYS = {"from", "grouping", "stream", "fields"}
_CPU_OFFER = "supervisor.cpu.capacity"
_MEMORY_OFFER = "supervisor.memory.capacity.mb"
_MEMORY_OFFER_UNTIL_1 = 3072.0
"""MB that a supervisor offers unless its configuration says otherwise, before Storm 2."""
_USER_POOLS = "resource.aware.scheduler.user.pools"
_ISOLATED = "isolation.scheduler.machines"
_PRIORITY = "topology.priority"
_MOST_EXECUTORS = "topology.max.task.parallelism"


@dataclass(frozen=True, slots=True)
class Case:
    """A named scheduling problem; ``scheduler`` is the policy the case was made for, or None."""

    name: str
    scheduler: str | None
    view: SchedulingView


@dataclass(frozen=True, slots=True)
class RefusedCase:
    """A line that is no case, by its name or number, and what is wrong with it."""

    name: str
    error: StormLabError

    def named(self) -> StormLabError:
        """The error, which names the case."""
        error = self.error
        if not isinstance(error, UserError):
            return error
        return UserError(
            f"case {self.name!r}: {error.message}", field=error.field, value=error.value, remedy=error.remedy
        )


def read_cases(
    lines: Iterable[str], version: StormVersion, *, explain: bool = False
) -> Iterator[Case | RefusedCase]:
    """The cases in ``lines``, one JSON object a line; empty lines are skipped.

    A line that is not JSON goes by its number.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name = f"line {number}"
        try:
            # Python reads neither numbers of thousands of digits nor a tower of lists.
            raw = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield RefusedCase(name, UserError(f"line {number} is not JSON: {error}", field="cases"))
            continue
        if isinstance(raw, dict):
            name = str(raw.get("name", name))
        try:
            yield read_case(raw, name, version, explain=explain)
        except StormLabError as error:
            yield RefusedCase(name, error)


def read_case(raw: Any, name: str, version: StormVersion, *, explain: bool = False) -> Case:
    """One case from its JSON object.

    Raises:
        UserError: naming what is wrong.
    """
    case = a_mapping(raw, "case")
    given = a_mapping(required(case, "input", "the case"), "input")
    refuse_unknown_keys(given, _INPUT_KEYS, "the input")
    cluster = Cluster(
        tuple(
            _node(n, version) for n in a_sequence(required(given, "supervisors", "the input"), "supervisors")
        )
    )
    topologies = tuple(
        _topology(t) for t in a_sequence(required(given, "topologies", "the input"), "topologies")
    )
    book = _TaskBook(topologies, version)
    conf = a_mapping(given.get("conf", {}), "conf")
    scheduler = given.get("scheduler")
    view = SchedulingView(
        topologies=topologies,
        cluster=cluster,
        version=version,
        present=_present(a_mapping(given.get("existing", {}), "existing"), cluster, book),
        load=_load(given, book),
        blacklisted_hosts=frozenset(
            a_name(h, "blacklisted_hosts")
            for h in a_sequence(given.get("blacklisted_hosts", []), "blacklisted_hosts")
        ),
        dead_slots=frozenset(
            a_slot(row, "dead_slots") for row in a_sequence(given.get("dead_slots", []), "dead_slots")
        ),
        user_pools={
            str(user): Resources(number_of(pool, "cpu", 0.0), number_of(pool, "memory", 0.0))
            for user, pool in a_mapping(conf.get(_USER_POOLS, {}), _USER_POOLS).items()
        },
        isolated={
            str(topology): a_whole(machines, f"{_ISOLATED}/{topology}")
            for topology, machines in a_mapping(conf.get(_ISOLATED, {}), _ISOLATED).items()
        },
        seed=a_whole(given.get("seed", 0), "seed"),
        explain=explain,
    )
    return Case(name, None if scheduler is None else str(scheduler), view)


class _TaskBook:
    """Which executor runs a task, for the rows of a case that name tasks."""

    def __init__(self, topologies: Iterable[Topology], version: StormVersion) -> None:
        self._by_task: dict[str, dict[int, Executor]] = {}
        for topology in topologies:
            tasks = self._by_task.setdefault(topology.id, {})
            for executor in executors_of(topology, version):
                tasks.update(dict.fromkeys(executor.tasks, executor))

    def executor(self, topology_id: str, task: Any, where: str) -> Executor:
        if topology_id not in self._by_task:
            raise UserError(
                f"{where} names a topology that the case does not have", field="topology", value=topology_id
            )
        executor = self._by_task[topology_id].get(a_whole(task, where))
        if executor is None:
            raise UserError(
                f"{where} of topology {topology_id!r} names a task that belongs to no component",
                field="task",
                value=task,
            )
        return executor


def _node(raw: Any, version: StormVersion) -> Node:
    node = a_mapping(raw, "supervisor")
    identity = a_name(required(node, "id", "a supervisor"), "id of a supervisor")
    owner = f"supervisor {identity!r}"
    refuse_unknown_keys(node, _NODE_KEYS, owner)
    offer = a_mapping(node.get("resources", {}), f"resources of {owner}")
    ports = tuple(
        a_whole(p, f"ports of {owner}") for p in a_sequence(node.get("ports", []), f"ports of {owner}")
    )
    defaults = Node(identity)
    return Node(
        id=identity,
        host=a_name(node.get("host", identity), f"host of {owner}"),
        rack=a_name(node.get("rack", DEFAULT_RACK), f"rack of {owner}"),
        ports=ports,
        cores=a_whole(node.get("cores", defaults.cores), f"cores of {owner}"),
        core_mhz=number_of(node, "mhz", defaults.core_mhz),
        offer=Resources(
            number_of(offer, _CPU_OFFER, defaults.offer.cpu_points, owner),
            number_of(
                offer,
                _MEMORY_OFFER,
                defaults.offer.memory_mb if version >= V2_0_0 else _MEMORY_OFFER_UNTIL_1,
                owner,
            ),
        ),
    )


def _topology(raw: Any) -> Topology:
    topology = a_mapping(raw, "topology")
    identity = a_name(required(topology, "id", "a topology"), "id of a topology")
    owner = f"topology {identity!r}"
    refuse_unknown_keys(topology, _TOPOLOGY_KEYS, owner)
    conf = dict(a_mapping(topology.get("conf", {}), f"conf of {owner}"))
    priority = a_whole(conf.pop(_PRIORITY, topology.get("priority", 29)), _PRIORITY)
    # It caps the executors at submission, and a case has those that came out.
    conf.pop(_MOST_EXECUTORS, None)
    check_topology_settings(owner, conf)
    # What a component leaves out comes from the topology's settings, and then from Storm's defaults.
    defaults = Resources(
        setting_of(conf, CPU, DEFAULT_DEMAND.cpu_points),
        setting_of(conf, ONHEAP, DEFAULT_DEMAND.memory_mb),
        setting_of(conf, OFFHEAP, DEFAULT_DEMAND.offheap_mb),
    )
    ackers = topology.get("ackers")
    return Topology(
        id=identity,
        name=a_name(topology.get("name", identity), f"name of {owner}"),
        components=tuple(
            _component(c, owner, defaults)
            for c in a_sequence(required(topology, "components", owner), f"components of {owner}")
        ),
        workers=a_whole(topology.get("workers", 1), f"workers of {owner}"),
        ackers=None if ackers is None else a_whole(ackers, f"ackers of {owner}"),
        owner=a_name(topology["owner"], f"owner of {owner}") if topology.get("owner") else "",
        launch_time_s=number_of(topology, "launch", 0.0),
        priority=priority,
        settings=conf,
    )


def _component(raw: Any, owner: str, defaults: Resources) -> Component:
    component = a_mapping(raw, f"component of {owner}")
    identity = a_name(required(component, "id", f"a component of {owner}"), f"id of a component of {owner}")
    what = f"component {identity!r} of {owner}"
    refuse_unknown_keys(component, _COMPONENT_KEYS, what)
    tasks = component.get("tasks")
    demand = None
    if any(key in component for key in ("cpu", "mem", "offheap")):
        demand = Resources(
            number_of(component, "cpu", defaults.cpu_points, what),
            number_of(component, "mem", defaults.memory_mb, what),
            number_of(component, "offheap", defaults.offheap_mb, what),
        )
    return Component(
        id=identity,
        executors=a_whole(component.get("par", 1), f"par of {what}"),
        tasks=None if tasks is None else a_whole(tasks, f"tasks of {what}"),
        inputs=tuple(
            _subscription(i, what) for i in a_sequence(component.get("inputs", []), f"inputs of {what}")
        ),
        resources=demand,
    )


def _subscription(raw: Any, owner: str) -> Subscription:
    given = a_mapping(raw, f"input of {owner}")
    refuse_unknown_keys(given, _INPUT_OF_COMPONENT_KEYS, f"an input of {owner}")
    text = str(given.get("grouping", Grouping.SHUFFLE.value)).replace("_", "-")
    try:
        grouping = Grouping(text)
    except ValueError:
        offered = ", ".join(g.value for g in Grouping)
        raise UserError(
            f"{owner} has an unknown grouping", field="grouping", value=text, remedy=f"use {offered}"
        ) from None
    return Subscription(
        source=a_name(required(given, "from", f"an input of {owner}"), f"from of an input of {owner}"),
        stream=a_name(given.get("stream", "default"), f"stream of an input of {owner}"),
        grouping=grouping,
        fields=_names(given, "fields", owner),
    )


def _names(raw: Mapping[str, Any], key: str, owner: str) -> tuple[str, ...]:
    where = f"{key} of {owner}"
    return tuple(a_name(name, where) for name in a_sequence(raw.get(key, []), where))


def _present(raw: Mapping[str, Any], cluster: Cluster, book: _TaskBook) -> Assignment:
    nodes = {node.id for node in cluster.nodes}
    pairs: list[tuple[Executor, Slot]] = []
    for topology_id, rows in raw.items():
        for row in a_sequence(rows, "existing"):
            place, port, start, end = a_row(row, 4, "existing", "[node, port, start task, end task]")
            node = a_name(place, "existing")
            executor = book.executor(topology_id, start, "the existing assignment")
            if (executor.start, executor.end) != (start, end):
                raise UserError(
                    f"topology {topology_id!r} has no executor of these tasks; {start} is run by {executor}",
                    field="existing",
                    value=[start, end],
                )
            if node not in nodes:
                raise UserError(
                    f"the existing assignment puts {executor} of topology {topology_id!r} on an unknown node",
                    field="node",
                    value=node,
                )
            pairs.append((executor, Slot(node, a_whole(port, "port"))))
    try:
        return Assignment.of(pairs)
    except InvalidAssignmentError as error:
        raise UserError(str(error), field="existing") from None


def _load(given: Mapping[str, Any], book: _TaskBook) -> MeasuredLoad | None:
    if not any(key in given for key in ("traffic", "cpu", "node_cpu")):
        return None
    traffic: dict[tuple[Executor, Executor], float] = {}
    for topology_id, rows in a_mapping(given.get("traffic", {}), "traffic").items():
        for row in a_sequence(rows, "traffic"):
            source, target, rate = a_row(row, 3, "traffic", "[source task, target task, tuples per second]")
            pair = (
                book.executor(topology_id, source, "traffic"),
                book.executor(topology_id, target, "traffic"),
            )
            traffic[pair] = traffic.get(pair, 0.0) + an_amount(rate, "traffic")
    cpu: dict[Executor, float] = {}
    for topology_id, rows in a_mapping(given.get("cpu", {}), "cpu").items():
        for row in a_sequence(rows, "cpu"):
            task, mhz = a_row(row, 2, "cpu", "[task, MHz]")
            executor = book.executor(topology_id, task, "cpu")
            cpu[executor] = cpu.get(executor, 0.0) + an_amount(mhz, "cpu")
    nodes = {
        str(n): an_amount(mhz, "node_cpu")
        for n, mhz in a_mapping(given.get("node_cpu", {}), "node_cpu").items()
    }
    return MeasuredLoad(cpu_mhz=cpu, traffic=traffic, node_mhz=nodes)
