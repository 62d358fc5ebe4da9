"""Read values of other programs' documents, and Storm's own settings (``topology.*``) among them.

Values that do not fit, and settings without effect on what is played, are noted with their place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from storm_lab.model.settings import CPU, OF_TOPOLOGY, OFFHEAP, ONHEAP
from storm_lab.model.topology import DEFAULT_STREAM, Grouping
from storm_lab.workloads.importers.documents import ABSENT, Notes, Part, Place
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput
from storm_lab.workloads.multilang.plan import TICK

MOST_EXECUTORS = 10_000  # most executors or tasks of one component; clusters in papers run some hundreds
_BY_NAME = {grouping.value: grouping for grouping in Grouping}


def a_text(part: Part) -> str | None:
    """Return a scalar as text; None for any other value."""
    return None if part.value is None or isinstance(part.value, dict | list) else str(part.value)


def texts(part: Part) -> tuple[str, ...]:
    """Return the texts of a list, or a single one; other members are left out."""
    items = part.value if isinstance(part.value, list) else [part]
    return tuple(text for item in items if (text := a_text(item)) is not None)


def number(part: Part) -> float | None:
    """Return a finite number, including one written as text; None for any other value."""
    if isinstance(part.value, bool) or not isinstance(part.value, int | float | str):
        return None
    try:
        value = float(part.value)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def amount(part: Part, notes: Notes, what: str, *, most: float = 1e12) -> float | None:
    """Return a number from 0 to ``most``; note any other value."""
    if part is ABSENT:
        return None
    value = number(part)
    if value is None or not 0 <= value <= most:
        notes.cannot_use(part.place, what, f"{_shown(part)} is not a number from 0 to {most:g}")
        return None
    return value


def whole(part: Part, notes: Notes, what: str, *, least: int = 0, most: int = MOST_EXECUTORS) -> int | None:
    """Return a whole number in a range; note any other value."""
    if part is ABSENT:
        return None
    value = number(part)
    if value is None or value % 1 != 0 or not least <= value <= most:
        notes.cannot_use(part.place, what, f"{_shown(part)} is not a whole number from {least} to {most}")
        return None
    return int(value)


def flag(part: Part) -> bool | None:
    """Return true or false, including those written as text; None for any other value."""
    return {"true": True, "false": False}.get(str(part.value).lower())


def _shown(part: Part) -> str:
    text = repr(part.plain())
    return text if len(text) <= 60 else f"{text[:57]}..."


def grouping_of(name: str | None, notes: Notes, place: Place) -> Grouping:
    """Return the grouping of a name in any case, with - or _; others are noted and become a shuffle."""
    plain = (name or "").lower().replace("_", "-")
    found = _BY_NAME.get(plain)
    if found is not None:
        return found
    what, why = f"the grouping {name!r}", "there is none of this name"
    if plain.startswith("custom"):
        what, why = "a custom grouping", "its choice of tasks is code that is not run"
    elif not plain:
        what, why = "a stream without a grouping", "Storm requires one"
    notes.cannot_use(place, what, f"{why}: played as a shuffle")
    return Grouping.SHUFFLE


def add_stream(part: Part, draft: Draft) -> DraftInput | None:
    """Add the input, without fields, that an entry of Flux's or storm-loadgen's streams states; return it."""
    source, target = (a_text(part.get(key)) or "" for key in ("from", "to"))
    if not source or not target:
        draft.notes.missing(part.place, "a stream", "it needs both from and to")
        return None
    if target not in draft.components:
        why = f"there is no such bolt; there are: {', '.join(list(draft.components)[:12]) or 'none'}"
        draft.notes.missing(part.place, f"the stream to {target!r}", why)
        return None
    how = part.get("grouping")
    place = part.place if how is ABSENT else how.place
    grouping = grouping_of(a_text(how.get("type")), draft.notes, place)
    item = DraftInput(source, place, a_text(how.get("streamId")) or DEFAULT_STREAM, grouping)
    draft.components[target].inputs.append(item)
    return item


RESOURCES = {CPU: "cpu_points", ONHEAP: "memory_mb", OFFHEAP: "offheap_mb"}
"""Settings of a component's resource demand, with the attribute of `DraftComponent` for each."""

