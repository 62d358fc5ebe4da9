"""Our own YAML of a topology: the schema is `topology.schema.json` beside this file."""

from __future__ import annotations

from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.model.topology import DEFAULT_STREAM, Grouping
from storm_lab.workloads.build import REFERENCE_MHZ
from storm_lab.workloads.importers.documents import Part
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput
from storm_lab.workloads.importers.given import Row
from storm_lab.workloads.importers.place import Notes
from storm_lab.workloads.importers.recording_file import read_recording
from storm_lab.workloads.importers.schema import TOPOLOGY, checked
from storm_lab.workloads.importers.settings import read_settings
from storm_lab.workloads.importers.written import clock_of, put_figures, spread_of, version_of

FORMAT = "storm-lab YAML"


def read_plain(part: Part, folder: Path, notes: Notes) -> tuple[Draft, dict[str, list[Row]]]:
    """The topology of a file in ``folder``, and the records that it gives to spouts.

    Raises:
        UserError: it does not keep to its schema, or a file that it names cannot be read.
    """
    given = checked(part, TOPOLOGY)
    draft = Draft(FORMAT, given["name"], part.place, notes)
    measured = clock_of(given.get("measured_on"), str(part.place))
    factor = (measured or REFERENCE_MHZ) / REFERENCE_MHZ
    rows: dict[str, list[Row]] = {}
    for name, entry in given["components"].items():
        place = part.at(("components", name)).place
        component = DraftComponent(name, is_spout=not entry.get("inputs"), place=place)
        component.declared = "emits" in entry
        if not component.is_spout:
            _check_bolt(name, entry, part)
        for number, item in enumerate(entry.get("inputs", ())):
            component.inputs.append(
                DraftInput(
                    source=item["from"],
                    place=part.at(("components", name, "inputs", number)).place,
                    stream=item.get("stream", DEFAULT_STREAM),
                    grouping=Grouping(item.get("grouping", Grouping.SHUFFLE.value)),
                    fields=tuple(item.get("fields", ())),
                    cost_us=spread_of(item["cost_us"], factor) if "cost_us" in item else None,
                )
            )
        if draft.add(component):
            found = put_figures(component, entry, factor, folder, inside=True)
            if found:
                rows[name] = found
    read_settings(part.get("settings"), draft)
    for name in ("workers", "ackers", "max_spout_pending", "priority"):
        if name in given:
            setattr(draft, name, int(given[name]))
    if "message_timeout_s" in given:
        draft.message_timeout_s = float(given["message_timeout_s"])
    if "storm_version" in given:
        draft.say_version(version_of(given["storm_version"]))
    draft.owner = given.get("owner", draft.owner)
    if "recording" in given:
        _take_recording(given["recording"], folder, draft)
    return draft, rows


def _check_bolt(name: str, entry: dict[str, object], part: Part) -> None:
    for key in ("rate_per_s", "anchored", "replays", "records"):
        if key in entry:
            raise UserError(
                f"{name} has inputs, so it is a bolt, and {key} is for spouts",
                field=str(part.at(("components", name, key)).place),
                remedy="leave it out",
            )


def _take_recording(name: str, folder: Path, draft: Draft) -> None:
    calls, given = read_recording(folder / name)
    strangers = [*given, *(() if calls is None else calls.components)]
    strangers = [found for found in strangers if found not in draft.components]
    if strangers:
        raise UserError(
            "the recording holds a component that the topology does not have",
            field="recording",
            value=strangers[0],
            remedy="export the topology anew",
        )
    draft.calls = calls
    for name, rows in given.items():
        draft.components[name].given = rows
