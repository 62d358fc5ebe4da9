"""Invalid topologies, nodes, clusters and versions are refused on creation, in one line that names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from storm_lab.errors import UserError
from storm_lab.model import Cluster, Component, Node, Resources, StormVersion, Subscription, Topology
from storm_lab.model.topology import MAX_TASKS

NAN = float("nan")
SPOUT = Component("spout")


def component(name: str, **given: Any) -> Component:
    return Component(name, **given)


def topology(**given: Any) -> Topology:
    return Topology("t", (SPOUT,), **given)


def node(**given: Any) -> Node:
    return Node("n1", **given)


REFUSED: dict[str, Callable[[], object]] = {
    "executors = 1.5: component 'count' needs a whole number; give 0 to 100000": lambda: component(
        "count", executors=1.5
    ),
    "component 'count' needs a whole number": lambda: component("count", executors=2**70),
    "component 'c' needs a whole number, not None": lambda: component("c", executors=None),
    "tasks = -1: component 'count'": lambda: component("count", tasks=-1),
    "'__acker': component '__acker' has a name that Storm reserves": lambda: Component("__acker"),
    "stream = '__ack_init'": lambda: component("c", outputs={"__ack_init": ()}),
    "id = '': a component needs a name": lambda: Component(""),
    r"id = 'a\\x00b': a component cannot have this id; give a printable text": lambda: Component("a\0b"),
    "id = '../b': a topology cannot have this id; .* without slashes": lambda: Topology("../b", (SPOUT,)),
    "id = 'a[^:]*b': a node of a cluster cannot have this id": lambda: Cluster((Node("a\\b"),)),
    "id = 'x+[^:]*': a component cannot have this id; give .* of 1 to 200": lambda: Component("x" * 201),
    "tick_seconds = 0: component 'c'": lambda: component("c", tick_seconds=0),
    "tick_seconds = 1e-12": lambda: component("c", tick_seconds=1e-12),
    "cpu_points = -1": lambda: Resources(cpu_points=-1),
    "memory_mb = nan": lambda: Resources(memory_mb=NAN),
    "component = 'spout': topology 't' has": lambda: Topology("t", (SPOUT, SPOUT)),
    "from = 's': component 'b' cannot read from it: topology .t. has no such component": lambda: Topology(
        "t", (SPOUT, Component("b", inputs=(Subscription("s"),)))
    ),
    "tasks of all components = 100001": lambda: Topology("t", (Component("a", MAX_TASKS), Component("b", 1))),
    "message_timeout_s = 0: topology 't'": lambda: topology(message_timeout_s=0),
    "message_timeout_s = -1.0": lambda: topology(message_timeout_s=-1.0),
    "message_timeout_s = nan": lambda: topology(message_timeout_s=NAN),
    "message_timeout_s = '30'": lambda: topology(message_timeout_s="30"),
    "workers = 0: topology 't'": lambda: topology(workers=0),
    "workers = 1180591620717411303424": lambda: topology(workers=2**70),
    "ackers = -1": lambda: topology(ackers=-1),
    "max_spout_pending = 0": lambda: topology(max_spout_pending=0),
    (
        "settings = 'no.such.key': topology 't' has no such setting with an effect here; "
        "there are: .*topology.debug"
    ): lambda: topology(settings={"no.such.key": 1}),
    "did you mean topology.debug": lambda: topology(settings={"topology.debgu": True}),
    "has a field for this setting; give it as Topology.workers": lambda: topology(
        settings={"topology.workers": 3}
    ),
    "belongs to the whole cluster; give it in the settings of the emulation": lambda: topology(
        settings={"supervisor.monitor.frequency.secs": 3}
    ),
    "no such setting: storm_lab does not play wait strategies of Storm 1's queues; .*there are: ": lambda: (
        topology(settings={"topology.disruptor.wait.timeout.millis": 10})
    ),
    "topology.debug = 'perhaps': topology 't' needs true or false; give true or false": lambda: topology(
        settings={"topology.debug": "perhaps"}
    ),
    "topology.transfer.buffer.size = 1.5: topology 't' needs a whole number; give 1 to": lambda: topology(
        settings={"topology.transfer.buffer.size": 1.5}
    ),
    "topology.worker.max.heap.size.mb: topology 't' needs a number, not None": lambda: topology(
        settings={"topology.worker.max.heap.size.mb": None}
    ),
    "settings: topology 't' needs a Mapping, not None": lambda: topology(settings=None),
    "a key of settings = 3: topology 't' needs a text": lambda: topology(settings={3: True}),
    "components = Component.*: topology 't' needs a tuple": lambda: Topology("t", SPOUT),
    r"outputs\['default'\] = 'word': component 'c' needs a tuple": lambda: component(
        "c", outputs={"default": "word"}
    ),
    "grouping = 'shuffle': a subscription to 'c' needs a Grouping; give Grouping.SHUFFLE or": lambda: (
        Subscription("c", grouping="shuffle")
    ),
    "ports: node 'n1' needs a tuple, not None": lambda: node(ports=None),
    "offer = nan: node 'n1' needs a Resources": lambda: node(offer=NAN),
    "nodes: the cluster needs a tuple": lambda: Cluster(None),
    "cores = 0: node 'n1' needs a whole number; give 1 to 4096": lambda: node(cores=0),
    "cores = 1.5": lambda: node(cores=1.5),
    "threads_per_core = 0: node 'n1'": lambda: node(threads_per_core=0),
    "cpu_quota = 0: node 'n1'.*give 0.01 to 4": lambda: node(cpu_quota=0),
    "cpu_quota = 5.0: node 'n1'": lambda: node(cpu_quota=5.0),
    "quota_period_ms = 0: node 'n1'": lambda: node(quota_period_ms=0),
    "core_mhz = 0": lambda: node(core_mhz=0),
    "memory_mb = inf": lambda: node(memory_mb=float("inf")),
    "nic_mbps = -1": lambda: node(nic_mbps=-1),
    "work_per_clock = nan: node 'n1'.*give 0.1 to 10": lambda: node(work_per_clock=NAN),
    "port = 1: node 'n1' has this port twice": lambda: node(ports=(1, 2, 1)),
    "port = '6700'": lambda: node(ports=("6700",)),
    "node = 'n1': the cluster has this node twice": lambda: Cluster((node(), node())),
    "storm version = '99.0.0'.*0.8.0 to 2.8": lambda: StormVersion.parse("99.0.0"),
    "storm version = '0.11.0'": lambda: StormVersion((0, 11, 0)),
    "storm version = 'two'.*three numbers": lambda: StormVersion.parse("two"),
    "storm version = 0.9: is not a version": lambda: StormVersion.parse(0.9),  # type: ignore[arg-type]
}
"""Message and what is refused with it."""


@pytest.mark.parametrize("message", REFUSED)
def test_an_invalid_value_is_refused_in_one_line_that_names_owner_field_and_value(message: str) -> None:
    with pytest.raises(UserError, match=message) as refusal:
        REFUSED[message]()
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
