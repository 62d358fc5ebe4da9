"""Invalid topologies, nodes, clusters and versions are refused on creation, in one line that names them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from storm_lab.errors import UserError
from storm_lab.model import Cluster, Component, Node, Resources, StormVersion, Subscription, Topology
from storm_lab.model.topology import MAX_TASKS

NAN = float("nan")
SPOUT = Component("spout")


def topology(**changes: object) -> Topology:
    return Topology("t", (SPOUT,), **changes)  # type: ignore[arg-type]


def node(**changes: object) -> Node:
    return Node("n1", **changes)  # type: ignore[arg-type]


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "executors=1.5": (
        lambda: Component("count", executors=1.5),  # type: ignore[arg-type]
        "executors = 1.5: component 'count' needs a whole number; give 0 to 100000",
    ),
    "executors=2**70": (
        lambda: Component("count", executors=2**70),
        "component 'count' needs a whole number",
    ),
    "executors=None": (
        lambda: Component("c", executors=None),
        "component 'c' needs a whole number, not None",
    ),  # type: ignore[arg-type]
    "tasks=-1": (lambda: Component("count", tasks=-1), "tasks = -1: component 'count'"),
    "__acker": (
        lambda: Component("__acker"),
        "'__acker': component '__acker' has a name that Storm reserves",
    ),
    "a stream of the ackers": (
        lambda: Component("c", outputs={"__ack_init": ()}),
        "stream = '__ack_init'",
    ),
    "an empty id": (lambda: Component(""), "id = '': a component needs a name"),
    "tick_seconds=0": (lambda: Component("c", tick_seconds=0), "tick_seconds = 0: component 'c'"),
    "tick_seconds=1e-12": (lambda: Component("c", tick_seconds=1e-12), "tick_seconds = 1e-12"),
    "a negative demand": (lambda: Resources(cpu_points=-1), "cpu_points = -1"),
    "a demand of NaN": (lambda: Resources(memory_mb=NAN), "memory_mb = nan"),
    "two components of one name": (
        lambda: Topology("t", (SPOUT, SPOUT)),
        "component = 'spout': topology 't' has",
    ),
    "an unknown source": (
        lambda: Topology("t", (SPOUT, Component("b", inputs=(Subscription("s"),)))),
        "from = 's': component 'b' cannot read from it: topology .t. has no such component",
    ),
    "too many tasks": (
        lambda: Topology("t", (Component("a", MAX_TASKS), Component("b", 1))),
        "tasks of all components = 100001",
    ),
    "message_timeout_s=0": (lambda: topology(message_timeout_s=0), "message_timeout_s = 0: topology 't'"),
    "message_timeout_s=-1": (lambda: topology(message_timeout_s=-1.0), "message_timeout_s = -1.0"),
    "message_timeout_s=NaN": (lambda: topology(message_timeout_s=NAN), "message_timeout_s = nan"),
    "message_timeout_s text": (lambda: topology(message_timeout_s="30"), "message_timeout_s = '30'"),
    "workers=0": (lambda: topology(workers=0), "workers = 0: topology 't'"),
    "workers=2**70": (lambda: topology(workers=2**70), "workers = 1180591620717411303424"),
    "ackers=-1": (lambda: topology(ackers=-1), "ackers = -1"),
    "max_spout_pending=0": (lambda: topology(max_spout_pending=0), "max_spout_pending = 0"),
    "no.such.key": (
        lambda: topology(settings={"no.such.key": 1}),
        "settings = 'no.such.key': topology 't' has no such setting with an effect here; "
        "there are: .*topology.debug",
    ),
    "a misspelt key": (
        lambda: topology(settings={"topology.debgu": True}),
        "did you mean topology.debug",
    ),
    "a key with a field": (
        lambda: topology(settings={"topology.workers": 3}),
        "has a field for this setting; give it as Topology.workers",
    ),
    "a key of the cluster": (
        lambda: topology(settings={"supervisor.monitor.frequency.secs": 3}),
        "belongs to the whole cluster; give it in the settings of the emulation",
    ),
    "a key that is not played": (
        lambda: topology(settings={"topology.disruptor.wait.timeout.millis": 10}),
        "no such setting: storm_lab does not play wait strategies of Storm 1's queues; .*there are: ",
    ),
    "a flag of another type": (
        lambda: topology(settings={"topology.debug": "perhaps"}),
        "topology.debug = 'perhaps': topology 't' needs true or false; give true or false",
    ),
    "a buffer of 1.5": (
        lambda: topology(settings={"topology.transfer.buffer.size": 1.5}),
        "topology.transfer.buffer.size = 1.5: topology 't' needs a whole number; give 1 to",
    ),
    "a setting of None": (
        lambda: topology(settings={"topology.worker.max.heap.size.mb": None}),
        "topology.worker.max.heap.size.mb: topology 't' needs a number, not None",
    ),
    "settings=None": (lambda: topology(settings=None), "settings: topology 't' needs a Mapping, not None"),
    "a key that is a number": (
        lambda: topology(settings={3: True}),
        "a key of settings = 3: topology 't' needs a text",
    ),
    "components not in a tuple": (
        lambda: Topology("t", SPOUT),  # type: ignore[arg-type]
        "components = Component.*: topology 't' needs a tuple",
    ),
    "fields as one text": (
        lambda: Component("c", outputs={"default": "word"}),  # type: ignore[dict-item]
        r"outputs\['default'\] = 'word': component 'c' needs a tuple",
    ),
    "a grouping as text": (
        lambda: Subscription("c", grouping="shuffle"),  # type: ignore[arg-type]
        "grouping = 'shuffle': a subscription to 'c' needs a Grouping; give Grouping.SHUFFLE or",
    ),
    "ports=None": (lambda: node(ports=None), "ports: node 'n1' needs a tuple, not None"),
    "offer=nan": (lambda: node(offer=NAN), "offer = nan: node 'n1' needs a Resources"),
    "nodes=None": (lambda: Cluster(None), "nodes: the cluster needs a tuple"),  # type: ignore[arg-type]
    "cores=0": (lambda: node(cores=0), "cores = 0: node 'n1' needs a whole number; give 1 to 4096"),
    "cores=1.5": (lambda: node(cores=1.5), "cores = 1.5"),
    "threads_per_core=0": (lambda: node(threads_per_core=0), "threads_per_core = 0: node 'n1'"),
    "cpu_quota=0": (lambda: node(cpu_quota=0), "cpu_quota = 0: node 'n1'.*give 0.01 to 4"),
    "more quota than cores": (lambda: node(cpu_quota=5.0), "cpu_quota = 5.0: node 'n1'"),
    "quota_period_ms=0": (lambda: node(quota_period_ms=0), "quota_period_ms = 0: node 'n1'"),
    "core_mhz=0": (lambda: node(core_mhz=0), "core_mhz = 0"),
    "memory_mb=inf": (lambda: node(memory_mb=float("inf")), "memory_mb = inf"),
    "nic_mbps=-1": (lambda: node(nic_mbps=-1), "nic_mbps = -1"),
    "work_per_clock=NaN": (
        lambda: node(work_per_clock=NAN),
        "work_per_clock = nan: node 'n1'.*give 0.1 to 10",
    ),
    "a port twice": (lambda: node(ports=(1, 2, 1)), "port = 1: node 'n1' has this port twice"),
    "a port as text": (lambda: node(ports=("6700",)), "port = '6700'"),
    "two nodes of one name": (
        lambda: Cluster((node(), node())),
        "node = 'n1': the cluster has this node twice",
    ),
    "version 99": (lambda: StormVersion.parse("99.0.0"), "storm version = '99.0.0'.*0.8.0 to 2.8"),
    "version 0.11": (lambda: StormVersion((0, 11, 0)), "storm version = '0.11.0'"),
    "version two": (lambda: StormVersion.parse("two"), "storm version = 'two'.*three numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_invalid_value_is_refused_in_one_line_that_names_owner_field_and_value(case: str) -> None:
    make, message = REFUSED[case]
    with pytest.raises(UserError, match=message) as refusal:
        make()
    assert "\n" not in str(refusal.value)


def test_numpy_numbers_are_accepted() -> None:
    count = Component("count", executors=np.int64(3), tick_seconds=np.float32(2.5))  # type: ignore[arg-type]
    assert count.task_count == 3


def test_values_that_storm_allows_are_accepted() -> None:
    assert Component("none", executors=0).task_count == 0
    topology(settings={"topology.debug": "true", "topology.worker.max.heap.size.mb": 512})
    node(ports=())
    Cluster(())
    for version in ("0.8.2", "0.9.0", "0.10.2", "1.2.4", "2.0.0", "2.8.8"):
        assert str(StormVersion.parse(version)) == version
