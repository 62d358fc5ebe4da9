"""The sittings of chains: light load, saturation, load, packing."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from storm_lab.emulator.control.faults.commands import KillTopology
from storm_lab.emulator.control.faults.load import SetLoad
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.suite.build import SILENT, Chain, Turns, sitting_of
from storm_lab.live.suite.scene import Measure, Scene
from storm_lab.model import Slot, StormVersion
from storm_lab.model.version import V2_0_0

_ALL = (Measure.P50, Measure.P95, Measure.CPU)
_FLOOD = (Measure.THROUGHPUT, Measure.CPU)
_WAITING = (Measure.THROUGHPUT, Measure.P50)
_EARLY_S = 3.0
_FRESH_S = 30.0
"""After so long a saturated topology is measured: up to 20 s to start, and the rest to warm up."""


class Start(NamedTuple):
    """After so many seconds all workers run: before 2.0, and from then on, where each is two JVMs."""

    before_2: float
    from_2: float

    def of(self, version: StormVersion) -> float:
        """The one that holds for a version."""
        return self.from_2 if version >= V2_0_0 else self.before_2


def _on(node: str, *numbers: int) -> tuple[Slot, ...]:
    return tuple(Slot(node, 6700 + number) for number in numbers)


def _one(name: str, source: SourcePlan, node: str, number: int, **more: object) -> Chain:
    slots = _on(node, number)
    return Chain(name, source, slots, slots, slots, **more)  # type: ignore[arg-type]


def _split(name: str, source: SourcePlan, here: Slot, there: Slot, **more: object) -> Chain:
    """bolt1 elsewhere, so that both hops are remote."""
    return Chain(name, source, (here,), (there,), (here,), **more)  # type: ignore[arg-type]


# ---- light load -------------------------------------------------------------------------------------------

_LIGHT_START_S = Start(32.0, 50.0)
_LIGHT_RATES = (2000.0, 50.0)
_WARM_S, _SETTLED_S = 30.0, 3.0
"""Until code has been compiled at the first rate, and until the second has come about. Two cores that also
compile need half a minute before the remote path keeps up."""
_DISTANCES = (("near", "one-worker"), ("next", "two-workers"), ("far", "two-nodes"))


def _light_turns(version: StormVersion) -> tuple[Turns, dict[str, tuple[float, float]]]:
    turns = Turns(_LIGHT_START_S.of(version))
    found: dict[str, tuple[float, float]] = {}
    start, end = turns.rate("cold", 50.0, settle_s=0.0, stretch_s=10.0)
    found["cold-50"] = (start, start + _EARLY_S)
    found["warmer-50"] = (end - _EARLY_S, end)
    for rate in _LIGHT_RATES:
        for topology, distance in _DISTANCES:
            if (rate, topology) == (2000.0, "near"):
                found["cold-2000"] = (turns.now_s, turns.now_s + _EARLY_S)
            settle_s = _WARM_S if rate == _LIGHT_RATES[0] else _SETTLED_S
            found[f"light-{rate:g}-{distance}"] = turns.rate(topology, rate, settle_s=settle_s)
    found["spread-trivial-bolt"] = found["light-2000-one-worker"]
    return turns, found


def light(version: StormVersion, mhz: float) -> EmulationSpec:
    """Chains without work of their own, near and far, at three rates; and one that is still cold."""
    chains = (
        _one("near", SILENT, "n1", 0),
        _split("next", SILENT, *_on("n1", 1, 2)),
        _split("far", SILENT, *_on("n1", 3), *_on("n2", 0)),
        _one("cold", SILENT, "n2", 1),
    )
    return sitting_of(version, mhz, chains, _light_turns(version)[0], sample_every=10)


def light_scenes(version: StormVersion) -> tuple[Scene, ...]:
    """Scenes of `light`."""
    by_distance = {distance: topology for topology, distance in _DISTANCES}
    scenes = []
    measures: tuple[Measure, ...]
    for name, (start, end) in _light_turns(version)[1].items():
        if name.startswith("light-"):
            topology, measures = by_distance[name.split("-", 2)[2]], _ALL
        elif name.startswith("spread-"):
            scenes.append(Scene(name, "near", start, end, (Measure.SPREAD,), component="bolt1"))
            continue
        else:
            topology, measures = ("near" if name == "cold-2000" else "cold"), (Measure.P50, Measure.P95)
        scenes.append(Scene(name, topology, start, end, measures))
    return tuple(scenes)


# ---- saturation -------------------------------------------------------------------------------------------

_FLOOD_WORK = (20.0, 20.0)


def _endless(acked: bool = True) -> SourcePlan:
    return SourcePlan(SourceKind.SATURATED, anchored=acked)


_TWIN_WORK = (200.0, 0.0)
_TWINS = ("twin-a", "twin-b")
_SIDE_BY_SIDE = (
    ("capacity-one-worker", "capacity-two-workers"),
    ("unacked-one-worker", "twin-alone"),
    ("capacity-two-nodes",),
    ("twin-a", "twin-b"),
)
"""What is submitted together: two that have a node each, or are to share one."""


def _flood_chains() -> tuple[Chain, ...]:
    acked = {"work_us": _FLOOD_WORK, "pending": 1000}
    bare = {"work_us": _FLOOD_WORK, "ackers": 0}
    twin = {"work_us": _TWIN_WORK, "pending": 100}
    chains = (
        _one("capacity-one-worker", _endless(), "n1", 0, **acked),
        _split("capacity-two-workers", _endless(), Slot("n2", 6700), Slot("n2", 6701), **acked),
        _one("unacked-one-worker", _endless(False), "n1", 1, **bare),
        _one("twin-alone", _endless(), "n2", 2, **twin),
        _split("capacity-two-nodes", _endless(), Slot("n1", 6702), Slot("n2", 6703), **acked),
        _one("twin-a", _endless(), "n2", 4, **twin),
        _one("twin-b", _endless(), "n2", 5, **twin),
    )
    starts = {name: start - _FRESH_S for name, (start, _) in _flood_turns()[1].items()}
    return tuple(replace(chain, submit_s=starts[chain.name]) for chain in chains)


def _flood_turns() -> tuple[Turns, dict[str, tuple[float, float]]]:
    turns = Turns(0.0)
    found: dict[str, tuple[float, float]] = {}
    for names in _SIDE_BY_SIDE:
        found |= dict.fromkeys(names, turns.flood(*names, start_s=_FRESH_S))
    return turns, found


def flood(version: StormVersion, mhz: float) -> EmulationSpec:
    """Saturated chains: what they can do, with and without acks and limits."""
    return sitting_of(version, mhz, _flood_chains(), _flood_turns()[0], sample_every=1000, held=True)


def flood_scenes(version: StormVersion) -> tuple[Scene, ...]:
    """Scenes of `flood`."""
    found = _flood_turns()[1]
    alone = [Scene(name, name, *span, _FLOOD) for name, span in found.items() if name not in _TWINS]
    return (*alone, Scene("twins-on-a-core", "twin-a", *found["twin-a"], _FLOOD, others=("twin-b",)))


# ---- load, bursts, waiting --------------------------------------------------------------------------------

_LOAD_START_S = Start(35.0, 35.0)
_LOADS = ((50, 500.0), (80, 800.0), (95, 950.0), (120, 1200.0))
"""Percent of what a bolt of 1 ms can do, and tuples per second."""
_BURST, _BURST_EVERY_NS = 50, 100_000_000
_BURSTS = ("burst-one-worker", "burst-two-workers")
_BURST_WARM_S, _WARM_UP_S, _DRAIN_S = 12.0, 12.0, 4.0
_PERIOD_NS = 10**13
"""Arrivals come once in a run."""


def _load_turns(version: StormVersion) -> tuple[Turns, dict[str, tuple[float, float]]]:
    turns = Turns(_LOAD_START_S.of(version))
    found: dict[str, tuple[float, float]] = {}
    for name in _BURSTS:
        found[name] = (turns.now_s + _BURST_WARM_S, turns.now_s + _BURST_WARM_S + 7.0)
        turns.wait(_BURST_WARM_S + 8.0)
    turns.rate("work", _LOADS[0][1], settle_s=_WARM_UP_S)
    for percent, rate in _LOADS:
        # What one load leaves behind must not wait before the next.
        turns.wait(_DRAIN_S)
        found[f"load-{percent}"] = turns.rate("work", rate, settle_s=4.0, stretch_s=8.0)
    return turns, found


def _bursts(start_s: float, end_s: float) -> SourcePlan:
    starts = np.arange(round(start_s * 1e9), round(end_s * 1e9), _BURST_EVERY_NS, dtype=np.int64)
    return SourcePlan(SourceKind.TRACE, arrivals_ns=np.repeat(starts, _BURST), arrival_period_ns=_PERIOD_NS)


def load(version: StormVersion, mhz: float) -> EmulationSpec:
    """Bursts instead of single tuples, and a bolt of 1 ms at 50 to 120 % load."""
    turns, found = _load_turns(version)
    sources = {
        name: _bursts(start - _BURST_WARM_S, end)
        for name, (start, end) in found.items()
        if name.startswith("burst")
    }
    chains = (
        _one("work", SILENT, "n1", 0, work_us=(1000.0, 0.0)),
        _one("burst-one-worker", sources["burst-one-worker"], "n1", 1, work_us=_FLOOD_WORK),
        _split("burst-two-workers", sources["burst-two-workers"], *_on("n1", 2, 3), work_us=_FLOOD_WORK),
    )
    return sitting_of(version, mhz, chains, turns, sample_every=100)


def load_scenes(version: StormVersion) -> tuple[Scene, ...]:
    """Scenes of `load`."""
    scenes = []
    for name, (start, end) in _load_turns(version)[1].items():
        if name.startswith("burst"):
            scenes.append(Scene(name, name, start, end, _ALL))
        else:
            measures = _FLOOD if name == "load-120" else _ALL
            scenes.append(Scene(name, "work", start, end, measures))
    return tuple(scenes)


# ---- waiting for one another ------------------------------------------------------------------------------

_WAIT_START_S = Start(32.0, 32.0)
_WAIT_WARM_S = 20.0
"""One tuple at a time calls little code, and the compiler waits for calls."""
_MORE_THAN_ENOUGH = 20_000.0
_WAITERS = ("pending-1-one-worker", "pending-1-two-nodes", "pending-10-two-nodes")


def _waiting_turns(version: StormVersion) -> tuple[Turns, dict[str, tuple[float, float]]]:
    """Each topology is silent until its turn, gets more than it can do, and is killed."""
    turns = Turns(_WAIT_START_S.of(version))
    found: dict[str, tuple[float, float]] = {}
    for name in _WAITERS:
        turns.faults.append(SetLoad(turns.now_s, name, "spout", _MORE_THAN_ENOUGH))
        found[name] = turns.flood(name, start_s=_WAIT_WARM_S)
    return turns, found


def waiting(version: StormVersion, mhz: float) -> EmulationSpec:
    """Chains with more lines than they can take and few root tuples on their way: distance decides."""
    chains = (
        _one(_WAITERS[0], SILENT, "n1", 0, pending=1),
        _split(_WAITERS[1], SILENT, *_on("n1", 1), *_on("n2", 1), pending=1),
        _split(_WAITERS[2], SILENT, *_on("n1", 2), *_on("n2", 2), pending=10),
    )
    return sitting_of(version, mhz, chains, _waiting_turns(version)[0], sample_every=100)


def waiting_scenes(version: StormVersion) -> tuple[Scene, ...]:
    """Scenes of `waiting`."""
    return tuple(Scene(name, name, *span, _WAITING) for name, span in _waiting_turns(version)[1].items())


# ---- packing ----------------------------------------------------------------------------------------------

_PACKING_START_S = Start(25.0, 35.0)
"""From the submission until the workers run."""
_PACKING_WARM_S, _PACKING_STRETCH_S = 15.0, 10.0
"""Played with the first compiler alone: the second one keeps two cores busy for half a minute with the code
of four workers, and latencies before are the compilers'."""
_PACKING_RATE = 300.0
_PACKING_WORK = (50.0, 50.0)
_WORKERS = {1: _on("n1", 0), 2: _on("n1", 1, 2), 4: _on("n1", 3, 4, 5, 6)}
_CROWD = {"crowd-one-worker": _on("n2", 0), "crowd-four-workers": _on("n2", 1, 2, 3, 4)}


