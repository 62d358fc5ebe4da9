"""The field of a league: all of the project's own policies, each in the place that it was made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from storm_lab.errors import UserError
from storm_lab.league.entrant import Entrant
from storm_lab.schedulers.registry import make_scheduler
from storm_lab.schedulers.scheduler_file import is_place, scheduler_of

BUILT_IN: Mapping[str, bool] = {
    "default": False,
    "even": False,
    "isolation": False,
    "ras": False,
    "rstorm": False,
    "tstorm": True,
    "tstorm-initial": False,
    "mfstorm": False,
    "aniello-offline": False,
    "aniello-online": True,
    "partition": True,
    "random": False,
    "optimal": True,
}
"""Policy -> whether it runs on measured load, in T-Storm's place; those that place anew what runs do."""

BASELINE = "default"
"""What gains are taken against where nobody says otherwise."""


def entrant_of(text: str) -> Entrant:
    """An entrant: a scheduler as `scheduler_of` takes it, with ``online:`` before it for measured load.

    A built-in policy by its bare name plays in the place that it was made for.

    Raises:
        UserError: there is no such scheduler, or it cannot be made.
    """
    online, rest = text.startswith("online:"), text.removeprefix("online:")
    scheduler = scheduler_of(rest)
    if is_place(rest):
        # What follows the class are its parameters; two settings of one class are two entrants.
        _, _, given = rest.partition(":")
        _, colon, values = given.partition(":") if "=" not in given.partition(":")[0] else ("", ":", given)
        label = scheduler.name + (f"-{_plain(values)}" if colon else "")
    else:
        label = _plain(rest)
        if not online and rest in BUILT_IN:
            return Entrant(label, scheduler, BUILT_IN[rest])
    return Entrant(f"{label}-online" if online else label, scheduler, online)


def field(own: Sequence[str], policies: Sequence[str] = tuple(BUILT_IN)) -> tuple[Entrant, ...]:
    """The reader's schedulers, then built-in policies.

    Raises:
        UserError: as `entrant_of`, or two of one name.
    """
    entrants = [entrant_of(text) for text in dict.fromkeys(own)]
    for name in dict.fromkeys(policies):
        entrants.append(entrant_of(name) if name not in BUILT_IN else _built_in(name))
    names = [entrant.name for entrant in entrants]
    for name in names:
        if names.count(name) > 1:
            raise UserError(
                "two entrants have this name",
                field="scheduler",
                value=name,
                remedy='write another name = "..." into your class',
            )
    return tuple(entrants)


def _built_in(name: str) -> Entrant:
    return Entrant(name, make_scheduler(name), BUILT_IN[name])


def _plain(text: str) -> str:
    return text.replace(":", "-").replace("=", "").replace(",", "-")