NO_TIMEOUT_S = 1_000_000.0  # used in place of time-outs that are switched off: longer than any run
_WHOLE = {
    "topology.workers": ("workers", 1, MOST_EXECUTORS),
    "topology.acker.executors": ("ackers", 0, MOST_EXECUTORS),
    "topology.max.spout.pending": ("max_spout_pending", 1, 2**31 - 1),
    "topology.max.task.parallelism": ("max_task_parallelism", 1, MOST_EXECUTORS),
    "topology.priority": ("priority", 0, MOST_EXECUTORS),
}
"""Settings that are whole numbers: the attribute of `Draft`, the least and the most."""
_MOST_NAMED = 8


def read_settings(config: Part, draft: Draft) -> None:
    """Read the settings of a whole topology; those without effect are noted once, by name."""
    notes = draft.notes
    idle: list[str] = []
    for key, part in config.items():
        if part.value is None:
            continue
        match key:
            case _ if key in _WHOLE:
                attribute, least, most = _WHOLE[key]
                setattr(draft, attribute, whole(part, notes, key, least=least, most=most))
            case "topology.message.timeout.secs":
                draft.message_timeout_s = amount(part, notes, key, most=NO_TIMEOUT_S) or None
            case "topology.enable.message.timeouts":
                if flag(part) is False:
                    draft.message_timeout_s = NO_TIMEOUT_S
                    notes.cannot_use(part.place, key, f"played as a time-out of {NO_TIMEOUT_S:g} s")
            case "topology.submitter.user":
                draft.owner = a_text(part) or ""
            case "topology.name":
                draft.name = draft.name or a_text(part) or ""
            case _ if key == TICK:
                seconds = amount(part, notes, TICK, most=86400)
                for component in draft.components.values():
                    if seconds and not component.is_spout and component.tick_s is None:
                        component.tick_s = seconds
            case _ if key in OF_TOPOLOGY:
                setting = OF_TOPOLOGY[key]
                value = {bool: flag, str: a_text}.get(setting.kind, number)(part)
                if value is None or setting.problem_with(value) is not None:
                    notes.cannot_use(part.place, key, "its value is of another kind than Storm's")
                else:
                    draft.settings[key] = value
            case _:
                idle.append(key)
    _note_idle(idle, config.place, draft)


def read_own_settings(config: Part, component: DraftComponent, draft: Draft) -> None:
    """Read the settings of a single component; those without effect are noted once, by name."""
    notes = draft.notes
    idle = []
    for key, part in config.items():
        if key == TICK:
            component.tick_s = amount(part, notes, TICK, most=86400) or None
        elif key == "topology.tasks":
            component.tasks = whole(part, notes, key, least=1)
        elif key in RESOURCES:
            setattr(component, RESOURCES[key], amount(part, notes, key))
        else:
            idle.append(f"{component.id}: {key}")
    _note_idle(idle, config.place, draft)


def _note_idle(keys: Iterable[str], place: Place, draft: Draft) -> None:
    """Note settings that have no effect on what is played."""
    found = sorted(keys)
    if not found:
        return
    shown = ", ".join(found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    draft.notes.cannot_use(place, f"settings {shown}{more}", "they have no effect on what is played")


def drop_foreign_settings(draft: Draft) -> None:
    """Remove and note settings, or values of them, that the topology's version of Storm does not have."""
    settings, version = draft.settings, draft.version
    foreign = [key for key, value in settings.items() if not OF_TOPOLOGY[key].is_valid_in(version, value)]
    _note_idle(foreign, draft.place, draft)
    for key in foreign:
        del settings[key]
