"""Storm's own settings of a topology (``topology.*``): which are played, and which have no effect here."""

from __future__ import annotations

from collections.abc import Iterable

from storm_lab.workloads.importers.documents import Part
from storm_lab.workloads.importers.draft import Draft
from storm_lab.workloads.importers.place import Place
from storm_lab.workloads.importers.scalars import a_text, amount, flag, number, whole

WORKERS = "topology.workers"
ACKERS = "topology.acker.executors"
MAX_PENDING = "topology.max.spout.pending"
TIMEOUT = "topology.message.timeout.secs"
TIMEOUTS_ON = "topology.enable.message.timeouts"
MAX_TASKS = "topology.max.task.parallelism"
TICK = "topology.tick.tuple.freq.secs"
TASKS = "topology.tasks"
ONHEAP = "topology.component.resources.onheap.memory.mb"
OFFHEAP = "topology.component.resources.offheap.memory.mb"
CPU = "topology.component.cpu.pcore.percent"

PLAYED = frozenset(
    {
        "topology.backpressure.enable",
        "topology.debug",
        "topology.disable.loadaware.messaging",
        "topology.scheduler.strategy",
        "topology.worker.max.heap.size.mb",
        "topology.acker.cpu.pcore.percent",
        "topology.acker.resources.onheap.memory.mb",
        "topology.acker.resources.offheap.memory.mb",
        "topology.ras.acker.executors.per.worker",
        "topology.ras.constraint.max.state.search",
        "topology.ras.one.component.per.worker",
        "topology.ras.one.executor.per.worker",
        "topology.ras.order.executors.by.proximity.needs",
        CPU,
        OFFHEAP,
        ONHEAP,
    }
)
"""Settings that the emulator or a scheduler reads by their key."""
_TRUE_OR_FALSE = frozenset(
    {
        "topology.backpressure.enable",
        "topology.debug",
        "topology.disable.loadaware.messaging",
        "topology.ras.one.component.per.worker",
        "topology.ras.one.executor.per.worker",
        "topology.ras.order.executors.by.proximity.needs",
    }
)
NO_TIMEOUT_S = 1_000_000.0
"""In place of time-outs that are switched off: longer than any run."""
_MOST_NAMED = 8


def read_settings(config: Part | None, draft: Draft) -> None:
    """Take over the settings of a whole topology; what has no effect is noted once, by name."""
    if config is None:
        return
    notes = draft.notes
    idle: list[str] = []
    for key, part in config.items():
        if part.value is None:
            continue
        match key:
            case "topology.workers":
                draft.workers = whole(part, notes, key, least=1) or draft.workers
            case "topology.acker.executors":
                ackers = whole(part, notes, key)
                draft.ackers = draft.ackers if ackers is None else ackers
            case "topology.max.spout.pending":
                draft.max_spout_pending = whole(part, notes, key, least=1, most=2**31 - 1)
            case "topology.message.timeout.secs":
                draft.message_timeout_s = amount(part, notes, key, most=NO_TIMEOUT_S) or None
            case "topology.enable.message.timeouts":
                if flag(part) is False:
                    draft.message_timeout_s = NO_TIMEOUT_S
                    notes.cannot_use(part.place, key, f"played as a time-out of {NO_TIMEOUT_S:g} s")
            case "topology.max.task.parallelism":
                draft.max_task_parallelism = whole(part, notes, key, least=1)
            case "topology.priority":
                draft.priority = whole(part, notes, key)
            case "topology.submitter.user":
                draft.owner = a_text(part) or ""
            case "topology.name":
                draft.name = draft.name or a_text(part) or ""
            case "topology.tick.tuple.freq.secs":
                _tick_everywhere(part, draft)
            case _ if key in PLAYED:
                _keep(key, part, draft)
            case _:
                idle.append(key)
    note_idle(idle, config.place, draft)


def note_idle(keys: Iterable[str], place: Place, draft: Draft) -> None:
    """Say which settings have no effect on what is played."""
    found = sorted(keys)
    if not found:
        return
    shown = ", ".join(found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    draft.notes.cannot_use(place, f"settings {shown}{more}", "they have no effect on what is played")


def _tick_everywhere(part: Part, draft: Draft) -> None:
    seconds = amount(part, draft.notes, TICK, most=86400)
    for component in draft.components.values():
        if seconds and not component.is_spout and component.tick_s is None:
            component.tick_s = seconds


def _keep(key: str, part: Part, draft: Draft) -> None:
    value: float | str | bool | None
    if key in _TRUE_OR_FALSE:
        value = flag(part)
    elif key == "topology.scheduler.strategy":
        value = a_text(part)
    else:
        value = number(part)
        value = value if value is not None and value >= 0 else None
    if value is None:
        draft.notes.cannot_use(part.place, key, "its value is of another kind than Storm's")
    else:
        draft.settings[key] = value
