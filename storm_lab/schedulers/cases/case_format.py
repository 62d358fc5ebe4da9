"""Scheduling cases as JSON: a cluster, topologies, the present assignment, and measured load.

One case is one JSON object; ``docs/schedulers.md`` documents every key. Faulty input is refused with one line
that names the fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from storm_lab.errors import StormLabError, UserError, check_known
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
from storm_lab.model.settings import check_topology_settings
from storm_lab.model.version import V2_0_0
from storm_lab.schedulers.cases.case_fields import (
    Fields,
    a_mapping,
    a_name,
    a_row,
    a_sequence,
    a_whole,
    a_whole_or_none,
    an_amount,
    required,
)
from storm_lab.schedulers.contract import SchedulingView, default_demand

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
"""Default memory offer of a supervisor in MB, before Storm 2."""
_USER_POOLS = "resource.aware.scheduler.user.pools"
_ISOLATED = "isolation.scheduler.machines"
_PRIORITY = "topology.priority"
_MAX_PARALLELISM = "topology.max.task.parallelism"


Case = tuple[str, SchedulingView | StormLabError]
"""The name of a case, or the number of its line; and its problem, or the error of an invalid case."""


def read_cases(lines: Iterable[str], version: StormVersion) -> Iterator[Case]:
    """Yield the cases, one JSON object per line.

    Empty lines are skipped. A line that is not JSON is named by its number.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name = f"line {number}"
        try:
            # Python refuses numbers of thousands of digits and deeply nested lists.
            raw = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield name, UserError(f"line {number} is not JSON: {error}", field="cases")
            continue
        if isinstance(raw, dict):
            name = str(raw.get("name", name))
        try:
            yield name, read_case(raw, version)
        except StormLabError as error:
            yield name, error


def read_case(raw: Any, version: StormVersion) -> SchedulingView:
    """Read one case from its JSON object; `UserError` names the fault."""
    case = a_mapping(raw, "case")
    raw_input = a_mapping(required(case, "input", "the case"), "input")
    given = Fields(raw_input, "the input", _INPUT_KEYS)
    supervisors = a_sequence(required(raw_input, "supervisors", "the input"), "supervisors")
    cluster = Cluster(tuple(_node(node, version) for node in supervisors))
    submitted = a_sequence(required(raw_input, "topologies", "the input"), "topologies")
    topologies = tuple(map(_topology, submitted))
    book = _TaskBook(topologies, version)
    conf = given.value("conf", a_mapping, {})
    return SchedulingView(
        topologies=topologies,
        cluster=cluster,
        version=version,
        present=_present(given.value("existing", a_mapping, {}), cluster, book),
        load=_load(raw_input, book),
        blacklisted_hosts=frozenset(given.items("blacklisted_hosts", a_name)),
        dead_slots=frozenset(given.items("dead_slots", _dead_slot)),
        user_pools={
            user: _pool(pool) for user, pool in a_mapping(conf.get(_USER_POOLS, {}), _USER_POOLS).items()
        },
        isolated={
            topology: a_whole(machines, f"{_ISOLATED}/{topology}")
            for topology, machines in a_mapping(conf.get(_ISOLATED, {}), _ISOLATED).items()
        },
        seed=given.value("seed", a_whole, 0),
    )


class _TaskBook:
    """Finds the executor of a task, for the rows of a case that name tasks."""

    def __init__(self, topologies: Iterable[Topology], version: StormVersion) -> None:
        self._by_task = {
            topology.id: {task: each for each in executors_of(topology, version) for task in each.tasks}
            for topology in topologies
        }

    def executor(self, topology_id: str, task: Any, where: str) -> Executor:
        check_known("topology", topology_id, self._by_task, "the case", field=where)
        executor = self._by_task[topology_id].get(a_whole(task, where))
        if executor is None:
            message = f"{where} of topology {topology_id!r} names a task that belongs to no component"
            raise UserError(message, field="task", value=task)
        return executor


def _dead_slot(raw: Any, what: str) -> Slot:
    node, port = a_row(raw, 2, what, "[node, port]")
    return Slot(a_name(node, what), a_whole(port, what))


def _pool(raw: Any) -> Resources:
    cpu = an_amount(a_mapping(raw, "cpu").get("cpu", 0.0), "cpu")
    return Resources(cpu, an_amount(raw.get("memory", 0.0), "memory"))


def _identified(raw: Any, kind: str, known: Set[str], of: str = "") -> tuple[str, Fields]:
    """Return the id and the fields of a supervisor, a topology, or a component ``of`` one."""
    found = a_mapping(raw, f"{kind}{of}")
    identity = a_name(required(found, "id", f"a {kind}{of}"), f"id of a {kind}{of}")
    return identity, Fields(found, f"{kind} {identity!r}{of}", known)


def _node(raw: Any, version: StormVersion) -> Node:
    identity, given = _identified(raw, "supervisor", _NODE_KEYS)
    owner = given.owner
    offered = given.value("resources", a_mapping, {})
    defaults = Node(identity)
    memory = defaults.offer.memory_mb if version >= V2_0_0 else _MEMORY_OFFER_UNTIL_1
    return Node(
        id=identity,
        host=given.value("host", a_name, identity),
        rack=given.value("rack", a_name, DEFAULT_RACK),
        ports=given.items("ports", a_whole),
        cores=given.value("cores", a_whole, defaults.cores),
        core_mhz=given.value("mhz", an_amount, defaults.core_mhz),
        offer=Resources(
            an_amount(offered.get(_CPU_OFFER, defaults.offer.cpu_points), f"{_CPU_OFFER} of {owner}"),
            an_amount(offered.get(_MEMORY_OFFER, memory), f"{_MEMORY_OFFER} of {owner}"),
        ),
    )


