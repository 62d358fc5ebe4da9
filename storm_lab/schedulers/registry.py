"""Lookup of policies by name.

The project's own policies are in a table here, so that they are found in a plain checkout, too. Another
package adds a policy by declaring an entry point of the group ``storm_lab.schedulers`` with the policy's
name.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from storm_lab.errors import UserError, check_known
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.parameters import parse_parameters

GROUP = "storm_lab.schedulers"
_refused = partial(UserError, field="scheduler")

_OWN = {
    "even": "storm.even:EvenScheduler",
    "default": "storm.default:DefaultScheduler",
    "isolation": "storm.isolation:IsolationScheduler",
    "ras": "storm.ras:ResourceAwareScheduler",
    "rstorm": "papers.rstorm:RStormScheduler",
    "tstorm": "papers.tstorm:TStormScheduler",
    "tstorm-initial": "papers.tstorm:TStormInitialScheduler",
    "mfstorm": "papers.mfstorm:MFStormScheduler",
    "aniello-offline": "papers.aniello:AnielloOfflineScheduler",
    "aniello-online": "papers.aniello:AnielloOnlineScheduler",
    "partition": "baselines.partition:PartitionScheduler",
    "random": "baselines.random_placement:RandomScheduler",
    "optimal": "baselines.optimal:OptimalScheduler",
}
"""The project's own policies: for each name, module and class below `storm_lab.schedulers`."""


def _known() -> dict[str, EntryPoint]:
    known = {name: EntryPoint(name, f"storm_lab.schedulers.{place}", GROUP) for name, place in _OWN.items()}
    # Two copies of a package on the path may declare the very same policy.
    outside = {(point.name, point.value): point for point in entry_points(group=GROUP)}
    for point in outside.values():
        if point.value.startswith("storm_lab."):
            continue
        other = known.setdefault(point.name, point)
        if other is not point:
            message = f"two packages provide a scheduler of this name: {other.value} and {point.value}"
            raise _refused(message, value=point.name, remedy="uninstall one of them")
    return known


def scheduler_names() -> list[str]:
    """Return the sorted names of all installed policies; `UserError` if two packages offer the same name."""
    return sorted(_known())


def scheduler_class(name: str) -> type[Scheduler[Any]]:
    """Return the policy class of that name; `UserError` if there is none or two, or it is not a scheduler."""
    known = _known()
    check_known("scheduler", name, known, "storm_lab")
    point = known[name]
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise _refused(f"{point.value} cannot be imported: {error}", value=name) from error
    if not (isinstance(found, type) and issubclass(found, Scheduler)):
        raise _refused(f"{point.value} is not a subclass of Scheduler", value=name)
    return found


def make_scheduler(name: str, parameters: Iterable[str] = ()) -> Scheduler[Any]:
    """Make the policy ``name`` with parameters given as ``key=value`` texts.

    Raises `UserError` for an unknown name or key, or a value of the wrong type or out of range.
    """
    policy = scheduler_class(name)
    return policy(parse_parameters(policy.Parameters, parameters, owner=name))
