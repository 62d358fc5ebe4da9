"""Views that refuse changes, for schedulers of other authors.

The emulator goes on with the same view after the answer. A scheduler that empties one of its mappings would
otherwise change the run, or fail far from its own line.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

from storm_lab.model import Assignment, MeasuredLoad, Topology
from storm_lab.schedulers.contract import SchedulingView

K = TypeVar("K")
V = TypeVar("V")


class ReadOnly(dict[K, V]):
    """A dictionary that raises `TypeError` on any change. Its copies, also in other processes, are plain."""

    def _refuse(self, *args: object, **named: object) -> NoReturn:
        raise TypeError("the view is read-only; copy a mapping before you change it")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return dict, (dict(self),)


def read_only(view: SchedulingView) -> SchedulingView:
    """Return an equal view whose mappings refuse changes."""
    load = view.load
    if load is not None:
        load = MeasuredLoad(_closed(load.cpu_mhz), _closed(load.traffic), _closed(load.node_mhz))
    found = replace(
        view,
        topologies=tuple(map(_closed_topology, view.topologies)),
        present=Assignment(_closed(view.present.slots)),
        load=load,
        user_pools=_closed(view.user_pools),
        isolated=_closed(view.isolated),
    )
    vars(found).update(
        executors=_closed(view.executors),
        nodes=_closed(view.nodes),
        topology=_closed({topology.id: topology for topology in found.topologies}),
    )
    return found


def _closed(given: Mapping[K, V]) -> Mapping[K, V]:
    # Other mappings, such as the read-only one of an assignment, cannot be changed.
    return ReadOnly(given) if type(given) is dict else given


def _closed_topology(topology: Topology) -> Topology:
    """Return a copy whose settings and outputs are read-only; it has been checked already."""
    components = []
    for component in topology.components:
        components.append(own := copy(component))
        object.__setattr__(own, "outputs", _closed(component.outputs))
    found = copy(topology)
    object.__setattr__(found, "components", tuple(components))
    object.__setattr__(found, "settings", _closed(topology.settings))
    return found
