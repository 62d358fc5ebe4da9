"""storm_lab's own YAML: strict, with a schema, and read back as it was written."""

import gzip
import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from storm_lab.errors import UserError
from storm_lab.model import Grouping, Resources
from storm_lab.workloads.checks import Emitted
from storm_lab.workloads.importers.calls import RecordedCall, RecordedCalls
from storm_lab.workloads.importers.documents import Notes, Place, yaml_part
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput, DraftStream
from storm_lab.workloads.importers.export import export_topology, topology_document
from storm_lab.workloads.importers.figures import Defaults, Keys, KeyShape, Spread
from storm_lab.workloads.importers.finish import finish
from storm_lab.workloads.importers.imported import Playable
from storm_lab.workloads.importers.importing import import_topology
from storm_lab.workloads.importers.schema import MACHINES, OVERLAY, TOPOLOGY, schema
from tests.importers.reading import assumptions, executions, import_text, overlay_of, ready, unusable_text

COMPLETE = """
storm_lab: topology/1
name: wc
storm_version: 1.2.4
workers: 3
ackers: 2
max_spout_pending: 500
message_timeout_s: 45
priority: 10
owner: me
settings: {topology.debug: false, topology.component.cpu.pcore.percent: 20}
components:
  lines:
    executors: 2
    rate_per_s: saturated
    anchored: true
    replays: true
    cost_us: 12.5
    emits: {default: {fields: [line], per_call: 1, bytes: 80}}
  split:
    executors: 2
    tasks: 4
    inputs: [{from: lines, grouping: local-or-shuffle}]
    cost_us: {mean: 30, stddev: 5, min: 10, max: 90}
    server: {name: cache, us: 200}
    resources: {cpu_points: 40, memory_mb: 256}
    emits:
      default:
        fields: [word]
        per_call: 7.5
        bytes: 12
        keys: {word: {distinct: 500, shape: zipf, exponent: 1.1}}
      long: 0.25
  count:
    executors: 3
    inputs:
      - {from: split, grouping: fields, fields: [word], cost_us: 8}
      - {from: split, stream: long, cost_us: {mean: 3}}
    cost_us: 9
    tick: {every_s: 10, cost_us: 100}
    emits: {default: {fields: [word, n], per_call: 0, bytes: 20, per_tick: 5}}
  store:
    inputs: [{from: count, grouping: global}]
    cost_us: 50
"""


def round_trip(playable: Playable, folder: Path) -> Playable:
    """Export a topology and import it again."""
    file = folder / "written.yaml"
    export_topology(playable, file)
    imported = import_topology(file)
    assert unusable_text(imported) == ""
    assert imported.assumed == ()
    return ready(imported)


def test_a_topology_is_read_with_all_its_keys(tmp_path: Path) -> None:
    imported = import_text(tmp_path, COMPLETE)
    playable = ready(imported)
    topology = playable.topology
    assert (topology.id, topology.workers, topology.ackers, topology.max_spout_pending) == ("wc", 3, 2, 500)
    assert (topology.message_timeout_s, topology.priority, topology.owner) == (45.0, 10, "me")
    assert str(playable.version) == "1.2.4"
    assert topology.component("split").task_count == 4
    # Values that a component does not give are the topology's, or Storm's.
    assert topology.component("split").resources == Resources(40.0, 256.0, 0.0)
    assert topology.component("count").inputs[0].grouping is Grouping.FIELDS
    assert playable.sources["lines"].rate_per_s is None
    figures = playable.figures["count"]
    assert figures.input_cost_us[("split", "default")] == Spread(8.0)
    assert figures.tick_emits == {"default": 5.0}
    assert playable.figures["split"].emits["default"].keys == {"word": Keys(500, KeyShape.ZIPF, 1.1)}
    # Only the size that is not given is assumed.
    assert assumptions(imported) == {("split.long", "size of a tuple")}
    counts = executions(playable)
    assert counts["count"] == pytest.approx(counts["lines"] * 7.75, abs=1)