def _topology(raw: Any) -> Topology:
    identity, given = _identified(raw, "topology", _TOPOLOGY_KEYS)
    topology, owner = given.raw, given.owner
    conf = dict(given.value("conf", a_mapping, {}))
    priority = a_whole(conf.pop(_PRIORITY, topology.get("priority", 29)), _PRIORITY)
    # This caps the executors at submission; a case lists the executors after that.
    conf.pop(_MAX_PARALLELISM, None)
    check_topology_settings(owner, conf)
    # A component's missing figures come from the topology's settings, then from Storm's defaults.
    defaults = default_demand(conf)
    components = a_sequence(required(topology, "components", owner), f"components of {owner}")
    return Topology(
        id=identity,
        name=given.value("name", a_name, identity),
        components=tuple(_component(component, owner, defaults) for component in components),
        workers=given.value("workers", a_whole, 1),
        ackers=given.value("ackers", a_whole_or_none, None),
        owner=given.value("owner", a_name, "") if topology.get("owner") else "",
        launch_time_s=given.value("launch", an_amount, 0.0),
        priority=priority,
        settings=conf,
    )


def _component(raw: Any, owner: str, defaults: Resources) -> Component:
    identity, given = _identified(raw, "component", _COMPONENT_KEYS, of=f" of {owner}")
    demand = None
    if given.raw.keys() & {"cpu", "mem", "offheap"}:
        demand = Resources(
            given.value("cpu", an_amount, defaults.cpu_points),
            given.value("mem", an_amount, defaults.memory_mb),
            given.value("offheap", an_amount, defaults.offheap_mb),
        )
    return Component(
        id=identity,
        executors=given.value("par", a_whole, 1),
        tasks=given.value("tasks", a_whole_or_none, None),
        inputs=tuple(_subscription(each, given.owner) for each in given.value("inputs", a_sequence, [])),
        resources=demand,
    )


def _subscription(raw: Any, owner: str) -> Subscription:
    subscription = a_mapping(raw, f"input of {owner}")
    what = f"an input of {owner}"
    given = Fields(subscription, what, _INPUT_OF_COMPONENT_KEYS)
    grouping = str(subscription.get("grouping", Grouping.SHUFFLE.value)).replace("_", "-")
    check_known("grouping", grouping, [item.value for item in Grouping], owner)
    return Subscription(
        source=a_name(required(subscription, "from", what), f"from of {what}"),
        stream=given.value("stream", a_name, "default"),
        grouping=Grouping(grouping),
        fields=given.items("fields", a_name),
    )


def _present(raw: Mapping[str, Any], cluster: Cluster, book: _TaskBook) -> Assignment:
    nodes = {node.id for node in cluster.nodes}
    pairs: list[tuple[Executor, Slot]] = []
    for topology_id, rows in raw.items():
        for row in a_sequence(rows, "existing"):
            place, port, start, end = a_row(row, 4, "existing", "[node, port, start task, end task]")
            node = a_name(place, "existing")
            executor = book.executor(topology_id, start, "the existing assignment")
            if (executor.start, executor.end) != (start, end):
                what = (
                    f"topology {topology_id!r} has no executor of these tasks; {start} is run by {executor}"
                )
                raise UserError(what, field="existing", value=[start, end])
            if node not in nodes:
                what = (
                    f"the existing assignment puts {executor} of topology {topology_id!r} on an unknown node"
                )
                raise UserError(what, field="node", value=node)
            pairs.append((executor, Slot(node, a_whole(port, "port"))))
    try:
        return Assignment.of(pairs)
    except InvalidAssignmentError as error:
        raise UserError(str(error), field="existing") from None


def _load(given: Mapping[str, Any], book: _TaskBook) -> MeasuredLoad | None:
    if not given.keys() & {"traffic", "cpu", "node_cpu"}:
        return None

    def rows(key: str, length: int, shape: str) -> Iterator[tuple[str, list[Any]]]:
        for topology_id, found in a_mapping(given.get(key, {}), key).items():
            for row in a_sequence(found, key):
                yield topology_id, a_row(row, length, key, shape)

    traffic: dict[tuple[Executor, Executor], float] = {}
    for topology_id, (source, target, rate) in rows(
        "traffic", 3, "[source task, target task, tuples per second]"
    ):
        pair = (book.executor(topology_id, source, "traffic"), book.executor(topology_id, target, "traffic"))
        traffic[pair] = traffic.get(pair, 0.0) + an_amount(rate, "traffic")
    cpu: dict[Executor, float] = {}
    for topology_id, (task, mhz) in rows("cpu", 2, "[task, MHz]"):
        executor = book.executor(topology_id, task, "cpu")
        cpu[executor] = cpu.get(executor, 0.0) + an_amount(mhz, "cpu")
    in_use = a_mapping(given.get("node_cpu", {}), "node_cpu")
    return MeasuredLoad(cpu, traffic, {node: an_amount(mhz, "node_cpu") for node, mhz in in_use.items()})
