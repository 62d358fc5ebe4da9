"""The sittings of chains, from floods to the control plane; each function describes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from storm_lab.emulator.control.faults.commands import KillTopology, RebalanceTopology, SetLoad
from storm_lab.emulator.control.faults.machines import KillNode
from storm_lab.emulator.control.faults.processes import KillWorker
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.suite.build import SILENT, Chain, chains_in_turn, in_one, split
from storm_lab.live.suite.scene import Effect, Measure, Scene, Schedule
from storm_lab.model import Slot, StormVersion
from storm_lab.model.settings import FLUSH_MS, PRODUCER_BATCH, TRANSFER_BATCH, SettingValue
from storm_lab.model.version import V2_0_0

# ---- floods -----------------------------------------------------------------------------------------------

FLOOD = (Measure.THROUGHPUT, Measure.CPU)
FLOOD_WORK = (20.0, 20.0)  # CPU of a call of each bolt, in us
_FRESH_S = 30.0
"""Time from submission until a saturated topology is measured: up to 20 s to start, the rest to warm up."""
_TWIN_WORK = (200.0, 0.0)
_BARE = ("bare-acked", "bare-unacked")
_CALLS_US = {"calls-5": 5.0, "calls-60": 60.0}


def _endless(acked: bool = True) -> SourcePlan:
    return SourcePlan(SourceKind.SATURATED, anchored=acked)


def _saturated(
    version: StormVersion, mhz: float, schedule: Schedule, chains: Sequence[Chain]
) -> tuple[Schedule, EmulationSpec]:
    """Play saturated chains, each submitted early enough to be warm when it is measured."""
    times_s = [schedule.first_measured_s(chain.name) - _FRESH_S for chain in chains]
    submitted = [replace(chain, submit_s=at_s) for chain, at_s in zip(chains, times_s, strict=True)]
    return chains_in_turn(version, mhz, schedule, submitted, sample_every=1000, limit_cpu=True)


def floods(*together: Sequence[str], suffix: str = "", start_s: float = _FRESH_S) -> Schedule:
    """Flood groups of topologies in turn, ``start_s`` after their submission; there is one scene for each."""
    schedule = Schedule()
    for topologies in together:
        span = schedule.flood(*topologies, start_s=start_s)
        schedule.scenes += [Scene(f"{name}{suffix}", name, *span, FLOOD, fresh=True) for name in topologies]
    return schedule


def flood(version: StormVersion, mhz: float) -> tuple[Schedule, EmulationSpec]:
    """Describe saturated chains at their capacity, with and without acks; at last two of them on one core."""
    schedule = floods(
        ("capacity-one-worker", "capacity-two-workers"),
        ("unacked-one-worker", "twin-alone"),
        ("capacity-two-nodes",),
    )
    span = schedule.flood("twin-a", "twin-b", start_s=_FRESH_S)
    schedule.scenes.append(Scene("twins-on-a-core", "twin-a", *span, FLOOD, ("twin-b",), fresh=True))
    acked = {"work_us": FLOOD_WORK, "pending": 1000}
    twin = {"work_us": _TWIN_WORK, "pending": 100}
    chains = (
        in_one("capacity-one-worker", _endless(), Slot("n1", 6700), **acked),
        split("capacity-two-workers", _endless(), Slot("n2", 6700), Slot("n2", 6701), **acked),
        in_one("unacked-one-worker", _endless(False), Slot("n1", 6701), work_us=FLOOD_WORK, ackers=0),
        in_one("twin-alone", _endless(), Slot("n2", 6702), **twin),
        split("capacity-two-nodes", _endless(), Slot("n1", 6702), Slot("n2", 6703), **acked),
        in_one("twin-a", _endless(), Slot("n2", 6704), **twin),
        in_one("twin-b", _endless(), Slot("n2", 6705), **twin),
    )
    return _saturated(version, mhz, schedule, chains)


def bare(version: StormVersion, mhz: float, *, suffix: str = "") -> tuple[Schedule, EmulationSpec]:
    """Describe saturated chains in one worker with idle bolts; ``suffix`` ends the names of scenes."""
    chains = (
        in_one(_BARE[0], _endless(), Slot("n1", 6700), pending=1000),
        in_one(_BARE[1], _endless(False), Slot("n2", 6700), ackers=0),
    )
    return _saturated(version, mhz, floods(_BARE, suffix=suffix), chains)


def calls(version: StormVersion, mhz: float) -> tuple[Schedule, EmulationSpec]:
    """Describe saturated chains in one worker with short and long calls; the latter wake a thread each."""
    chains = [
        in_one(name, _endless(), Slot(node, 6700), work_us=(us, us), pending=1000)
        for node, (name, us) in zip(("n1", "n2"), _CALLS_US.items(), strict=True)
    ]
    return _saturated(version, mhz, floods(tuple(_CALLS_US)), chains)


_LATENCY = (Measure.P50, Measure.P95)
_ALL = (*_LATENCY, Measure.CPU)
_WAITING = (Measure.THROUGHPUT, Measure.P50)
_EARLY_S = 3.0


def _of(version: StormVersion, start_s: tuple[float, float]) -> float:
    """Return the seconds until all workers run: before 2.0, or from 2.0 on, where each worker is two JVMs."""
    return start_s[version >= V2_0_0]


def _on(node: str, *numbers: int) -> tuple[Slot, ...]:
    return tuple(Slot(node, 6700 + number) for number in numbers)


# ---- light load -------------------------------------------------------------------------------------------

_LIGHT_START_S = (32.0, 50.0)
_WARM_S, _SETTLED_S = 30.0, 3.0
"""Time until the remote path keeps up, on two cores that also compile, and until a next rate has settled."""
_DISTANCES = (("near", "one-worker"), ("next", "two-workers"), ("far", "two-nodes"))
_NEAR_AND_FAR = (
    in_one("near", SILENT, Slot("n1", 6700)),
    split("next", SILENT, *_on("n1", 1, 2)),
    split("far", SILENT, *_on("n1", 3), *_on("n2", 0)),
)


def light(version: StormVersion, mhz: float) -> tuple[Schedule, EmulationSpec]:
    """Describe chains without work of their own, near and far, at two rates, and one that is still cold."""
    schedule = Schedule(_of(version, _LIGHT_START_S))
    start, end = schedule.rate("cold", 50.0, settle_s=0.0, stretch_s=10.0)
    schedule.scenes += [
        Scene("cold-50", "cold", start, start + _EARLY_S, _LATENCY),
        Scene("warmer-50", "cold", end - _EARLY_S, end, _LATENCY),
        Scene("cold-2000", "near", schedule.now_s, schedule.now_s + _EARLY_S, _LATENCY),
    ]
    for rate, settle_s in ((2000.0, _WARM_S), (50.0, _SETTLED_S)):
        for topology, distance in _DISTANCES:
            span = schedule.rate(topology, rate, settle_s=settle_s)
            schedule.scenes.append(Scene(f"light-{rate:g}-{distance}", topology, *span, _ALL))
    (busy,) = [scene for scene in schedule.scenes if scene.name == "light-2000-one-worker"]
    spread = replace(busy, name="spread-trivial-bolt", measures=(Measure.SPREAD,), component="bolt1")
    schedule.scenes.append(spread)
    chains = (*_NEAR_AND_FAR, in_one("cold", SILENT, Slot("n2", 6701)))
    return chains_in_turn(version, mhz, schedule, chains, sample_every=10)


# ---- load, bursts, waiting --------------------------------------------------------------------------------

_LOAD_START_S = 35.0
_LOADS = ((50, 500.0), (80, 800.0), (95, 950.0), (120, 1200.0))
"""Percent of the capacity of a bolt of 1 ms, and tuples per second."""
_BURST, _BURST_EVERY_NS = 50, 100_000_000
_BURSTS = ("burst-one-worker", "burst-two-workers")
_BURST_WARM_S, _WARM_UP_S, _DRAIN_S = 12.0, 12.0, 4.0
_PERIOD_NS = 10**13
"""So long that arrivals occur only once in a run."""


def _bursts(start_s: float, end_s: float) -> SourcePlan:
    starts = np.arange(round(start_s * 1e9), round(end_s * 1e9), _BURST_EVERY_NS, dtype=np.int64)
    return SourcePlan(SourceKind.TRACE, arrivals_ns=np.repeat(starts, _BURST), arrival_period_ns=_PERIOD_NS)


def load(version: StormVersion, mhz: float) -> tuple[Schedule, EmulationSpec]:
    """Describe bursts in one topology, then in another, then a bolt of 1 ms at 50 to 120 % load."""
    schedule = Schedule(_LOAD_START_S)
    sources = []
    for name in _BURSTS:
        start = schedule.now_s + _BURST_WARM_S
        sources.append(_bursts(schedule.now_s, start + 7.0))
        schedule.scenes.append(Scene(name, name, start, start + 7.0, _ALL))
        schedule.now_s = start + 8.0
    schedule.rate("work", _LOADS[0][1], settle_s=_WARM_UP_S)
    for percent, rate in _LOADS:
        # The backlog of one load must not delay the next.
        schedule.now_s += _DRAIN_S
        span = schedule.rate("work", rate, settle_s=4.0, stretch_s=8.0)
        schedule.scenes.append(Scene(f"load-{percent}", "work", *span, FLOOD if percent > 100 else _ALL))
    chains = (
        in_one("work", SILENT, Slot("n1", 6700), work_us=(1000.0, 0.0)),
        in_one(_BURSTS[0], sources[0], Slot("n1", 6701), work_us=FLOOD_WORK),
        split(_BURSTS[1], sources[1], *_on("n1", 2, 3), work_us=FLOOD_WORK),
    )
    return chains_in_turn(version, mhz, schedule, chains, sample_every=100)


# ---- waiting for one another ------------------------------------------------------------------------------

_WAIT_START_S = 32.0
_WAIT_WARM_S = 20.0
"""One tuple at a time makes few calls, and the compiler counts calls."""
_MORE_THAN_ENOUGH = 20_000.0
_WAITERS = ("pending-1-one-worker", "pending-1-two-nodes", "pending-10-two-nodes")


def _add_wait(schedule: Schedule, name: str) -> None:
    """Add a topology that is silent until its turn, then gets more than it can process, and is killed."""
    schedule.faults.append(SetLoad(schedule.now_s, name, "spout", _MORE_THAN_ENOUGH))
    schedule.scenes.append(Scene(name, name, *schedule.flood(name, start_s=_WAIT_WARM_S), _WAITING))


def waiting(version: StormVersion, mhz: float) -> tuple[Schedule, EmulationSpec]:
    """Describe chains with more lines than they can take but few pending roots: distance is decisive."""
    schedule = Schedule(_WAIT_START_S)
    for name in _WAITERS:
        _add_wait(schedule, name)
    chains = (
        in_one(_WAITERS[0], SILENT, Slot("n1", 6700), pending=1),
        split(_WAITERS[1], SILENT, *_on("n1", 1), *_on("n2", 1), pending=1),
        split(_WAITERS[2], SILENT, *_on("n1", 2), *_on("n2", 2), pending=10),
    )
    return chains_in_turn(version, mhz, schedule, chains, sample_every=100)


# ---- batches ----------------------------------------------------------------------------------------------

_BATCHES_START_S = 35.0
_BATCHES_RATE, _BATCHES_WARM_S = 500.0, 20.0
_BATCH = 100
_BATCHES: Mapping[str, tuple[bool, Mapping[str, SettingValue]]] = {
    "batches-one-worker": (False, {PRODUCER_BATCH: _BATCH}),
    "batches-slow-flush": (False, {PRODUCER_BATCH: _BATCH, FLUSH_MS: 10}),
    "batches-two-nodes": (True, {TRANSFER_BATCH: _BATCH}),
    "batches-of-receivers": (True, {PRODUCER_BATCH: _BATCH, TRANSFER_BATCH: _BATCH}),
}
"""By scene, whether bolt1 is on another node, and the topology's settings."""


