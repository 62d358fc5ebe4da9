"""Scenes: small runs that both real Storm and the emulator play, to compare the two.

Nodes have one core each at the clock of the machine that plays a scene, so that costs need no conversion.
Placements are fixed by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from storm_lab.emulator.control.faults import Fault, FaultPlan
from storm_lab.emulator.control.faults.commands import SetLoad
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import check_known
from storm_lab.live.suite.build import Chain, placed
from storm_lab.model import Cluster, Node, Slot, StormVersion, executors_of
from storm_lab.model.machines import LIVE
from storm_lab.schedulers.storm.default import DefaultScheduler

START_S = 25.0
"""Real Storm needs 6 to 20 s from submission to the first tuple; sources are silent until this time."""

Describe = Callable[[StormVersion, float], EmulationSpec]
"""Returns the description of a run for a version of Storm and the machine's clock in MHz."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A named run."""

    name: str
    title: str
    describe: Describe


def find_scene(name: str) -> Scene:
    """Return the scene of that name; `UserError` if there is none."""
    check_known("scene", name, SCENES, "the live runtime")
    return SCENES[name]


def scene_cluster(mhz: float) -> Cluster:
    """Return the machines of the scenes: cores of about 2020, whichever machine plays them."""
    node = Node("n1", ports=(6700, 6701), cores=1, core_mhz=mhz, memory_mb=2048.0, work_per_clock=LIVE)
    return Cluster((node, replace(node, id="n2")))


# Distances of the middle bolt of a chain from its neighbours.
HERE, NEXT_WORKER, NEXT_NODE = Slot("n1", 6700), Slot("n1", 6701), Slot("n2", 6700)
_SETTLE_S = 5.0
_RATES = (2000.0, 500.0, 50.0)
"""Tuples per second, in this order. The fastest rate is first, as code warms up by the number of calls."""
_RATE_S = 15.0
"""Duration of each rate. A chain settles for the first 5 s of it, and for 10 s of the first rate."""
_FLOOD_S = 30.0


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
    """Describe a chain of spout, bolt1 and bolt2, without costs of their own; all but bolt1 in one worker."""
    slots = (HERE,), (bolt1_at,), (HERE,)
    parts = Chain("chain", source, *slots, ackers=ackers, pending=max_spout_pending)
    plan = parts.plan(version, mhz)
    return EmulationSpec(
        cluster=scene_cluster(mhz),
        version=version,
        topologies=(plan,),
        scheduler=DefaultScheduler(),
        duration_s=duration_s,
        faults=FaultPlan(tuple(faults)),
        placement=placed(executors_of(plan.topology, version), parts.where()),
        window_s=1.0,
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
        max_spout_pending=1000 if ackers else None,
        sample_every=1000,
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
