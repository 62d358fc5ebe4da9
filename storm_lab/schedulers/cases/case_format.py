"""Scheduling cases as JSON: a cluster, topologies, the present assignment, and measured load.

One case is one JSON object; ``docs/schedulers.md`` documents every key. Faulty input is refused with one line
that names the fault.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any, TypeVar

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
from storm_lab.model.topology import MAX_AMOUNT
from storm_lab.model.version import V2_0_0
from storm_lab.schedulers.contract import SchedulingView, default_demand

T = TypeVar("T")

_MOST = 1 << 63


def a_mapping(raw: Any, what: str) -> Mapping[str, Any]:
    """Check that ``raw`` is a JSON object and return it."""
    if not isinstance(raw, dict):
        raise UserError("must be a JSON object", field=what, value=raw)
    return raw


def a_sequence(raw: Any, what: str) -> list[Any]:
    """Check that ``raw`` is a JSON list and return it."""
    if not isinstance(raw, list):
        raise UserError("must be a JSON list", field=what, value=raw)
    return raw


def required(raw: Mapping[str, Any], key: str, owner: str) -> Any:
    """Return the value of a required key."""
    if key not in raw:
        raise UserError(f"{owner} needs it", field=key)
    return raw[key]


def a_name(raw: Any, what: str) -> str:
    """Return a text that is not empty; a whole number is converted to a text."""
    if isinstance(raw, bool) or not isinstance(raw, str | int) or raw == "":
        raise UserError("must be a text", field=what, value=raw if raw is not None else "null")
    text = str(raw)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(
            "contains half of a surrogate pair, which cannot be encoded", field=what, value=text
        ) from None
    return text


def a_row(raw: Any, length: int, what: str, shape: str) -> list[Any]:
    """Return a list of exactly ``length`` values; ``shape`` describes them in errors."""
    row = a_sequence(raw, what)
    if len(row) != length:
        raise UserError(f"a row must be {shape}", field=what, value=row)
    return row


def a_whole(raw: Any, what: str) -> int:
    """Return a whole number of at most 63 bits."""
    if isinstance(raw, bool) or not isinstance(raw, int | float) or raw % 1 != 0 or abs(raw) >= _MOST:
        raise UserError("must be a whole number", field=what, value=raw)
    return int(raw)


def a_whole_or_none(raw: Any, what: str) -> int | None:
    """Return a whole number, or None for None."""
    return None if raw is None else a_whole(raw, what)


def an_amount(raw: Any, what: str) -> float:
    """Return a finite number that is not negative."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise UserError("must be a number", field=what, value=raw)
    if not 0 <= raw <= MAX_AMOUNT:
        raise UserError(f"must not be negative or more than {MAX_AMOUNT:g}", field=what, value=raw)
    return float(raw)


class Fields:
    """The fields of one object in a case, which errors call ``owner``. Missing fields have defaults.

    Raises `UserError` for an unknown key, which is usually a misspelling.
    """

    def __init__(self, raw: Mapping[str, Any], owner: str, known: Set[str]) -> None:
        self.raw = raw
        self.owner = owner
        for key in raw:
            check_known("key", key, known, owner)

    def value(self, key: str, check: Callable[[Any, str], T], default: Any) -> T:
        """Return the value of a key, checked by one of the functions above."""
        return check(self.raw.get(key, default), f"{key} of {self.owner}")

    def items(self, key: str, check: Callable[[Any, str], T]) -> tuple[T, ...]:
        """Return the checked items of a list; none if there is no list."""
        return tuple(check(item, f"{key} of {self.owner}") for item in self.value(key, a_sequence, []))