def batches(version: StormVersion, mhz: float) -> tuple[Schedule, EmulationSpec]:
    """Describe light load through queues that are filled in batches (2.x), near and far."""
    schedule = Schedule(_BATCHES_START_S)
    for name in _BATCHES:
        span = schedule.rate(name, _BATCHES_RATE, settle_s=_BATCHES_WARM_S, stretch_s=_PACKING_STRETCH_S)
        schedule.scenes.append(Scene(name, name, *span, _ALL))
    chains = [
        split(name, SILENT, *_on("n1", number), *_on("n2", number), settings=given)
        if far
        else in_one(name, SILENT, Slot("n1", 6700 + number), settings=given)
        for number, (name, (far, given)) in enumerate(_BATCHES.items())
    ]
    return chains_in_turn(version, mhz, schedule, chains, sample_every=10)


# ---- packing ----------------------------------------------------------------------------------------------

_PACKING_START_S = (25.0, 35.0)
"""Time from the submission until the workers run."""
_PACKING_WARM_S, _PACKING_STRETCH_S = 15.0, 10.0
"""With the first compiler alone: the second would keep two cores busy for half a minute with four workers."""
_PACKING_RATE = 300.0
_PACKING_WORK = (50.0, 50.0)
_WORKERS = {1: _on("n1", 0), 2: _on("n1", 1, 2), 4: _on("n1", 3, 4, 5, 6)}
_CROWD = {"crowd-one-worker": _on("n2", 0), "crowd-four-workers": _on("n2", 1, 2, 3, 4)}