def test_an_exported_topology_is_read_back_unchanged(tmp_path: Path) -> None:
    playable = ready(import_text(tmp_path, COMPLETE))
    again = round_trip(playable, tmp_path)
    assert again == playable
    assert again.trace().digest == playable.trace().digest


def test_an_exported_topology_conforms_to_the_schema(tmp_path: Path) -> None:
    document = topology_document(ready(import_text(tmp_path, COMPLETE)))
    Draft202012Validator(schema(TOPOLOGY)).validate(document)


def test_the_schemas_are_valid_json_schemas() -> None:
    for name in (TOPOLOGY, OVERLAY, MACHINES):
        Draft202012Validator.check_schema(schema(name))


def test_measured_costs_are_scaled_by_the_speed_of_their_machine(tmp_path: Path) -> None:
    for measured, factor in (("{mhz: 3000}", 1.5), ("{speed: 0.5}", 0.5), ("{type: m5.large}", 1.55)):
        playable = ready(import_text(tmp_path, f"{COMPLETE}\nmeasured_on: {measured}"))
        assert playable.figures["lines"].cost_us == Spread(12.5).scaled(factor)
        assert playable.figures["split"].cost_us == Spread(30, 5, 10, 90).scaled(factor)
        assert playable.figures["count"].tick_cost_us == pytest.approx(100 * factor)
        assert playable.figures["count"].input_cost_us[("split", "default")].mean == pytest.approx(8 * factor)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("workers: 3", "workers: many", r"topology.yaml:5 workers = 'many': must be of type integer"),
        ("workers: 3", "workers: 0", "must be at least 1"),
        ("workers: 3", "wrkers: 3", "does not know 'wrkers'"),
        ("storm_version: 1.2.4", "storm_version: newest", "must be a text of the form"),
        ("grouping: global", "grouping: everybody", "must be one of: shuffle, fields"),
        ("rate_per_s: saturated", "rate_per_s: often", "rate_per_s"),
        ("cost_us: 50", "cost_us: .nan", "must be a finite number"),
        ("cost_us: 50", "cost_us: -1", "must be at least 0"),
        ("cost_us: 50", "rate_per_s: 5", "store has inputs, so it is a bolt, and rate_per_s is for spouts"),
        (
            "replays: true",
            "tick: {every_s: 1}",
            "lines has no inputs, so it is a spout, and tick is for bolts",
        ),
        (
            "tasks: 4",
            "tasks: 1",
            r"^topology\.yaml:22 components\.split\.tasks = 1: split has 2 executors, and each needs a task",
        ),
        (
            "grouping: global",
            "fields: [word]",
            r"inputs\[0\]\.fields = \['word'\]: an input of store has fields, which grouping shuffle",
        ),
        (
            "grouping: global",
            "grouping: all, fields: [n]",
            "which grouping all does not use; set grouping: fields, or leave the fields out",
        ),
        ("name: wc", "nam: wc", "does not know 'nam'|needs 'name'"),
        ("owner: me", "recording: ../secret", "must be a text of the form"),
        ("owner: me", "measured_on: {type: abacus}", "no such machine type"),
        ("owner: me", "measured_on: {mhz: 5, speed: 1}", "must (be at|hold at)|measured_on"),
    ],
)
def test_an_error_is_one_line_with_its_file_line_and_key(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert old in COMPLETE
    with pytest.raises(UserError, match=says) as error:
        import_text(tmp_path, COMPLETE.replace(old, new))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("from: count", "from: nobody", "there is no such component; there are: count, lines, split, store"),
        ("stream: long", "stream: short", "the stream is not declared; declared are: default, long"),
        ("fields: [word], cost", "fields: [letter], cost", "the stream has no field 'letter'"),
        ("keys: {word:", "keys: {wrod:", "keys of split.default: the stream has no field 'wrod'; its fields"),
    ],
)
def test_inconsistent_parts_make_a_topology_unplayable(tmp_path: Path, old: str, new: str, says: str) -> None:
    imported = import_text(tmp_path, COMPLETE.replace(old, new))
    assert imported.playable is None
    assert says in str(imported.missing[0])
    with pytest.raises(UserError, match="cannot be played"):
        imported.ready()


