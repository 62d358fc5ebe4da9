"""Topologies, traces and sources that do not fit together are refused before anything is laid out."""

from __future__ import annotations

from storm_lab.emulator.setup.trace_check import check_values
from storm_lab.emulator.source import TopologyPlan, check_source
from storm_lab.errors import UserError
from storm_lab.model import Topology
from storm_lab.model.settings import MESSAGE_TIMEOUTS, flag_of
from storm_lab.workloads.trace import WorkloadTrace


def check_plan(plan: TopologyPlan) -> None:
    """Refuse a plan whose sources do not fit its topology.

    Raises:
        UserError: names the spout or the setting.
    """
    spouts = {c.id for c in plan.topology.spouts}
    for spout in sorted(spouts - set(plan.sources)):
        raise UserError(
            f"spout {spout!r} of topology {plan.topology.id!r} has no source",
            field="sources",
            remedy="give it a SourcePlan",
        )
    for name, source in plan.sources.items():
        if name not in spouts:
            raise UserError(
                f"topology {plan.topology.id!r} has no spout {name!r}",
                field="sources",
                value=name,
                remedy="name one of its spouts",
            )
        check_source(name, source)
        if name not in plan.trace.sources or len(plan.trace.sources[name]) == 0:
            raise UserError(
                f"the workload trace has no lines for spout {name!r}",
                field="trace",
                remedy="build the trace with input for every spout",
            )
    if not spouts:
        raise UserError(
            f"topology {plan.topology.id!r} has no spout",
            field="components",
            remedy="add a component without inputs",
        )
    logs = [name for name, source in sorted(plan.sources.items()) if source.checkpoint_ns > 0]
    if logs and plan.topology.ackers == 0:
        raise UserError(
            f"spout {logs[0]!r} of topology {plan.topology.id!r} reads a log, and nobody acks its lines",
            field="ackers",
            value=0,
            remedy="give the topology ackers, or set checkpoint_ns to 0",
        )
    if not flag_of(plan.topology.settings, MESSAGE_TIMEOUTS, True):
        raise UserError(
            f"time-outs of topology {plan.topology.id!r} are switched off, which is not played",
            field=MESSAGE_TIMEOUTS,
            value=False,
            remedy="leave them on and give a message time-out longer than the run: then none is reached",
        )
    check_values(plan.topology, plan.trace)


def check_trace(topology: Topology, trace: WorkloadTrace) -> None:
    """Refuse a trace that was made for another topology.

    Raises:
        UserError: names the stream that the topology does not have.
    """
    known = {c.id for c in topology.components}
    for component, stream in trace.streams:
        if component not in known:
            raise UserError(
                f"the trace emits on {stream!r} of {component!r}, unknown to topology {topology.id!r}",
                field="trace",
                value=component,
                remedy="build the trace with this topology",
            )