def packing(version: StormVersion, mhz: float) -> tuple[Schedule, EmulationSpec]:
    """Describe the same load in one, two and four workers of a host, and many executors in one or four.

    Each topology is submitted, warmed up, measured and killed in turn: idle ones would share its cores.
    """
    few = [
        Chain(f"workers-{count}", SILENT, slots, slots, slots, slots, (4, 4, 4), _PACKING_WORK, ackers=4)
        for count, slots in _WORKERS.items()
    ]
    many = [
        Chain(name, SILENT, slots, slots, slots, slots, (1, 12, 12), _PACKING_WORK, ackers=1)
        for name, slots in _CROWD.items()
    ]
    schedule, chains = Schedule(), []
    for chain in (*few, *many):
        chains.append(replace(chain, submit_s=schedule.now_s))
        schedule.now_s += _of(version, _PACKING_START_S)
        span = schedule.rate(
            chain.name, _PACKING_RATE, stops=False, settle_s=_PACKING_WARM_S, stretch_s=_PACKING_STRETCH_S
        )
        schedule.faults.append(KillTopology(schedule.now_s, chain.name, wait_s=0.0))
        schedule.scenes.append(Scene(chain.name, chain.name, *span, _ALL))
    return chains_in_turn(version, mhz, schedule, chains, sample_every=100)


