"""All that is known of a run that real Storm has played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from storm_lab.emulator.control.decision_log import Decision
from storm_lab.emulator.source import TopologyPlan
from storm_lab.live.sampler import Sample
from storm_lab.model import Assignment, Cluster, StormVersion


@dataclass(frozen=True, slots=True)
class LiveRecords:
    """The records of a run. Times are CLOCK_MONOTONIC, in ns.

    Args:
        version: the release of Storm.
        cluster: its nodes.
        plans: the topologies.
        folders: by topology id, the folder with what its workers have written.
        origin_ns: start of the run.
        end_ns: its end; later rows are left out.
        sample_every: the executions of one root tuple in this many were logged.
        samples: what was seen of the machine.
        assignments: what Nimbus had decided from when on, ascending.
        supervisors: node id by Storm's id of its supervisor.
        decisions: what the control plane and the user did, on the run's own clock.
    """

    version: StormVersion
    cluster: Cluster
    plans: tuple[TopologyPlan, ...]
    folders: Mapping[str, Path]
    origin_ns: int
    end_ns: int
    sample_every: int
    samples: Sequence[Sample]
    assignments: Sequence[tuple[int, Assignment]]
    supervisors: Mapping[str, str]
    decisions: Sequence[Decision]

    @property
    def duration_ns(self) -> int:
        """Length of the run."""
        return self.end_ns - self.origin_ns
