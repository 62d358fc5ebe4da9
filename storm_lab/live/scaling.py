"""Smaller versions of a run, for a machine that is smaller than the cluster that the run describes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.faults.load import SetLoad
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError


def scaled(spec: EmulationSpec, *, load: float = 1.0, longest_s: float | None = None) -> EmulationSpec:
    """The run with a part of its load, and cut short.

    Hosts of a large cluster get a part of their clock on a small machine (`LiveStorm`); with the same part of
    the load, user code uses them as much as it would have. Saturated sources and closed loops go as fast as
    they are let anyway.

    Args:
        spec: the run.
        load: factor on the rates of sources and on the speed of recorded arrivals.
        longest_s: end after so many seconds; what the fault plan has later is left out.

    Raises:
        UserError: a factor or time that is not positive.
    """
    for name, value in (("load", load), ("seconds", longest_s)):
        if value is not None and not value > 0:
            raise UserError("must be positive", field=name, value=value)
    duration_s = spec.duration_s if longest_s is None else min(spec.duration_s, longest_s)
    faults = [
        replace(fault, rate_per_s=fault.rate_per_s * load) if isinstance(fault, SetLoad) else fault
        for fault in spec.faults.faults
        if fault.at_s < duration_s
    ]
    plans = tuple(
        TopologyPlan(
            plan.topology,
            plan.trace,
            {name: _scaled_source(source, load) for name, source in plan.sources.items()},
        )
        for plan in spec.topologies
    )
    return replace(
        spec,
        topologies=plans,
        faults=FaultPlan(tuple(faults)),
        duration_s=duration_s,
        warm_up_s=min(spec.warm_up_s, duration_s),
    )


def _scaled_source(source: SourcePlan, load: float) -> SourcePlan:
    if source.kind is SourceKind.RATE:
        return replace(source, rate_per_s=source.rate_per_s * load)
    if source.kind is SourceKind.TRACE and source.arrivals_ns is not None and load != 1.0:
        arrivals = np.floor(source.arrivals_ns / load).astype(np.int64)
        period = max(int(np.ceil(source.arrival_period_ns / load)), int(arrivals[-1]) + 1)
        return replace(source, arrivals_ns=arrivals, arrival_period_ns=period)
    return source