RECORDS = """
storm_lab: topology/1
name: given
components:
  s: {rate_per_s: 10, anchored: true, cost_us: 1, records: FILE}
  a: {cost_us: 1, inputs: [{from: s, grouping: fields, fields: [word]}]}
"""


@pytest.mark.parametrize(
    ("name", "content", "fields", "records"),
    [
        ("w.txt", "the\ncow\r\n\nthe\n", ("word",), 3),
        ("w.jsonl", '["a", 1]\n["b", 2]\n', ("word", "value0"), 2),
        ("w.json", '{"n": 1, "word": "x"}\n{"word": "y"}\n', ("n", "word"), 2),
        ("v.jsonl", '"a"\n"b"\n', ("word",), 2),
    ],
)
def test_a_spout_may_emit_the_records_of_a_file(
    tmp_path: Path, name: str, content: str, fields: tuple[str, ...], records: int
) -> None:
    (tmp_path / name).write_text(content)
    playable = ready(import_text(tmp_path, RECORDS.replace("FILE", name)))
    assert playable.topology.component("s").outputs == {"default": fields}
    trace = playable.trace()
    assert len(trace.sources["s"]) == records
    # Equal words have equal keys.
    keys = trace.records["key"][trace.emissions["first_record"]]
    if name == "w.txt":
        assert keys[0] == keys[2] != keys[1]
    assert round_trip(playable, tmp_path) == playable


def test_records_outside_the_folder_are_refused(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.txt").write_text("secret\n")
    for name in ("../secret.txt", str(tmp_path / "secret.txt")):
        with pytest.raises(UserError, match="is outside the folder"):
            import_text(inner, RECORDS.replace("FILE", name))
    # An overlay is the user's own file: it may name any file.
    text = RECORDS.replace(", records: FILE", "")
    overlay = overlay_of(inner, f"components: {{s: {{records: {tmp_path / 'secret.txt'}}}}}")
    assert ready(import_text(inner, text, overlay=overlay)).given == {"s": (("secret",),)}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("w.jsonl", "{", "line 1 is not JSON"),
        ("w.txt", "\n \n", "holds 0 records"),
        ("nothere.txt", None, "no such file"),
    ],
)
def test_records_that_cannot_be_read_are_refused(
    tmp_path: Path, name: str, content: str | None, says: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=says):
        import_text(tmp_path, RECORDS.replace("FILE", name))


def test_a_record_of_another_length_is_reported_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "w.jsonl").write_text('["a", 1]\n["b"]\n')
    imported = import_text(tmp_path, RECORDS.replace("FILE", "w.jsonl"))
    assert "record 2 of s: it has 1 values where the fields are: word, value0" in unusable_text(imported)


def test_records_without_a_field_of_the_spout_are_reported(tmp_path: Path) -> None:
    text = RECORDS.replace("FILE", "w.jsonl, emits: {default: {fields: [word]}}")
    (tmp_path / "w.jsonl").write_text('{"Word": "a"}\n{"WORD": "b"}\n')
    imported = import_text(tmp_path, text)
    assert "the records of s: none has the field 'word'; they have: Word, WORD" in unusable_text(imported)
    assert imported.playable is None
    # A record may lack a field that others have.
    (tmp_path / "w.jsonl").write_text('{"Word": "a"}\n{"word": "b"}\n')
    assert ready(import_text(tmp_path, text)).given["s"] == ((None,), ("b",))


