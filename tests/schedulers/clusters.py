"""Generated clusters and topologies for property tests, and small builders for examples."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from storm_lab.model import (
    Assignment,
    Cluster,
    Component,
    Executor,
    MeasuredLoad,
    Node,
    Resources,
    Slot,
    StormVersion,
    Subscription,
    Topology,
)
from storm_lab.schedulers import SchedulingView, scheduler_class, scheduler_names
from storm_lab.schedulers.graph.traffic import estimated_traffic

OWN = [name for name in scheduler_names() if scheduler_class(name).__module__.startswith("storm_lab.")]
"""The project's own policies, without those that other installed packages may offer."""


def chain(
    topology_id: str, parallelism: Sequence[int], *, workers: int = 1, ackers: int | None = 0
) -> Topology:
    """A linear topology c0 -> c1 -> ... with these numbers of executors."""
    components = [
        Component(f"c{i}", executors, inputs=(Subscription(f"c{i - 1}"),) if i else ())
        for i, executors in enumerate(parallelism)
    ]
    return Topology(topology_id, tuple(components), workers=workers, ackers=ackers, name=topology_id)


def cluster(nodes: int, slots: int = 4, *, cores: int = 4, mhz: float = 2000.0, racks: int = 1) -> Cluster:
    """Equal nodes n1, n2, ..., split over racks in blocks."""
    return Cluster(
        tuple(
            Node(
                f"n{i + 1}",
                host=f"h{i + 1}",
                rack=f"rack{i * racks // nodes}",
                ports=tuple(range(6700, 6700 + slots)),
                cores=cores,
                core_mhz=mhz,
            )
            for i in range(nodes)
        )
    )


def even_load(
    topologies: Sequence[Topology], version: StormVersion, *, mhz: float = 10.0, rate: float = 10.0
) -> MeasuredLoad:
    """Every executor uses ``mhz``; every pair on a stream exchanges ``rate`` tuples per second."""
    view = SchedulingView(tuple(topologies), Cluster(()), version)
    cpu = {e: mhz for executors in view.executors.values() for e in executors}
    pairs = (pair for t in topologies for pair in estimated_traffic(t, view.executors[t.id]))
    return MeasuredLoad(cpu_mhz=cpu, traffic=dict.fromkeys(pairs, rate))


@st.composite
def topologies(draw: st.DrawFn, topology_id: str) -> Topology:
    """A small acyclic topology: each bolt reads from one or two components before it."""
    count = draw(st.integers(1, 4))
    components: list[Component] = []
    for i in range(count):
        sources = draw(st.sets(st.integers(0, i - 1), min_size=1, max_size=2)) if i else set()
        components.append(
            Component(
                f"{'spout' if i == 0 else 'bolt'}{i}",
                executors=draw(st.integers(1, 5)),
                tasks=draw(st.none() | st.integers(5, 8)),
                inputs=tuple(Subscription(components[s].id) for s in sorted(sources)),
                resources=draw(
                    st.none()
                    | st.builds(
                        Resources,
                        cpu_points=st.sampled_from([5.0, 10.0, 25.0, 60.0]),
                        memory_mb=st.sampled_from([64.0, 128.0, 256.0, 700.0]),
                    )
                ),
            )
        )
    return Topology(
        topology_id,
        tuple(components),
        workers=draw(st.integers(1, 6)),
        ackers=draw(st.none() | st.integers(0, 3)),
        name=topology_id,
        launch_time_s=draw(st.integers(0, 3)),
        priority=draw(st.sampled_from([10, 20, 29])),
    )


@st.composite
def views(draw: st.DrawFn, *, loaded: bool | None = None) -> SchedulingView:
    """A view with one to three topologies on one to six nodes, where some executors are already placed."""
    version = StormVersion.parse(draw(st.sampled_from(["0.8.2", "0.9.7", "1.0.6", "2.8.8"])))
    nodes = tuple(
        Node(
            f"node{i}",
            host=f"host{i}",
            rack=f"rack{draw(st.integers(0, 1))}",
            ports=tuple(range(6700, 6700 + draw(st.integers(0 if i else 1, 4)))),
            cores=draw(st.integers(1, 4)),
            offer=Resources(
                cpu_points=draw(st.sampled_from([100.0, 400.0])),
                memory_mb=draw(st.sampled_from([512.0, 2048.0, 4096.0])),
            ),
        )
        for i in range(draw(st.integers(1, 6)))
    )
    submitted = tuple(draw(topologies(f"topology-{i}")) for i in range(draw(st.integers(1, 3))))
    bare = SchedulingView(submitted, Cluster(nodes), version)
    present: dict[Executor, Slot] = {}
    free = list(bare.usable_slots)
    memory = {node.id: node.offer.memory_mb for node in nodes}
    cpu = {node.id: node.offer.cpu_points for node in nodes}
    for topology in submitted:
        held: list[Slot] = []
        for executor in bare.executors[topology.id]:
            if not draw(st.booleans()):
                continue
            options = [*held, *free[: 1 if len(held) < topology.workers else 0]]
            demand = bare.demand(executor)
            options = [
                s
                for s in options
                if memory[s.node] >= demand.total_memory_mb and cpu[s.node] >= demand.cpu_points
            ]
            if not options:
                continue
            slot = draw(st.sampled_from(options))
            present[executor] = slot
            memory[slot.node] -= demand.total_memory_mb
            cpu[slot.node] -= demand.cpu_points
            if slot in free:
                free.remove(slot)
                held.append(slot)
    load = None
    if loaded or (loaded is None and draw(st.booleans())):
        rate = st.sampled_from([0.0, 1.0, 3.0, 10.0])
        pairs = even_load(submitted, version).traffic
        load = MeasuredLoad(
            cpu_mhz={
                e: draw(st.sampled_from([0.0, 5.0, 100.0, 900.0]))
                for es in bare.executors.values()
                for e in es
            },
            traffic={pair: draw(rate) for pair in pairs},
        )
    own = draw(st.sets(st.sampled_from([topology.name or topology.id for topology in submitted])))
    return SchedulingView(
        submitted,
        Cluster(nodes),
        version,
        Assignment.of(present.items()),
        load,
        isolated={name: draw(st.integers(1, 3)) for name in sorted(own)},
        seed=draw(st.integers(0, 3)),
    )
