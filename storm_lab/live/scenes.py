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
class Stretch:
    """A part of a scene that is measured by itself, in seconds from the start of the run."""

    name: str
    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True)
class Scene:
    """A named run with the stretches that are measured."""

    name: str
    title: str
    describe: Describe
    stretches: tuple[Stretch, ...]


def find_scene(name: str) -> Scene:
    """The scene of that name.

    Raises:
        UserError: there is none.
    """
    if name not in SCENES:
        raise unknown_name("scene", name, SCENES, "the live runtime")
    return SCENES[name]


def scene_cluster(mhz: float, nodes: Sequence[str] = NODES) -> Cluster:
    """The machines of the scenes: cores of about 2020, whatever plays them."""
    return Cluster(
        tuple(
            Node(name, ports=PORTS, cores=1, core_mhz=mhz, memory_mb=NODE_MEMORY_MB, work_per_clock=LIVE)
            for name in nodes
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
_RATES = (2000.0, 500.0, 50.0)
_STRETCH_S = 10.0
_SETTLE_S = 5.0


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
    silent = SourcePlan(SourceKind.RATE, rate_per_s=0.0)
    steps = [SetLoad(START_S, "chain", "spout", _RATES[0])]
    steps += [
        SetLoad(stretch.from_s - _SETTLE_S, "chain", "spout", rate)
        for stretch, rate in zip(_LIGHT_STRETCHES[1:], _RATES[1:], strict=True)
    ]
    return chain(
        version,
        mhz,
        silent,
        bolt1_at,
        ackers=1,
        duration_s=_LIGHT_STRETCHES[-1].to_s,
        faults=steps,
    )


# The fastest first: code warms up by the number of calls.
_LIGHT_STRETCHES = tuple(
    Stretch(f"{rate:g}/s", start, start + _STRETCH_S)
    for rate, start in zip(
        _RATES, (START_S + 2 * _SETTLE_S + k * (_STRETCH_S + _SETTLE_S) for k in range(3)), strict=True
    )
)

_FLOOD_STRETCHES = (Stretch("flood", START_S + 3 * _SETTLE_S, START_S + 3 * _SETTLE_S + 15.0),)
_PENDING = 1000
_FLOOD_SAMPLE = 1000


def _flood(ackers: int, version: StormVersion, mhz: float) -> EmulationSpec:
    return chain(
        version,
        mhz,
        SourcePlan(SourceKind.SATURATED, anchored=ackers > 0),
        HERE,
        ackers=ackers,
        duration_s=_FLOOD_STRETCHES[-1].to_s,
        max_spout_pending=_PENDING if ackers else None,
        sample_every=_FLOOD_SAMPLE,
    )


SCENES: dict[str, Scene] = {
    scene.name: scene
    for scene in (
        Scene("light-1w", "Light load, all in one worker", partial(_light, HERE), _LIGHT_STRETCHES),
        Scene(
            "light-2w",
            "Light load, both hops between two workers of a node",
            partial(_light, NEXT_WORKER),
            _LIGHT_STRETCHES,
        ),
        Scene(
            "light-2n",
            "Light load, both hops between two nodes",
            partial(_light, NEXT_NODE),
            _LIGHT_STRETCHES,
        ),
        Scene(
            "chain-acked", "Saturated chain with acks, 1,000 pending", partial(_flood, 1), _FLOOD_STRETCHES
        ),
        Scene("chain-unacked", "Saturated chain without acks", partial(_flood, 0), _FLOOD_STRETCHES),
    )
}
"""All scenes by name."""
