"""The sittings of saturated chains: at several distances, and in one worker with bolts that do nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.live.suite.build import Chain, in_one, program_of, split
from storm_lab.live.suite.scene import Measure, Program, Scene, Schedule
from storm_lab.model import Slot, StormVersion

FLOOD = (Measure.THROUGHPUT, Measure.CPU)
FLOOD_WORK = (20.0, 20.0)
"""CPU of a call of each bolt, in us."""
_FRESH_S = 30.0
"""Time from submission until a saturated topology is measured: up to 20 s to start, the rest to warm up."""
_TWIN_WORK = (200.0, 0.0)
_BARE = ("bare-acked", "bare-unacked")
_CALLS_US = {"calls-5": 5.0, "calls-60": 60.0}


def _endless(acked: bool = True) -> SourcePlan:
    return SourcePlan(SourceKind.SATURATED, anchored=acked)


def _program(version: StormVersion, schedule: Schedule, chains: Sequence[Chain]) -> Program:
    """Return the program of saturated chains, each submitted early enough to be warm when it is measured."""
    submitted = [
        replace(chain, submit_s=schedule.first_measured_s(chain.name) - _FRESH_S) for chain in chains
    ]
    return program_of(version, schedule, submitted, sample_every=1000, limit_cpu=True)


def _floods(*together: Sequence[str], suffix: str = "") -> Schedule:
    """Flood groups of topologies in turn, each topology on a node of its own; there is one scene for each."""
    schedule = Schedule()
    for topologies in together:
        span = schedule.flood(*topologies, start_s=_FRESH_S)
        schedule.scenes += [Scene(f"{name}{suffix}", name, *span, FLOOD, fresh=True) for name in topologies]
    return schedule


def flood(version: StormVersion) -> Program:
    """Describe saturated chains, with and without acks and limits, to measure their capacity.

    The last stretch is that of two topologies on one core.
    """
    schedule = _floods(
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
    return _program(version, schedule, chains)


def bare(version: StormVersion, *, suffix: str = "") -> Program:
    """Describe saturated chains in one worker with bolts that do nothing: their cost is Storm's own code.

    ``suffix`` ends the names of the scenes.
    """
    chains = (
        in_one(_BARE[0], _endless(), Slot("n1", 6700), pending=1000),
        in_one(_BARE[1], _endless(False), Slot("n2", 6700), ackers=0),
    )
    return _program(version, _floods(_BARE, suffix=suffix), chains)


def calls(version: StormVersion) -> Program:
    """Describe saturated chains in one worker whose bolts have short calls and long ones.

    The longer a call, the more often the next thread has fallen asleep meanwhile and is woken for one tuple.
    """
    chains = [
        in_one(name, _endless(), Slot(node, 6700), work_us=(us, us), pending=1000)
        for node, (name, us) in zip(("n1", "n2"), _CALLS_US.items(), strict=True)
    ]
    return _program(version, _floods(tuple(_CALLS_US)), chains)
