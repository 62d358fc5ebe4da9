"""Sites made from imported topologies and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan
from storm_lab.errors import UserError
from storm_lab.league.reader_site import Site
from storm_lab.model import StormVersion
from storm_lab.model.machines import Machines
from storm_lab.workloads.importers.imported import Imported, Source


def imported_site(
    imported: Imported,
    machines: Machines | None = None,
    *,
    version: StormVersion | None = None,
    **conditions: Any,
) -> Site:
    """Put an imported topology on the given machines, or on those that were imported with it.

    Without a ``version``, the imported Storm version is played. ``conditions`` are further arguments of
    `Site.of`; the machines' links take precedence over costs given there. Raises `UserError` if something is
    missing, if there are no machines, or as `Site.of`.
    """
    if imported.missing:
        message, remedy = (
            f"cannot be played: {imported.missing[0]}",
            "storm-lab import lists all that is missing",
        )
        raise UserError(message, field="topology", value=imported.name, remedy=remedy)
    playable = imported.ready()
    machines = machines or imported.machines
    if machines is None:
        message = f"no machines are given for the topology {imported.name}"
        remedy = "give a machines file, or the name of a paper's cluster"
        raise UserError(message, field="machines", remedy=remedy)
    links = machines.links.given()
    if links:
        cost = conditions.get("cost", CostModel())
        conditions["cost"] = {**cost, **links} if isinstance(cost, Mapping) else replace(cost, **links)
    return Site.of(
        playable.topology,
        playable.code(),
        machines.cluster,
        sources={name: _plan(source) for name, source in playable.sources.items()},
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
