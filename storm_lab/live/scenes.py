"""Scenes: small runs that real Storm and the emulator both play, to see how far they agree.

A scene describes itself, as an experiment does; who plays it is not its business. Nodes have one core each at
the clock of the machine that plays it, so that costs need no conversion. Placements are fixed by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from storm_lab.emulator.control.faults import Fault, FaultPlan
from storm_lab.emulator.control.faults.load import SetLoad
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import unknown_name
from storm_lab.model import (
    ACKER,
    Assignment,
    Cluster,
    Component,
    Executor,
    Node,
    Slot,
    StormVersion,
    Subscription,
    Topology,
    executors_of,
)
from storm_lab.model.machines import LIVE
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.throughput import CountById, EmitRandomTexts, Identity
from storm_lab.workloads.usercode import Bolt, Spout

NODES = ("n1", "n2")
PORTS = (6700, 6701)
NODE_MEMORY_MB = 2048.0

START_S = 25.0
"""Real Storm needs 6 to 20 s from submission to the first tuple; sources are silent for so long."""

_WINDOW_S = 1.0
_TEXT = 40
"""Characters of a tuple's text: with its id about 60 bytes, as in the measurements that the scenes repeat."""

Describe = Callable[[StormVersion, float], EmulationSpec]
"""Version of Storm and clock of the machine in MHz to the description of a run."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A named run."""

    name: str
    title: str
    describe: Describe


def find_scene(name: str) -> Scene:
    """The scene of that name; `UserError` if there is none."""
    if name not in SCENES:
        raise unknown_name("scene", name, SCENES, "the live runtime")
    return SCENES[name]


def scene_cluster(mhz: float) -> Cluster:
    """The machines of the scenes: cores of about 2020, whatever plays them."""
    return Cluster(
        tuple(
            Node(name, ports=PORTS, cores=1, core_mhz=mhz, memory_mb=NODE_MEMORY_MB, work_per_clock=LIVE)
            for name in NODES
        )
    )


def placed(executors: Sequence[Executor], where: Mapping[str, Sequence[Slot]]) -> Assignment:
    """Executors of each component dealt to its slots in turn."""
    dealt: dict[str, int] = {}
    pairs = []
    for executor in executors:
        slots = where[executor.component]
        turn = dealt.get(executor.component, 0)
        dealt[executor.component] = turn + 1
        pairs.append((executor, slots[turn % len(slots)]))
    return Assignment.of(pairs)


# How far the middle bolt of a chain is from its neighbours.
HERE, NEXT_WORKER, NEXT_NODE = Slot("n1", 6700), Slot("n1", 6701), Slot("n2", 6700)
_SETTLE_S = 5.0
_RATES = (2000.0, 500.0, 50.0)
"""Tuples a second, one rate after another. The fastest first: code warms up by the number of calls."""
_RATE_S = 15.0
"""How long each rate lasts; of it a chain settles for the first 5 s, and the first time for 10 s."""
_FLOOD_S = 30.0
_PENDING = 1000
_FLOOD_SAMPLE = 1000


def chain(
    version: StormVersion,
    mhz: float,
    source: SourcePlan,
    bolt1_at: Slot,
    *,
    ackers: int,
    duration_s: float,
    faults: Sequence[Fault] = (),
    max_spout_pending: int | None = None,
    sample_every: int = 1,
) -> EmulationSpec:
    """Spout, bolt1 and bolt2, an executor each, without costs of their own; all but bolt1 in one worker."""
    topology = Topology(
        "chain",
        (
            Component("spout", outputs={"default": ("id", "text")}),
            Component("bolt1", inputs=(Subscription("spout"),), outputs={"default": ("id", "text")}),
            Component("bolt2", inputs=(Subscription("bolt1"),)),
        ),
        workers=1 if bolt1_at == HERE else 2,
        ackers=ackers,
        max_spout_pending=max_spout_pending,
    )
    code: dict[str, Spout | Bolt] = {
        "spout": EmitRandomTexts(100, _TEXT, 1),
        "bolt1": Identity(),
        "bolt2": CountById(),
    }
    trace = build_trace(topology, code, version, reference_mhz=mhz)
    where = {"spout": [HERE], "bolt1": [bolt1_at], "bolt2": [HERE], ACKER: [HERE]}
    return EmulationSpec(
        cluster=scene_cluster(mhz),
        version=version,
        topologies=(TopologyPlan(topology, trace, {"spout": source}),),
        scheduler=DefaultScheduler(),
        duration_s=duration_s,
        faults=FaultPlan(tuple(faults)),
        placement=placed(executors_of(topology, version), where),
        window_s=_WINDOW_S,
        sample_every=sample_every,
        warm_up_s=START_S + _SETTLE_S,
    )


def _light(bolt1_at: Slot, version: StormVersion, mhz: float) -> EmulationSpec:
    starts_s = (START_S, START_S + _SETTLE_S + _RATE_S, START_S + _SETTLE_S + 2 * _RATE_S)
    return chain(
        version,
        mhz,
        SourcePlan(SourceKind.RATE, rate_per_s=0.0),
        bolt1_at,
        ackers=1,
        duration_s=starts_s[-1] + _RATE_S,
        faults=[SetLoad(at_s, "chain", "spout", rate) for at_s, rate in zip(starts_s, _RATES, strict=True)],
    )


def _flood(ackers: int, version: StormVersion, mhz: float) -> EmulationSpec:
    return chain(
        version,
        mhz,
        SourcePlan(SourceKind.SATURATED, anchored=ackers > 0),
        HERE,
        ackers=ackers,
        duration_s=START_S + _FLOOD_S,
        max_spout_pending=_PENDING if ackers else None,
        sample_every=_FLOOD_SAMPLE,
    )


SCENES: dict[str, Scene] = {
    scene.name: scene
    for scene in (
        Scene("light-1w", "Light load, all in one worker", partial(_light, HERE)),
        Scene(
            "light-2w", "Light load, both hops between two workers of a node", partial(_light, NEXT_WORKER)
        ),
        Scene("light-2n", "Light load, both hops between two nodes", partial(_light, NEXT_NODE)),
        Scene("chain-acked", "Saturated chain with acks, 1,000 pending", partial(_flood, 1)),
        Scene("chain-unacked", "Saturated chain without acks", partial(_flood, 0)),
    )
}
"""All scenes by name."""