_INPUT_KEYS = {
    "scheduler", "supervisors", "topologies", "existing", "conf", "traffic", "cpu", "node_cpu",
    "blacklisted_hosts", "dead_slots", "seed",
}  # fmt: skip
_TOPOLOGY_KEYS = {"id", "name", "workers", "ackers", "launch", "owner", "conf", "components", "priority"}
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
    by_task = {
        topology.id: {task: each for each in executors_of(topology, version) for task in each.tasks}
        for topology in topologies
    }
    conf = given.value("conf", a_mapping, {})
    return SchedulingView(
        topologies=topologies,
        cluster=cluster,
        version=version,
        present=_present(given.value("existing", a_mapping, {}), cluster, by_task),
        load=_load(raw_input, by_task),
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


_ByTask = Mapping[str, Mapping[int, Executor]]
"""The executor of each task, by topology."""


def _executor(by_task: _ByTask, topology_id: str, task: Any, where: str) -> Executor:
    check_known("topology", topology_id, by_task, "the case", field=where)
    executor = by_task[topology_id].get(a_whole(task, where))
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
    known = {"id", "host", "rack", "ports", "resources", "cores", "mhz"}
    identity, given = _identified(raw, "supervisor", known)
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
    known = {"id", "par", "tasks", "cpu", "mem", "offheap", "inputs"}
    identity, given = _identified(raw, "component", known, of=f" of {owner}")
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
    given = Fields(subscription, what, {"from", "grouping", "stream", "fields"})
    grouping = str(subscription.get("grouping", Grouping.SHUFFLE.value)).replace("_", "-")
    check_known("grouping", grouping, [item.value for item in Grouping], owner)
    return Subscription(
        source=a_name(required(subscription, "from", what), f"from of {what}"),
        stream=given.value("stream", a_name, "default"),
        grouping=Grouping(grouping),
        fields=given.items("fields", a_name),
    )


def _present(raw: Mapping[str, Any], cluster: Cluster, by_task: _ByTask) -> Assignment:
    nodes = {node.id for node in cluster.nodes}
    pairs: list[tuple[Executor, Slot]] = []
    for topology_id, rows in raw.items():
        for row in a_sequence(rows, "existing"):
            place, port, start, end = a_row(row, 4, "existing", "[node, port, start task, end task]")
            node = a_name(place, "existing")
            executor = _executor(by_task, topology_id, start, "the existing assignment")
            of = f"topology {topology_id!r}"
            if (executor.start, executor.end) != (start, end):
                message = f"{of} has no executor of these tasks; {start} is run by {executor}"
                raise UserError(message, field="existing", value=[start, end])
            if node not in nodes:
                message = f"the existing assignment puts {executor} of {of} on an unknown node"
                raise UserError(message, field="node", value=node)
            pairs.append((executor, Slot(node, a_whole(port, "port"))))
    try:
        return Assignment.of(pairs)
    except InvalidAssignmentError as error:
        raise UserError(str(error), field="existing") from None


def _load(given: Mapping[str, Any], by_task: _ByTask) -> MeasuredLoad | None:
    if not given.keys() & {"traffic", "cpu", "node_cpu"}:
        return None

    def rows(key: str, length: int, shape: str) -> Iterator[tuple[str, list[Any]]]:
        for topology_id, found in a_mapping(given.get(key, {}), key).items():
            for row in a_sequence(found, key):
                yield topology_id, a_row(row, length, key, shape)

    traffic: dict[tuple[Executor, Executor], float] = {}
    shape = "[source task, target task, tuples per second]"
    for topology_id, (source, target, rate) in rows("traffic", 3, shape):
        sender, receiver = (_executor(by_task, topology_id, task, "traffic") for task in (source, target))
        traffic[sender, receiver] = traffic.get((sender, receiver), 0.0) + an_amount(rate, "traffic")
    cpu: dict[Executor, float] = {}
    for topology_id, (task, mhz) in rows("cpu", 2, "[task, MHz]"):
        executor = _executor(by_task, topology_id, task, "cpu")
        cpu[executor] = cpu.get(executor, 0.0) + an_amount(mhz, "cpu")
    in_use = a_mapping(given.get("node_cpu", {}), "node_cpu")
    return MeasuredLoad(cpu, traffic, {node: an_amount(mhz, "node_cpu") for node, mhz in in_use.items()})
