"""Scenes of the suite: a stretch of a sitting, its measures, and the half to which it belongs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from storm_lab.emulator.control.faults import Fault
from storm_lab.emulator.control.faults.commands import KillTopology, SetLoad
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.model import StormVersion


class Measure(Enum):
    """A quantity of a scene that both runtimes record in the tuple log.

    ``THROUGHPUT``: tuples per second that the sinks execute; only for scenes that nothing but the topology
    itself limits. ``CPU``: CPU of the topology's workers per tuple of its sinks, in us, without the JVM's
    compiler. ``P50`` and ``P95``: percentiles of the complete latency of root tuples emitted in the stretch,
    in ms. ``SPREAD``: p95 over p50 of the time inside ``execute``. ``CONTROL``: seconds from a cause to its
    effect.
    """

    THROUGHPUT = "throughput"
    CPU = "cpu"
    P50 = "p50"
    P95 = "p95"
    SPREAD = "spread"
    CONTROL = "control"


class Half(Enum):
    """Whether a scene may be used to calibrate a machine, or is predicted."""

    CALIBRATES = "calibrates"
    PREDICTED = "predicted"


class Effect(Enum):
    """The event that ends the time measured by a control scene.

    ``READY``: all executors of the topology run and its first root tuple is acked. ``RELAUNCH``: a worker
    starts in the slot of the one that was killed. ``RESUME``: a sink executes again, in any worker.
    """

    READY = "ready"
    RELAUNCH = "relaunch"
    RESUME = "resume"


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene of a sitting.

    Args:
        name: of the scene, without the version of Storm.
        topology: the topology that is measured.
        from_s: start of the stretch, in seconds from the start of the sitting.
        to_s: its end.
        measures: the quantities that are measured.
        others: topologies whose tuples are counted together with it.
        component: the component whose calls give the spread of service times.
        effect: the event that ends the time of a control scene, which begins at ``from_s``.
        slot: the slot of the worker that is killed, as ``node:port``.
        fresh: its topologies are saturated from their start on. Its seconds are compared by the age of the
            workers, whose code is still warming up.
    """

    name: str
    topology: str
    from_s: float
    to_s: float
    measures: tuple[Measure, ...]
    others: tuple[str, ...] = ()
    component: str = ""
    effect: Effect | None = None
    slot: str = ""
    fresh: bool = False

    def earlier(self, seconds: int) -> Scene:
        """Return the same scene with its stretch moved earlier by ``seconds``."""
        return replace(self, from_s=self.from_s - seconds, to_s=self.to_s - seconds)

    @property
    def topologies(self) -> tuple[str, ...]:
        """All topologies that are measured."""
        return (self.topology, *self.others)


_FLOOD_S = 10.0


@dataclass
class Schedule:
    """The stretches of a sitting, one after another: the events that begin and end them, and their scenes."""

    now_s: float = 0.0
    faults: list[Fault] = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)

    def rate(
        self, topology: str, rate: float, *, stops: bool = True, settle_s: float = 3.0, stretch_s: float = 7.0
    ) -> tuple[float, float]:
        """Let a topology have ``rate`` tuples a second; returns the stretch that is measured."""
        start, end = self.now_s + settle_s, self.now_s + settle_s + stretch_s
        self.faults.append(SetLoad(self.now_s, topology, "spout", rate))
        if stops:
            self.faults.append(SetLoad(end, topology, "spout", 0.0))
        self.now_s = end + (1.0 if stops else 0.0)
        return start, end

    def flood(self, *topologies: str, start_s: float) -> tuple[float, float]:
        """Measure topologies that are saturated from now on, then kill them.

        Returns the stretch, whose start is rounded up to a multiple of 10 s.
        """
        start = math.ceil((self.now_s + start_s) / _FLOOD_S) * _FLOOD_S
        end = start + _FLOOD_S
        self.faults += [KillTopology(end, topology, wait_s=0.0) for topology in topologies]
        self.now_s = end
        return start, end

    def first_measured_s(self, topology: str) -> float:
        """Return when a topology is first measured."""
        return next(scene.from_s for scene in self.scenes if topology in scene.topologies)


@dataclass(frozen=True, slots=True)
class Sitting:
    """One description with its scenes. Variants that are compared are in the same sitting.

    Args:
        name: of the sitting.
        title: its subject.
        play: returns its stretches with their scenes, and its description, for a version of Storm and the
            clock of the machine in MHz. The scenes are the same for every clock.
        generations: the versions on which it can be played, as accepted by `find_release`. The suite plays it
            on the first one; on the others it is played on request.
        orderings: pairs of scenes that compare placements, each with the measure that decides.
        limit_cpu: nodes are limited to their share of the machine by quotas; otherwise each may use all of
            it.
        pinned: each node has a core of the machine to itself.
        c1_only: workers' JVMs use HotSpot's first compiler (C1) but not the second: their code is slower, and
            settled within seconds.
        in_suite: whether it is part of the suite.
    """

    name: str
    title: str
    play: Callable[[StormVersion, float], tuple[Schedule, EmulationSpec]]
    generations: tuple[str, ...]
    orderings: tuple[tuple[Measure, str, str], ...] = ()
    limit_cpu: bool = False
    pinned: bool = False
    c1_only: bool = False
    in_suite: bool = True

    def describe(self, version: StormVersion, mhz: float) -> EmulationSpec:
        """Return its description, for a version of Storm and the clock of the machine in MHz."""
        return self.play(version, mhz)[1]

    def scenes(self, version: StormVersion) -> tuple[Scene, ...]:
        """Return its scenes, for a version."""
        return tuple(self.play(version, 1000.0)[0].scenes)

    def code_of(self, generation: str) -> str:
        """Return the name of a machine's constants for the code that its workers run."""
        return f"{generation}{C1_ONLY}" if self.c1_only else generation


C1_ONLY = "-c1"
"""Suffix of a generation of Storm whose code only the first compiler has compiled."""


def half_of(scene: str) -> Half:
    """Return the half of a scene, by its name alone and so the same for all versions of Storm.

    The rule was fixed before anything was compared: SHA-256 of the name; an even first byte calibrates.
    """
    even = hashlib.sha256(scene.encode()).digest()[0] % 2 == 0
    return Half.CALIBRATES if even else Half.PREDICTED
