"""Importing any file ends in a result or a one-line error, never in a traceback."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storm_lab.errors import UserError
from storm_lab.workloads.importers import finish
from storm_lab.workloads.importers.command import report_json, report_text
from storm_lab.workloads.importers.importing import import_topology
from storm_lab.workloads.importers.machines_file import read_machines
from tests.importers.flux_shapes import SHAPES
from tests.importers.streamparse_shapes import PROJECTS
from tests.importers.test_loadgen import CAPTURED
from tests.importers.test_plain import COMPLETE
from tests.importers.ui_pages import METRICS, PAGES

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def short_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finish, "TRACE_CALLS", 300)
    monkeypatch.setattr(finish, "MOST_PER_RECORD", 2000.0)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["", "0", "-1", "1e400", "nan", "default", "__acker", "${x}", "saturated", "FIELDS"]),
    st.sampled_from(["\n", "\x00", "²", "\ud800"]),
    st.lists(st.integers() | st.text(max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.none() | st.integers(), max_size=2),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all values in a document."""
    found = [path] if path else []
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in entries:
        found += _places(item, (*path, key))
    return found


@st.composite
def damaged(draw: st.DrawFn, documents: list[Any]) -> Any:
    """Draw a document in which some values are replaced, deleted, doubled or renamed."""
    document = copy.deepcopy(draw(st.sampled_from(documents)))
    for _ in range(draw(st.integers(1, 4))):
        places = _places(document)
        if not places:
            break
        *path, last = draw(st.sampled_from(places))
        owner = document
        for key in path:
            owner = owner[key]
        match draw(st.sampled_from(["replace", "delete", "double", "rename"])):
            case "replace":
                owner[last] = draw(JUNK)
            case "delete":
                del owner[last]
            case "double" if isinstance(owner, list):
                owner.append(copy.deepcopy(owner[last]))
            case "rename" if isinstance(owner, dict):
                owner[draw(st.text(max_size=4))] = owner.pop(last)
    return document


def check_import(path: Path, **options: Any) -> None:
    """Import a file and make both reports; an error must be one line."""
    try:
        imported = import_topology(path, **options)
    except UserError as error:
        assert "\n" not in str(error)
        return
    assert (imported.playable is None) == bool(imported.missing)
    report_text(imported).encode()
    json.dumps(report_json(imported)).encode()


FLUX = [yaml.safe_load(shape.text) for shape in SHAPES.values()]
PLAIN = [yaml.safe_load(COMPLETE)]
LOADGEN = [yaml.safe_load(CAPTURED)]


@QUICK
@given(damaged(FLUX + LOADGEN + PLAIN))
def test_damaged_yaml_is_read_or_refused_in_one_line(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8", errors="replace")
    check_import(path)


@QUICK
@given(damaged(FLUX + LOADGEN + PLAIN + [*PAGES.values(), METRICS]))
def test_damaged_json_is_read_or_refused_in_one_line(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    check_import(path)


@QUICK
@given(st.data())
def test_damaged_pages_are_read_together_or_refused_in_one_line(tmp_path: Path, data: st.DataObject) -> None:
    folder = tmp_path / "pages"
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        found = data.draw(damaged([page])) if data.draw(st.booleans()) else page
        (folder / name).write_text(json.dumps(found))
    check_import(folder)


@QUICK
@given(
    st.text(alphabet=" \n:-[]{}#&*!|>'\"?abcspouts0123456789", max_size=80)
    | st.sampled_from(list(SHAPES.values())).flatmap(
        lambda shape: st.integers(0, len(shape.text)).map(lambda cut: shape.text[:cut])
    )
)
def test_truncated_texts_are_read_or_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    check_import(path)


OVERLAY = {
    "storm_lab": "overlay/1",
    "topology": {"workers": 2, "storm_version": "1.2.4"},
    "measured_on": {"mhz": 3000},
    "properties": {"x": "y"},
    "defaults": {"cost_us": 1, "keys": {"distinct": 5}},
    "components": {
        "s": {"rate_per_s": 5, "cost_us": {"mean": 1, "stddev": 2}, "records": "w.txt"},
        "a": {
            "executors": 2,
            "emits": {"default": {"per_call": 1, "bytes": 2, "keys": {}}},
            "tick": {"every_s": 1},
        },
    },
}


@QUICK
@given(damaged([OVERLAY]))
def test_damaged_overlays_are_read_or_refused_in_one_line(tmp_path: Path, document: Any) -> None:
    (tmp_path / "w.txt").write_text("the\ncow\n")
    path = tmp_path / "t.yaml"
    path.write_text(SHAPES["a diamond"].text)
    overlay = tmp_path / "o.yaml"
    overlay.write_text(yaml.safe_dump(document), encoding="utf-8", errors="replace")
    check_import(path, overlay=overlay)


NODES = {
    "storm_lab": "machines/1",
    "types": {"t": {"like": "m5.large", "cores": 2}, "u": {"like": "t", "offers": {"cpu_points": 5}}},
    "nodes": [
        {"name": "a", "count": 2, "type": "u", "rack": "r", "slots": [1, 2]},
        {"name": "b", "cores": 1, "speed": 1, "memory_mb": 100, "nic_mbps": 10},
    ],
    "links": {"between_racks_us": 5},
}


@QUICK
@given(damaged([NODES, {"storm_lab": "machines/1", "testbed": "nstorm"}]))
def test_damaged_machines_are_read_or_refused_in_one_line(document: Any) -> None:
    try:
        read_machines(yaml.safe_dump(document), "m.yaml")
    except UserError as error:
        assert "\n" not in str(error)


SOURCES = [
    (Path(name).suffix, text)
    for project in PROJECTS.values()
    for name, text in project.files.items()
    if name.startswith("topologies/")
]


@QUICK
@given(st.data())
def test_damaged_streamparse_topologies_are_read_or_refused_in_one_line(
    tmp_path: Path, data: st.DataObject
) -> None:
    suffix, text = data.draw(st.sampled_from(SOURCES))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 8))
        text = text[:start] + data.draw(st.text(alphabet="()[]{}:\"'=., \n#;abT1", max_size=4)) + text[end:]
    path = tmp_path / f"wc{suffix}"
    path.write_text(text)
    check_import(path)
