"""What the sources of a run's topologies say about how the run is measured."""

from __future__ import annotations

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.model import acker_count


def is_anchored(run: EmulationSpec) -> bool:
    """Return whether any of the run's tuples are tracked, so that they are acked or fail.

    Tuples of a topology without ackers are not, even if they have a message id: Storm acks them at once.
    """
    return any(
        source.anchored and acker_count(plan.topology, run.version) > 0
        for plan in run.topologies
        for source in plan.sources.values()
    )