def _packing_turns(version: StormVersion) -> tuple[Turns, dict[str, tuple[float, float]]]:
    """Each topology is submitted, warms up, is measured and killed: idle ones would share its cores."""
    turns = Turns(0.0)
    found: dict[str, tuple[float, float]] = {}
    for name in (*(f"workers-{count}" for count in _WORKERS), *_CROWD):
        turns.wait(_PACKING_START_S.of(version))
        found[name] = turns.rate(
            name, _PACKING_RATE, stops=False, settle_s=_PACKING_WARM_S, stretch_s=_PACKING_STRETCH_S
        )
        turns.faults.append(KillTopology(turns.now_s, name, wait_s=0.0))
    return turns, found


def packing(version: StormVersion, mhz: float) -> EmulationSpec:
    """The same load in one, two and four workers of a host; many executors in one JVM and in four."""
    few = [
        Chain(f"workers-{count}", SILENT, slots, slots, slots, slots, (4, 4, 4), _PACKING_WORK, ackers=4)
        for count, slots in _WORKERS.items()
    ]
    many = [
        Chain(name, SILENT, slots, slots, slots, slots, (1, 12, 12), _PACKING_WORK, ackers=1)
        for name, slots in _CROWD.items()
    ]
    turns, found = _packing_turns(version)
    before_s = _PACKING_START_S.of(version) + _PACKING_WARM_S
    chains = [replace(chain, submit_s=found[chain.name][0] - before_s) for chain in (*few, *many)]
    return sitting_of(version, mhz, chains, turns, sample_every=100)


