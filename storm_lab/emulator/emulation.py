"""One run of the emulator: cluster, topologies, control plane and data plane, played to the end."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from storm_lab.emulator.control.clock import SECOND, Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane, Sampler
from storm_lab.emulator.control.decision_log import Decision, write_decisions
from storm_lab.emulator.control.nimbus import ACTOR
from storm_lab.emulator.control.times import timers_of
from storm_lab.emulator.plane import EmulationStoppedError, Plane, Stay
from storm_lab.emulator.setup.dataplane import DataPlane
from storm_lab.emulator.spec import EmulationSpec, check_spec
from storm_lab.model import Assignment, Cluster
from storm_lab.tuplelog.buffer import Recorder

Progress = Callable[[int, int], None]
"""Called with the virtual time reached and the planned end, both in nanoseconds."""

_PROGRESS_STEPS = 200
"""Most progress calls in a run: each brings the data plane up to date."""

_GC_THRESHOLD = 50_000
"""Allocations between two garbage collections. With Python's default of 700, a control plane of a thousand
workers spends a third of its time scanning the writes queued at ZooKeeper, none of which is garbage.
"""


@dataclass(frozen=True, slots=True)
class EmulationOutcome:
    """What a run leaves in memory; the measurements are in the tuple log.

    ``duration_ns`` is the virtual time reached. ``stopped`` names the limit that ended the run early, and is
    empty otherwise. ``stays`` are the executors' stays in workers, ``final`` is Nimbus's last assignment.
    """

    duration_ns: int
    stopped: str
    decisions: Sequence[Decision]
    stays: Sequence[Stay]
    final: Assignment


class Emulation:
    """A checked run that can be played once; `UserError` if its specification cannot be run."""

    def __init__(self, spec: EmulationSpec) -> None:
        check_spec(spec)
        self.spec = spec.with_defaults()

    def run(self, recorder: Recorder | None = None, on_progress: Progress | None = None) -> EmulationOutcome:
        """Play the run and write its rows; the caller opens and finishes the recorder.

        A limit that ends the run early is reported in the outcome, not raised.
        """
        spec = self.spec
        plane = Plane() if spec.control_only else DataPlane(spec, recorder)
        control = self._build_control_plane(plane)
        end_ns = ns(spec.duration_s)
        if on_progress is not None:
            _report_progress(control, end_ns, on_progress)
        stopped = ""
        try:
            with _rare_garbage_collection():
                control.clock.run_until(end_ns)
            control.plane.now()
        except EmulationStoppedError as limit:
            stopped = str(limit)
            control.log.note("emulator", "stop", "run", stopped)
        plane.finish()
        control.finish()
        if recorder is not None:
            _write_nodes(recorder, spec.cluster)
            write_decisions(recorder, control.log.entries)
        return EmulationOutcome(
            duration_ns=control.clock.now_ns,
            stopped=stopped,
            decisions=tuple(control.log.entries),
            stays=sorted(plane.stays, key=lambda stay: (stay.start_ns, stay.worker, stay.executor)),
            final=control.nimbus.present,
        )

    def _build_control_plane(self, plane: Plane) -> ControlPlane:
        """Build the control plane on a data plane, start services and faults, and submit the topologies."""
        spec = self.spec
        control = ControlPlane(
            spec.cluster,
            spec.version,
            plane,
            spec.scheduler,
            spec.migration,
            cost=spec.cost,
            times=spec.times,
            timers=timers_of(spec.version, spec.settings) if spec.timers is None else spec.timers,
            zookeeper=spec.zookeeper,
            seed=spec.seed,
            unreached=spec.unreached,
            settings=spec.settings,
        )
        sampler = Sampler(control.clock, control.plane, ns(spec.window_s))
        for service in spec.services:
            service.start(control, sampler)
        spec.faults.start(control)
        for plan in spec.topologies:
            placement = spec.placement.of_topology(plan.topology.id) if spec.placement else None
            by_hand = placement if placement and placement.slots else None
            submit = partial(control.nimbus.submit, plan.topology, by_hand)
            if plan.submit_s > 0:
                control.clock.at(ns(plan.submit_s), Rank.NIMBUS, ACTOR, submit)
            else:
                submit()
        return control


def _write_nodes(recorder: Recorder, cluster: Cluster) -> None:
    recorder.append(
        "nodes",
        {
            "node": [node.id for node in cluster.nodes],
            "rack": [node.rack for node in cluster.nodes],
            "cores": np.array([node.cores for node in cluster.nodes], np.int32),
            "core_mhz": np.array([node.core_mhz for node in cluster.nodes]),
            "memory_mb": np.array([node.memory_mb for node in cluster.nodes]),
        },
    )


def _report_progress(control: ControlPlane, end_ns: int, on_progress: Progress) -> None:
    def turn() -> None:
        # Bring the data plane up to the reported time first.
        control.plane.now()
        on_progress(control.clock.now_ns, end_ns)

    control.clock.every(max(SECOND, end_ns // _PROGRESS_STEPS), Rank.MONITOR, "progress", turn)


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Collect garbage only after `_GC_THRESHOLD` allocations within the block."""
    before = gc.get_threshold()
    gc.set_threshold(_GC_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
