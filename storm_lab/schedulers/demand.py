"""What executors ask for: declared resources, or Storm's defaults (1.0 and later).

CPU in points (100 = one core), memory in MB. A component's own figures win over the topology's settings,
which win over the defaults; ackers have settings of their own.
"""

from __future__ import annotations

from storm_lab.errors import UserError
from storm_lab.model import ACKER, Resources, StormVersion, Topology
from storm_lab.model.settings import (
    ACKER_CPU,
    ACKER_OFFHEAP,
    ACKER_ONHEAP,
    CPU,
    MAX_HEAP,
    OFFHEAP,
    ONHEAP,
    number_of,
)
from storm_lab.model.topology import DEFAULT_DEMAND

DEFAULT_MAX_HEAP_MB = 768.0
_ACKER_SETTINGS_SINCE = (1, 1, 0)


def max_worker_heap_mb(topology: Topology) -> float:
    """Heap limit of one worker process, in MB."""
    return number_of(topology.settings, MAX_HEAP, DEFAULT_MAX_HEAP_MB)


def demand_of(topology: Topology, component_id: str, version: StormVersion) -> Resources:
    """What one executor of the component asks for. Storm 1.0 knows no settings for ackers.

    Raises:
        UserError: the topology has no such component.
    """
    cpu = number_of(topology.settings, CPU, DEFAULT_DEMAND.cpu_points)
    onheap = number_of(topology.settings, ONHEAP, DEFAULT_DEMAND.memory_mb)
    offheap = number_of(topology.settings, OFFHEAP, DEFAULT_DEMAND.offheap_mb)
    if component_id == ACKER and version.parts < _ACKER_SETTINGS_SINCE:
        return Resources(cpu, onheap, offheap)
    if component_id == ACKER:
        return Resources(
            cpu_points=number_of(topology.settings, ACKER_CPU, cpu),
            memory_mb=number_of(topology.settings, ACKER_ONHEAP, onheap),
            offheap_mb=number_of(topology.settings, ACKER_OFFHEAP, offheap),
        )
    try:
        declared = topology.component(component_id).resources
    except KeyError:
        raise UserError(
            f"an executor of topology {topology.id!r} belongs to a component that the topology does not have",
            field="component",
            value=component_id,
        ) from None
    return Resources(cpu, onheap, offheap) if declared is None else declared
