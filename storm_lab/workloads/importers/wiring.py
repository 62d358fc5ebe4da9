"""Whether a draft's components fit together.

What Storm would refuse is missing, what it would ignore is left out.
"""

from __future__ import annotations

from storm_lab.model.topology import Grouping
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput
from storm_lab.workloads.importers.scalars import MOST_EXECUTORS

MOST_COMPONENTS = 2000
MOST_ALL_EXECUTORS = 50_000


def wire(draft: Draft) -> None:
    """Check components, subscriptions and streams, and declare the streams that subscriptions need."""
    _leave_out_idle(draft)
    if len(draft.components) > MOST_COMPONENTS:
        draft.notes.missing(draft.place, "the components", f"there are more than {MOST_COMPONENTS}")
        return
    if not any(component.is_spout for component in draft.components.values()):
        draft.notes.missing(draft.place, "a spout", "there is none, so that nothing flows")
    for component in draft.components.values():
        _check_subscriptions(component, draft)
        _check_size(component, draft)
    total = sum(component.executors or 1 for component in draft.components.values())
    if total > MOST_ALL_EXECUTORS:
        draft.notes.missing(
            draft.place, "the parallelism", f"{total} executors are more than {MOST_ALL_EXECUTORS}"
        )


def _leave_out_idle(draft: Draft) -> None:
    """Leave out bolts that never get a tuple: those without input, and those that read from such only."""
    idle = {c.id: c for c in draft.components.values() if not c.is_spout and not c.inputs}
    why = "it has no input"
    while idle:
        for component in idle.values():
            del draft.components[component.id]
            draft.notes.cannot_use(
                component.place,
                f"bolt {component.id!r}",
                f"{why}, so that it would never get a tuple: left out, and its executors with it",
            )
        behind: dict[str, DraftComponent] = {}
        for component in draft.components.values():
            left = [item for item in component.inputs if item.source in idle]
            if component.is_spout or not left:
                continue
            component.inputs = [item for item in component.inputs if item.source not in idle]
            if not component.inputs:
                behind[component.id] = component
                continue
            for item in left:
                what = f"{component.id}'s subscription to {item.source}.{item.stream}"
                draft.notes.cannot_use(item.place, what, "that bolt is left out: no tuple would come of it")
        idle, why = behind, "it reads only from bolts that are left out"


def _check_subscriptions(component: DraftComponent, draft: Draft) -> None:
    seen: dict[tuple[str, str], DraftInput] = {}
    for item in component.inputs:
        what = f"{component.id}'s subscription to {item.source}.{item.stream}"
        if component.is_spout:
            draft.notes.missing(item.place, what, "a spout has no inputs")
            continue
        if item.source not in draft.components:
            known = ", ".join(sorted(draft.components)[:12])
            draft.notes.missing(item.place, what, f"there is no such component; there are: {known}")
            continue
        if (item.source, item.stream) in seen:
            draft.notes.cannot_use(item.place, what, "it is given twice: the last one counts")
        # In place of the earlier one, and at its place, as in Storm's map of inputs.
        seen[item.source, item.stream] = item
        _declare(item, draft, what)
    component.inputs = list(seen.values()) if not component.is_spout else []


def _declare(item: DraftInput, draft: Draft, what: str) -> None:
    source = draft.components[item.source]
    if item.stream not in source.streams and source.declared:
        known = ", ".join(source.streams) or "none"
        draft.notes.missing(item.place, what, f"the stream is not declared; declared are: {known}")
        return
    stream = source.stream(item.stream)
    if item.grouping is Grouping.FIELDS and not item.fields:
        draft.notes.cannot_use(
            item.place,
            what,
            "a fields grouping without fields: Storm plays it as a global grouping, and so is it here",
        )
        item.grouping = Grouping.GLOBAL
    if stream.fields is None:
        return
    lacking = [name for name in item.fields if name not in stream.fields]
    if lacking:
        known = ", ".join(stream.fields) or "none"
        draft.notes.missing(
            item.place, what, f"the stream has no field {lacking[0]!r}; its fields are: {known}"
        )


def _check_size(component: DraftComponent, draft: Draft) -> None:
    for what, value in (("executors", component.executors), ("tasks", component.tasks)):
        if value is not None and not 1 <= value <= MOST_EXECUTORS:
            draft.notes.missing(
                component.place, f"{component.id}: {value} {what}", f"give 1 to {MOST_EXECUTORS}"
            )