# ---- calibration ------------------------------------------------------------------------------------------

_ONE_WARM_S = 12.0
"""One worker without a remote path keeps up after this time."""
_CALIBRATING = {
    "light-2000-two-workers": ("next", 2000.0, _WARM_S),
    "light-2000-two-nodes": ("far", 2000.0, _WARM_S),
    "light-50-one-worker": ("near", 50.0, _SETTLED_S),
}
"""Scenes of `light`: the topology, its tuples per second, and how long it has had them when measured."""


def calibration(version: StormVersion, mhz: float) -> tuple[Schedule, EmulationSpec]:
    """Describe what yields a machine's constants: light load at three distances, and a wait."""
    schedule = Schedule(_of(version, _LIGHT_START_S))
    for name, (topology, rate, settle_s) in _CALIBRATING.items():
        if topology == "near":
            schedule.rate(topology, 2000.0, settle_s=_ONE_WARM_S, stretch_s=0.0)
        schedule.scenes.append(Scene(name, topology, *schedule.rate(topology, rate, settle_s=settle_s), _ALL))
    _add_wait(schedule, _WAITERS[2])
    chains = (*_NEAR_AND_FAR, split(_WAITERS[2], SILENT, *_on("n1", 4), *_on("n2", 1), pending=10))
    return chains_in_turn(version, mhz, schedule, chains, sample_every=10)


# ---- control plane ----------------------------------------------------------------------------------------

_RATE = SourcePlan(SourceKind.RATE, rate_per_s=100.0)
_READY_BY_S = 35.0
_TIME = (Measure.CONTROL,)


def control(version: StormVersion, mhz: float) -> tuple[Schedule, EmulationSpec]:
    """Describe two chains: one is rebalanced while the other loses its bolt's worker, and later its node."""
    # The node is lost after everything has recovered, and the effect is watched until the end. Storm before
    # 1.0 detects a dead worker by its heartbeat, after 30 s, and 0.9.2 loses its sender too. From 2.0 on
    # Nimbus waits 120 s for executors that it has placed, and 60 s for a supervisor. In this order its next
    # answer leaves out the lost node.
    loss_s, end_s = (68.0, 158.0) if version >= V2_0_0 else (125.0, 190.0)
    crash = "crashing", _READY_BY_S, loss_s, _TIME
    schedule = Schedule(
        end_s,
        [
            KillWorker(_READY_BY_S, "n2", 6700),
            RebalanceTopology(_READY_BY_S, "moving", workers=2, wait_s=0.0),
            KillNode(loss_s, "n2"),
        ],
        [
            Scene("worker-start", "crashing", 0.0, _READY_BY_S, _TIME, effect=Effect.READY),
            Scene("crash-relaunch", *crash, effect=Effect.RELAUNCH, slot="n2:6700"),
            Scene("crash-silence", *crash, effect=Effect.RESUME),
            Scene("rebalance-silence", "moving", _READY_BY_S, loss_s, _TIME, effect=Effect.RESUME),
            Scene("node-loss-silence", "crashing", loss_s, end_s, _TIME, effect=Effect.RESUME),
        ],
    )
    home, bolt, other = Slot("n1", 6700), Slot("n2", 6700), Slot("n1", 6701)
    chains = (
        Chain("crashing", _RATE, (home,), (bolt,), (home,)),
        Chain("moving", _RATE, (other,), (other,), (other,)),
    )
    return chains_in_turn(version, mhz, schedule, chains, sample_every=1)
