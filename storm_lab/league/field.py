"""The field of a league: all of the project's own policies, each in the place that it was made for."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from storm_lab.errors import UserError, said_by
from storm_lab.league.entrant import Entrant
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.scheduler_file import is_place, pieces_of, scheduler_of

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

_NO_FILE_NAME = "/\\:\0\n"


def entrant_of(text: str) -> Entrant:
    """An entrant: a scheduler as `scheduler_of` takes it, with ``online:`` before it for measured load.

    A built-in policy by its bare name plays in the place that it was made for.

    Raises:
        UserError: there is no such scheduler, or it cannot be made.
    """
    online, rest = text.startswith("online:"), text.removeprefix("online:")
    scheduler = scheduler_of(rest)
    _check_travels(scheduler, text)
    if is_place(rest):
        # What follows the class are its parameters; two settings of one class are two entrants.
        _, _, values = pieces_of(rest)
        label = f"{scheduler.name}-{_plain(values)}" if values else scheduler.name
    else:
        label = _plain(rest)
        if not online and rest in BUILT_IN:
            return Entrant(label, scheduler, BUILT_IN[rest])
    return Entrant(f"{label}-online" if online else label, scheduler, online)


def field(own: Sequence[str], policies: Sequence[str] = tuple(BUILT_IN)) -> tuple[Entrant, ...]:
    """The reader's schedulers, then built-in policies; `UserError` as `entrant_of`, or two of one name."""
    # Who names a built-in policy as a scheduler of theirs does not mean it twice.
    entrants = [entrant_of(text) for text in dict.fromkeys((*own, *policies))]
    names = [entrant.name for entrant in entrants]
    for name in names:
        if names.count(name) > 1:
            remedy = 'write another name = "..." into your class'
            raise UserError("two entrants have this name", field="scheduler", value=name, remedy=remedy)
    return tuple(entrants)


def _check_travels(scheduler: Scheduler[Any], text: str) -> None:
    """Refuse what no run can be given: every run has a copy, in a process and a folder of its own."""
    if any(sign in scheduler.name for sign in _NO_FILE_NAME) or not scheduler.name.strip(" ."):
        message = f"files cannot be called {scheduler.name!r}"
        remedy = 'write another name = "..." into your class, of letters, digits, - and _'
        raise UserError(message, field="scheduler", value=text, remedy=remedy)
    try:
        pickle.dumps(deepcopy(scheduler))
    except Exception as error:
        message = f"it holds what cannot be copied for every run ({said_by(error).rpartition(' (')[0]})"
        remedy = "make locks, files and lambdas in schedule, not in __init__"
        raise UserError(message, field="scheduler", value=text, remedy=remedy) from error


def _plain(text: str) -> str:
    return text.replace(":", "-").replace("=", "").replace(",", "-")
