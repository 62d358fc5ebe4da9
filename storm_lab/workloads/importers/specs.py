"""Components as streamparse declares them, into a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storm_lab.model.settings import CPU, OFFHEAP, ONHEAP
from storm_lab.workloads.importers.documents import part_of
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput, DraftStream
from storm_lab.workloads.importers.grouping_names import grouping_of
from storm_lab.workloads.importers.place import Notes, Place
from storm_lab.workloads.importers.scalars import MOST_EXECUTORS, amount
from storm_lab.workloads.importers.settings import (
    TICK,
    note_idle,
    read_settings,
)
from storm_lab.workloads.multilang.plan import ComponentSpec

FORMAT = "streamparse"


def draft_of(
    specs: Sequence[ComponentSpec], config: Mapping[str, Any], name: str, place: Place, notes: Notes
) -> Draft:
    """A draft of declared components with the topology's settings."""
    draft = Draft(FORMAT, name, place, notes)
    for spec in specs:
        _component(spec, draft, place)
    read_settings(part_of(dict(config), place.file), draft)
    return draft


def _component(spec: ComponentSpec, draft: Draft, place: Place) -> None:
    component = DraftComponent(spec.name, spec.is_spout, Place(place.file, spec.line, spec.name))
    if not draft.add(component):
        return
    if not 1 <= spec.par <= MOST_EXECUTORS:
        why = f"{spec.par} is not a whole number from 1 to {MOST_EXECUTORS}"
        draft.notes.cannot_use(component.place, f"par of {spec.name}", why)
    else:
        component.executors = spec.par
    component.declared = spec.outputs_known
    component.streams = {stream: DraftStream(fields=tuple(names)) for stream, names in spec.outputs.items()}
    component.tick_s = spec.tick_s
    for item in spec.inputs:
        component.inputs.append(
            DraftInput(
                source=item.component,
                place=component.place,
                stream=item.stream,
                grouping=grouping_of(item.grouping, draft.notes, component.place),
                fields=tuple(item.fields),
            )
        )
    idle = []
    for key, part in part_of(dict(spec.config), place.file).items():
        if key in (CPU, ONHEAP, OFFHEAP):
            names = {CPU: "cpu_points", ONHEAP: "memory_mb", OFFHEAP: "offheap_mb"}
            setattr(component, names[key], amount(part, draft.notes, key))
        elif key != TICK:
            idle.append(key)
    note_idle(idle, component.place, draft)