def packing_scenes(version: StormVersion) -> tuple[Scene, ...]:
    """Scenes of `packing`."""
    return tuple(Scene(name, name, *span, _ALL) for name, span in _packing_turns(version)[1].items())


# ---- calibration ------------------------------------------------------------------------------------------

_ONE_WARM_S = 12.0
"""One worker without a remote path keeps up after this long."""
_CALIBRATING = {
    "light-2000-two-workers": ("next", 2000.0, _WARM_S),
    "light-2000-two-nodes": ("far", 2000.0, _WARM_S),
    "light-50-one-worker": ("near", 50.0, _SETTLED_S),
}
"""Scenes of `light`: the topology, its tuples a second, and how long it has had them when it is measured."""


def _calibration_turns(version: StormVersion) -> tuple[Turns, dict[str, tuple[float, float]]]:
    turns = Turns(_LIGHT_START_S.of(version))
    found: dict[str, tuple[float, float]] = {}
    for name, (topology, rate, settle_s) in _CALIBRATING.items():
        if topology == "near":
            turns.rate(topology, 2000.0, settle_s=_ONE_WARM_S, stretch_s=0.0)
        found[name] = turns.rate(topology, rate, settle_s=settle_s)
    turns.faults.append(SetLoad(turns.now_s, _WAITERS[2], "spout", _MORE_THAN_ENOUGH))
    found[_WAITERS[2]] = turns.flood(_WAITERS[2], start_s=_WAIT_WARM_S)
    return turns, found


def calibration(version: StormVersion, mhz: float) -> EmulationSpec:
    """What tells a machine's constants: a light load over both remote ways and in one worker, and a wait."""
    chains = (
        _one("near", SILENT, "n1", 0),
        _split("next", SILENT, *_on("n1", 1, 2)),
        _split("far", SILENT, *_on("n1", 3), *_on("n2", 0)),
        _split(_WAITERS[2], SILENT, *_on("n1", 4), *_on("n2", 1), pending=10),
    )
    return sitting_of(version, mhz, chains, _calibration_turns(version)[0], sample_every=10)


def calibration_scenes(version: StormVersion) -> tuple[Scene, ...]:
    """Scenes of `calibration`."""
    found = _calibration_turns(version)[1]
    light = [Scene(name, topology, *found[name], _ALL) for name, (topology, *_) in _CALIBRATING.items()]
    return (*light, Scene(_WAITERS[2], _WAITERS[2], *found[_WAITERS[2]], _WAITING))
