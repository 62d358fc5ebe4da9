"""Imported topologies and machines as a site of the reader's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan
from storm_lab.errors import UserError
from storm_lab.league.reader_site import Site
from storm_lab.model import StormVersion
from storm_lab.model.machines import Links, Machines
from storm_lab.workloads.importers.imported import Imported, Playable, Source


def source_plans(playable: Playable) -> dict[str, SourcePlan]:
    """The sources of an imported topology, as the emulator plays them."""
    return {name: _plan(source) for name, source in playable.sources.items()}


def cost_model(links: Links) -> CostModel:
    """The cost model with what lies between the machines."""
    return replace(CostModel(), **links.given())


def imported_site(
    imported: Imported,
    machines: Machines | None = None,
    *,
    version: StormVersion | None = None,
    **conditions: Any,
) -> Site:
    """An imported topology on machines: those given, or those that were read with it.

    Args:
        imported: what came of an import.
        machines: where it runs.
        version: the Storm version that is played; None: the one that was read.
        conditions: what `Site.of` takes beside; the machines' own links come before the costs given.

    Raises:
        UserError: something is missing, there are no machines, or as `Site.of`.
    """
    playable = imported.ready()
    machines = machines or imported.machines
    if machines is None:
        remedy = "give a machines file"
        raise UserError("no machines were read", field="machines", value=imported.name, remedy=remedy)
    links = machines.links.given()
    if links:
        cost = conditions.get("cost", CostModel())
        conditions["cost"] = {**cost, **links} if isinstance(cost, Mapping) else replace(cost, **links)
    return Site.of(
        playable.topology,
        playable.code(),
        machines.cluster,
        sources=source_plans(playable),
        version=version or playable.version,
        **conditions,
    )


def _plan(source: Source) -> SourcePlan:
    rate = source.rate_per_s
    return SourcePlan(
        SourceKind.SATURATED if rate is None else SourceKind.RATE,
        rate_per_s=rate or 0.0,
        anchored=source.anchored,
        on_fail=FailurePolicy.REPLAY if source.replays else FailurePolicy.FORGET,
    )