def recorded() -> Playable:
    """Return a topology whose code was run."""
    place, notes = Place("x"), Notes()
    draft = Draft("streamparse", "r", place, notes)
    streams = {"default": DraftStream(("a", "b"))}
    inputs = [DraftInput("s", place, grouping=Grouping.FIELDS, fields=("a",))]
    draft.components = {
        "s": DraftComponent("s", True, place, streams=streams, rate_per_s=5.0),
        "t": DraftComponent("t", False, place, inputs=inputs, tick_s=2.0, executors=2),
    }
    draft.calls = RecordedCalls(
        spouts={
            "s": tuple(
                RecordedCall((Emitted("default", (value, {"k": [1, None]}), 9),))
                for value in ("x", -7, 1.5, True)
            )
        },
        bolts={"t": tuple(RecordedCall((), ("s", "default"), failed=n == 2) for n in range(4))},
        ticks={"t": RecordedCall(())},
    )
    made = finish(draft, Defaults())
    assert made is not None, notes.unusable
    return made


def test_recorded_calls_are_exported_beside_the_topology_and_read_back(tmp_path: Path) -> None:
    playable = recorded()
    files = export_topology(playable, tmp_path / "r.yaml")
    assert [file.name for file in files] == ["r.yaml", "r.recording.json.gz"]
    again = round_trip(playable, tmp_path)
    assert again.trace().digest == playable.trace().digest
    assert again.calls == playable.calls
    # Exporting it again gives the same bytes.
    export_topology(again, tmp_path / "again.yaml")
    assert (tmp_path / "again.recording.json.gz").read_bytes() == files[1].read_bytes()


def test_recorded_calls_take_costs_drawn_from_the_figures(tmp_path: Path) -> None:
    export_topology(recorded(), tmp_path / "r.yaml")
    costs = (
        "components: {s: {cost_us: {mean: 10, min: 50}}, t: {cost_us: {mean: 900, stddev: 200, min: 880}}}"
    )
    overlay = overlay_of(tmp_path, costs)
    trace = ready(import_topology(tmp_path / "r.yaml", overlay=overlay)).trace()
    assert list(trace.records["cpu_ns"][trace.sources["s"]]) == [50_000] * 4
    executed = trace.records["cpu_ns"][trace.emissions["first_record"]]
    assert len(set(executed)) > 1
    assert min(executed) >= 880_000


def test_stated_emits_of_recorded_code_are_reported_as_unused(tmp_path: Path) -> None:
    export_topology(recorded(), tmp_path / "r.yaml")
    overlay = overlay_of(tmp_path, "components: {s: {emits: {default: {bytes: 5}}}, t: {executors: 3}}")
    imported = import_topology(tmp_path / "r.yaml", overlay=overlay)
    assert unusable_text(imported) == (
        "overlay.yaml:2 components.s.emits: emits of s: its own code was run: what that emits is played"
    )


def test_ticks_that_were_not_recorded_emit_nothing_and_are_reported(tmp_path: Path) -> None:
    export_topology(recorded(), tmp_path / "r.yaml")
    overlay = overlay_of(tmp_path, "components: {t: {tick: {every_s: 5}}}")
    assert not import_topology(tmp_path / "r.yaml", overlay=overlay).assumed
    text = (tmp_path / "r.recording.json.gz").read_bytes()
    content = json.loads(gzip.decompress(text)) | {"ticks": {}}
    (tmp_path / "r.recording.json.gz").write_bytes(gzip.compress(json.dumps(content).encode()))
    imported = import_topology(tmp_path / "r.yaml", overlay=overlay)
    assert ("t", "tick tuples") in assumptions(imported)
    assert ready(imported).topology.component("t").tick_seconds == 5


