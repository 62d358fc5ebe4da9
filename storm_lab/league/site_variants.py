"""Variants of a site with other load, machines, workers or costs, which advice plays for comparison."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import SourceKind
from storm_lab.errors import UserError
from storm_lab.league.reader_site import Site
from storm_lab.model import acker_count, executors_of
from storm_lab.model.constant import constants_of

MESSAGE_COSTS = ("serialise_us", "deserialise_us", "transfer_us", "receive_us", "read_us", "write_us")
"""Constants of a message's path from worker to worker."""


def check_advisable(site: Site) -> None:
    """Refuse a site for which no advice is possible.

    Advice needs a present load and tracked tuples, whose completion is known. It sets placement and faults
    itself. The `UserError` names the spout or the condition.
    """
    for name, given in (("placement", site.conditions.placement), ("faults", site.conditions.faults.faults)):
        if given:
            raise UserError("advice sets this itself", field=name, remedy="leave it out")
    for spout, source in site.plan.sources.items():
        refused = partial(UserError, field=f"source of spout {spout}")
        if source.kind is not SourceKind.RATE:
            message, remedy = "has no rate, so the present load is unknown", "give its records per second"
            raise refused(message, value=source.kind.name.lower(), remedy=remedy)
        if not source.anchored:
            message = "emits without message ids, so it is unknown when a record is complete"
            raise refused(message, value="anchored: false", remedy="give anchored: true")
    if acker_count(site.plan.topology, site.version) == 0:
        raise UserError(
            "Storm then acks records as soon as they are emitted, so it is unknown when one is complete",
            field=f"ackers of topology {site.plan.topology.id}",
            value=0,
            remedy="give at least 1",
        )
    if not present_load(site):
        raise UserError(
            "the rate is zero, so there is no present load",
            field=f"rate_per_s of {', '.join(site.plan.sources)}",
            value=0,
            remedy="give more than 0 records per second",
        )


def present_load(site: Site) -> float:
    """Return the records per second of all spouts together."""
    return sum(source.rate_per_s for source in site.plan.sources.values())


def worker_counts(site: Site) -> list[int]:
    """Return the numbers of workers worth trying: one, one per node, two per node, and the topology's own."""
    nodes = len(site.cluster.nodes)
    slots = sum(len(node.ports) for node in site.cluster.nodes)
    executors = len(executors_of(site.plan.topology, site.version))
    wanted = {1, nodes, 2 * nodes, site.plan.topology.workers}
    return sorted({min(count, slots, executors) for count in wanted})


def with_workers(site: Site, count: int) -> Site:
    """Return the site with another number of workers asked for."""
    topology = replace(site.plan.topology, workers=count)
    return replace(site, plan=replace(site.plan, topology=topology))


def with_nodes(site: Site, count: int) -> Site:
    """Return the site on only the first ``count`` nodes of the cluster."""
    return replace(site, cluster=replace(site.cluster, nodes=site.cluster.nodes[:count]))


def with_load(site: Site, factor: float) -> Site:
    """Return the site with the load of every spout multiplied by ``factor``."""
    given = site.plan.sources.items()
    sources = {name: replace(source, rate_per_s=source.rate_per_s * factor) for name, source in given}
    return replace(site, plan=replace(site.plan, sources=sources))


def with_message_costs(site: Site, factor: float) -> Site:
    """Return the site with the costs of messages between workers times ``factor``, within their ranges."""
    cost = site.conditions.cost
    values = {
        item.name: min(max(getattr(cost, item.name) * factor, item.low), item.high)
        for item in constants_of(CostModel())
        if item.name in MESSAGE_COSTS
    }
    return replace(site, conditions=replace(site.conditions, cost=replace(cost, **values)))
