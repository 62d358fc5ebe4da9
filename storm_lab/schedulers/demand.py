"""What executors ask for: declared resources, or Storm's defaults (1.0 and later).

CPU in points (100 = one core), memory in MB. A component's own figures win over the topology's settings,
which win over the defaults; ackers have settings of their own.
"""

from __future__ import annotations

from storm_lab.errors import UserError
from storm_lab.model import ACKER, Resources, StormVersion, Topology
from storm_lab.model.topology import DEFAULT_DEMAND

ONHEAP = "topology.component.resources.onheap.memory.mb"
OFFHEAP = "topology.component.resources.offheap.memory.mb"
CPU = "topology.component.cpu.pcore.percent"
ACKER_ONHEAP = "topology.acker.resources.onheap.memory.mb"
ACKER_OFFHEAP = "topology.acker.resources.offheap.memory.mb"
ACKER_CPU = "topology.acker.cpu.pcore.percent"
MAX_HEAP = "topology.worker.max.heap.size.mb"

DEFAULT_MAX_HEAP_MB = 768.0
_ACKER_SETTINGS_SINCE = (1, 1, 0)


def number_setting(topology: Topology, key: str, default: float) -> float:
    """A non-negative numeric setting of the topology.

    Raises:
        UserError: the value is not a number, or below zero.
    """
    value = topology.settings.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"topology {topology.id!r} needs a number here", field=key, value=value)
    if value < 0:
        raise UserError(
            f"topology {topology.id!r} must not ask for less than nothing", field=key, value=value
        )
    return float(value)


def flag_setting(topology: Topology, key: str) -> bool:
    """A setting that is true or false; false when absent.

    Raises:
        UserError: the value is neither.
    """
    value = topology.settings.get(key, False)
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise UserError(f"topology {topology.id!r} needs true or false here", field=key, value=value)


def max_worker_heap_mb(topology: Topology) -> float:
    """Heap limit of one worker process, in MB."""
    return number_setting(topology, MAX_HEAP, DEFAULT_MAX_HEAP_MB)


def demand_of(topology: Topology, component_id: str, version: StormVersion) -> Resources:
    """What one executor of the component asks for. Storm 1.0 knows no settings for ackers.

    Raises:
        UserError: the topology has no such component, or a figure is negative or no number.
    """
    cpu = number_setting(topology, CPU, DEFAULT_DEMAND.cpu_points)
    onheap = number_setting(topology, ONHEAP, DEFAULT_DEMAND.memory_mb)
    offheap = number_setting(topology, OFFHEAP, DEFAULT_DEMAND.offheap_mb)
    if component_id == ACKER and version.parts < _ACKER_SETTINGS_SINCE:
        return Resources(cpu, onheap, offheap)
    if component_id == ACKER:
        return Resources(
            cpu_points=number_setting(topology, ACKER_CPU, cpu),
            memory_mb=number_setting(topology, ACKER_ONHEAP, onheap),
            offheap_mb=number_setting(topology, ACKER_OFFHEAP, offheap),
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
