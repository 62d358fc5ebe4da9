"""The sittings of saturated chains: floods by distance, and of one worker whose bolts do nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.suite.build import Chain, Turns, in_one, sitting_of, split
from storm_lab.live.suite.scene import C1_ONLY, Measure, Scene
from storm_lab.model import Slot, StormVersion

FLOOD = (Measure.THROUGHPUT, Measure.CPU)
FLOOD_WORK = (20.0, 20.0)
"""CPU of a call of both bolts, in us."""
_FRESH_S = 30.0
"""After so long a saturated topology is measured: up to 20 s to start, and the rest to warm up."""
_TWIN_WORK = (200.0, 0.0)
_TWINS = ("twin-a", "twin-b")
_SIDE_BY_SIDE = (
    ("capacity-one-worker", "capacity-two-workers"),
    ("unacked-one-worker", "twin-alone"),
    ("capacity-two-nodes",),
    ("twin-a", "twin-b"),
)
"""What is submitted together: two that have a node each, or are to share one."""
_BARE = ("bare-acked", "bare-unacked")
_CALLS_US = {"calls-5": 5.0, "calls-60": 60.0}


def _endless(acked: bool = True) -> SourcePlan:
    return SourcePlan(SourceKind.SATURATED, anchored=acked)


def _turns(together: Sequence[Sequence[str]]) -> tuple[Turns, dict[str, tuple[float, float]]]:
    turns = Turns(0.0)
    found: dict[str, tuple[float, float]] = {}
    for names in together:
        found |= dict.fromkeys(names, turns.flood(*names, start_s=_FRESH_S))
    return turns, found


def _sitting(
    version: StormVersion, mhz: float, chains: Sequence[Chain], together: Sequence[Sequence[str]]
) -> EmulationSpec:
    """The description of saturated chains, of which some are submitted together."""
    turns, found = _turns(together)
    submitted = [replace(chain, submit_s=found[chain.name][0] - _FRESH_S) for chain in chains]
    return sitting_of(version, mhz, submitted, turns, sample_every=1000, held=True)


def flood(version: StormVersion, mhz: float) -> EmulationSpec:
    """Saturated chains: what they can do, with and without acks and limits."""
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
    return _sitting(version, mhz, chains, _SIDE_BY_SIDE)


def _scene(name: str, topology: str, span: tuple[float, float], others: tuple[str, ...] = ()) -> Scene:
    return Scene(name, topology, *span, FLOOD, others, fresh=True)


def flood_scenes(version: StormVersion) -> tuple[Scene, ...]:
    """Scenes of `flood`."""
    found = _turns(_SIDE_BY_SIDE)[1]
    alone = [_scene(name, name, span) for name, span in found.items() if name not in _TWINS]
    return (*alone, _scene("twins-on-a-core", "twin-a", found["twin-a"], others=("twin-b",)))


def bare(version: StormVersion, mhz: float) -> EmulationSpec:
    """Saturated chains in one worker whose bolts do nothing: all that they cost is Storm's own code."""
    chains = (
        in_one(_BARE[0], _endless(), Slot("n1", 6700), pending=1000),
        in_one(_BARE[1], _endless(False), Slot("n2", 6700), ackers=0),
    )
    return _sitting(version, mhz, chains, (_BARE,))


def bare_scenes(version: StormVersion, compiler: str = "") -> tuple[Scene, ...]:
    """Scenes of `bare`; ``compiler`` ends their names, as that of a generation."""
    return tuple(_scene(f"{name}{compiler}", name, span) for name, span in _turns((_BARE,))[1].items())


def bare_c1_scenes(version: StormVersion) -> tuple[Scene, ...]:
    """Scenes of `bare` where the first compiler works alone."""
    return bare_scenes(version, C1_ONLY)


def calls(version: StormVersion, mhz: float) -> EmulationSpec:
    """Saturated chains in one worker whose bolts have short calls and long ones.

    The longer a call, the more often the next thread has fallen asleep meanwhile, and is woken for one tuple.
    """
    chains = [
        in_one(name, _endless(), Slot(node, 6700), work_us=(us, us), pending=1000)
        for node, (name, us) in zip(("n1", "n2"), _CALLS_US.items(), strict=True)
    ]
    return _sitting(version, mhz, chains, (tuple(_CALLS_US),))


def calls_scenes(version: StormVersion) -> tuple[Scene, ...]:
    """Scenes of `calls`."""
    return tuple(_scene(name, name, span) for name, span in _turns((tuple(_CALLS_US),))[1].items())
