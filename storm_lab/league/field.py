"""The field of a league: entrants by name, and all built-in policies in the role that each was made for."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from storm_lab.errors import UserError, exception_summary, shown
from storm_lab.league.entrant import Entrant
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.scheduler_file import is_file_or_module, scheduler_of, split_reference

RUNS_ON_MEASURED_LOAD: Mapping[str, bool] = {
    "default": False, "even": False, "isolation": False, "ras": False, "rstorm": False, "tstorm": True,
    "tstorm-initial": False, "mfstorm": False, "aniello-offline": False, "aniello-online": True,
    "partition": True, "random": False, "optimal": True,
}  # fmt: skip
"""Policy -> whether it runs on measured load in T-Storm's place: true for those that re-assign executors."""

BASELINE = "default"
"""Default baseline that gains are measured against."""

_NOT_IN_FILE_NAMES = "/\\:\0\n"

_LONGEST_NAME = 200
"""Longest name in bytes: file systems allow 255, and names of files add to it."""


def entrant_of(text: str) -> Entrant:
    """Make an entrant from a scheduler, as `scheduler_of` reads it; prefix ``online:`` for measured load.

    A built-in policy by its bare name plays in the role that it was made for. Raises `UserError` if there is
    no such scheduler, or it cannot be made.
    """
    online, rest = text.startswith("online:"), text.removeprefix("online:")
    scheduler = scheduler_of(rest)
    _check_file_name(scheduler.name, text)
    _check_copyable(scheduler, text)
    if is_file_or_module(rest):
        # The parameters after the class belong to the name: two settings of one class are two entrants.
        _, _, values = split_reference(rest)
        label = f"{scheduler.name}-{_label(values)}" if values else scheduler.name
    else:
        label = _label(rest)
    if not online and rest in RUNS_ON_MEASURED_LOAD:
        return Entrant(label, scheduler, RUNS_ON_MEASURED_LOAD[rest])
    name = f"{label}-online" if online else label
    _check_file_name(name, text)
    return Entrant(name, scheduler, online)


def field(own: Sequence[str], policies: Sequence[str] = tuple(RUNS_ON_MEASURED_LOAD)) -> tuple[Entrant, ...]:
    """Return the user's schedulers, then built-in policies.

    Raises `UserError` as `entrant_of` does, or if two entrants have the same name.
    """
    # A built-in policy that is also among the own schedulers takes part only once.
    entrants = [entrant_of(text) for text in dict.fromkeys((*own, *policies))]
    names = [entrant.name for entrant in entrants]
    for name in names:
        if names.count(name) > 1:
            remedy = 'write another name = "..." into your class'
            raise UserError("two entrants have this name", field="scheduler", value=name, remedy=remedy)
    return tuple(entrants)


def _check_file_name(name: str, text: str) -> None:
    """Refuse a name that cannot name the files of an entrant."""
    refused = partial(UserError, field="scheduler", value=text)
    if any(sign in name for sign in _NOT_IN_FILE_NAMES) or not name.strip(" ."):
        remedy = 'write another name = "..." into your class, with letters, digits, - and _'
        raise refused(f"{shown(name)} cannot be used as a file name", remedy=remedy)
    if len(name.encode()) > _LONGEST_NAME:
        remedy = "shorten the name of the class or the values of the parameters"
        raise refused(f"its name in the league has more than {_LONGEST_NAME} bytes", remedy=remedy)


def _check_copyable(scheduler: Scheduler[Any], text: str) -> None:
    """Refuse a scheduler that cannot be copied for each run."""
    try:
        pickle.dumps(deepcopy(scheduler))
    except Exception as error:
        reason = exception_summary(error).rpartition(" (")[0]
        message = f"it holds an object that cannot be copied for each run ({reason})"
        remedy = "create locks, files and lambdas in schedule, not in __init__"
        raise UserError(message, field="scheduler", value=text, remedy=remedy) from error


def _label(text: str) -> str:
    """Return a text as part of a file name; a parameter may be a path."""
    label = text.replace("=", "").replace(",", "-")
    for sign in _NOT_IN_FILE_NAMES:
        label = label.replace(sign, "-")
    return label
