"""Storm's own settings of a topology (``topology.*``): those that are played, and those without effect."""

from __future__ import annotations

from collections.abc import Iterable

from storm_lab.model.settings import CPU, OF_TOPOLOGY, OFFHEAP, ONHEAP
from storm_lab.workloads.importers.documents import Part
from storm_lab.workloads.importers.draft import Draft
from storm_lab.workloads.importers.place import Place
from storm_lab.workloads.importers.scalars import MOST_EXECUTORS, a_text, amount, flag, number, whole
from storm_lab.workloads.multilang.plan import TICK

TASKS = "topology.tasks"
RESOURCES = {CPU: "cpu_points", ONHEAP: "memory_mb", OFFHEAP: "offheap_mb"}
"""Settings of a component's resource demand, with the attribute of `DraftComponent` for each."""

NO_TIMEOUT_S = 1_000_000.0
"""Used in place of time-outs that are switched off: longer than any run."""
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
    note_idle(idle, config.place, draft)


def note_idle(keys: Iterable[str], place: Place, draft: Draft) -> None:
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
    note_idle(foreign, draft.place, draft)
    for key in foreign:
        del settings[key]