def test_a_failed_call_fails_its_tuple() -> None:
    trace = recorded().trace()
    bolt = trace.records[trace.emissions["first_record"]]
    assert list(bolt["emissions"]) == [0, 0, -1, 0]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[1]", "not a recording"),
        ("{", "damaged"),
        ('{"storm_lab": "recording/1"}', "damaged"),
        ('{"storm_lab": "recording/1", "given": {"s": 3}}', "damaged"),
        ('{"storm_lab": "recording/1", "given": {"who": [[1]]}}', "the topology does not have"),
        ('{"storm_lab": "recording/1", "given": {}, "spouts": {"s": [1]}, "bolts": {}}', "damaged"),
        ('{"storm_lab": "recording/1", "given": {}, "spouts": {"s": [[[], [], 0]]}}', "damaged"),
        (
            '{"storm_lab": "recording/1", "given": {}, "spouts": {"s": [[[["a", [], 1e999, 0]], null, 0]]}}',
            "damaged",
        ),
    ],
)
def test_a_damaged_recording_is_refused(tmp_path: Path, content: str, says: str) -> None:
    export_topology(recorded(), tmp_path / "r.yaml")
    file = tmp_path / "r.recording.json.gz"
    file.write_bytes(gzip.compress(content.encode()))
    with pytest.raises(UserError, match=says):
        import_topology(tmp_path / "r.yaml")
    file.write_bytes(content.encode())
    with pytest.raises(UserError, match="cannot be read"):
        import_topology(tmp_path / "r.yaml")
    file.unlink()
    with pytest.raises(UserError, match="cannot be read"):
        import_topology(tmp_path / "r.yaml")


def test_a_recording_of_another_topology_is_detected(tmp_path: Path) -> None:
    export_topology(recorded(), tmp_path / "r.yaml")
    text = (tmp_path / "r.yaml").read_text().replace("default:", "other:")
    changed = text.replace("- from: s\n", "- from: s\n      stream: other\n")
    imported = import_text(tmp_path, changed, "r.yaml")
    assert "s.default" in unusable_text(imported)
    assert imported.playable is None


NAMES = st.text(alphabet="abcXYZ 01._-:é#'\"[]{}", min_size=1, max_size=8).filter(str.strip)


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """Draw any topology that figures can describe."""
    place = Place("x")
    draft = Draft("any", draw(NAMES), place, Notes())
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    times = st.floats(0, 1e6)
    for number, name in enumerate(names):
        component = draft.add(name, place, is_spout=number == 0)
        assert component is not None
        component.executors = draw(st.integers(1, 5))
        component.tasks = draw(st.none() | st.integers(component.executors or 1, 9))
        component.cost_us = draw(
            st.builds(Spread, times) | st.builds(Spread, times, times, times, times | st.just(math.inf))
        )
        component.cpu_points = draw(st.none() | st.floats(0, 100))
        component.anchored = draw(st.booleans())
        component.rate_per_s = draw(st.floats(0, 1e6) | st.just("saturated"))
        if not component.is_spout:
            component.tick_s = draw(st.none() | st.floats(0.001, 1000))
            source = draw(st.sampled_from(names[:number]))
            stream = draw(st.sampled_from(["default", "other"]))
            kind = draw(st.sampled_from(list(Grouping)))
            fields = ("key",) if kind in (Grouping.FIELDS, Grouping.PARTIAL_KEY) else ()
            component.inputs = [DraftInput(source, place, stream, kind, fields)]
    for component in draft.components.values():
        for name in ("default", "other"):
            stream_of = component.stream(name)
            stream_of.fields = ("key", "value")
            stream_of.per_call = draw(st.floats(0, 2))
            stream_of.bytes = draw(st.integers(0, 5000))
            stream_of.keys = {
                "key": draw(st.builds(Keys, st.integers(1, 50), st.sampled_from(list(KeyShape))))
            }
    draft.workers = draw(st.none() | st.integers(1, 9))
    draft.max_spout_pending = draw(st.none() | st.integers(1, 999))
    return draft


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drafts())
def test_any_topology_is_read_back_unchanged(tmp_path: Path, draft: Draft) -> None:
    playable = finish(draft, Defaults())
    assert playable is not None, draft.notes.unusable
    assert round_trip(playable, tmp_path) == playable


def test_an_empty_yaml_has_no_value() -> None:
    assert yaml_part("", "x", Notes()).value is None
