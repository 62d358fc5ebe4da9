"""Flux files of every shape yield a playable topology or a list of what is missing."""

from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.model import Grouping, Resources, Subscription
from storm_lab.model.version import StormVersion
from storm_lab.workloads.importers.flux_text import read_properties
from storm_lab.workloads.importers.importing import import_topology
from tests.importers.flux_shapes import SHAPES, Shape
from tests.importers.reading import assumptions, executions, import_text, overlay_of, ready, unusable_text


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_shape_is_playable_or_reports_what_is_missing(tmp_path: Path, shape: Shape) -> None:
    imported = import_text(tmp_path, shape.text)
    assert imported.format == "Flux"
    for text in shape.says:
        assert text in unusable_text(imported)
    if shape.missing:
        assert imported.playable is None
        missing = "\n".join(map(str, imported.missing))
        for text in shape.missing:
            assert text in missing
    else:
        topology = ready(imported).topology
        assert {c.id: c.executors for c in topology.components} == shape.executors
        assert all(calls > 0 for calls in executions(ready(imported)).values())


def test_settings_of_storm_become_those_of_the_topology(tmp_path: Path) -> None:
    topology = ready(
        import_text(tmp_path, SHAPES["with a document marker, comments and settings"].text)
    ).topology
    assert (topology.id, topology.workers, topology.ackers) == ("named", 3, 2)
    assert (topology.max_spout_pending, topology.message_timeout_s) == (500, 60.0)
    assert topology.settings == {"topology.debug": False}


def test_settings_that_the_emulator_plays_are_kept_and_those_of_other_versions_are_not(
    tmp_path: Path,
) -> None:
    config = """config:
  topology.executor.receive.buffer.size: 64
  topology.executor.send.buffer.size: 64
  topology.disable.loadaware.messaging: maybe
"""
    imported = import_text(tmp_path, SHAPES["shortest"].text + config)
    assert ready(imported).topology.settings == {"topology.executor.receive.buffer.size": 64}
    told = [str(item) for item in imported.unusable]
    assert len(told) == 2 and "topology.disable.loadaware.messaging: its value" in told[0]
    assert "topology.executor.send.buffer.size: they have no effect" in told[1], "2.8.8 has no send queues"


def test_groupings_streams_and_fields_are_those_of_the_file(tmp_path: Path) -> None:
    playable = ready(import_text(tmp_path, SHAPES["shell components with fields and named streams"].text))
    topology = playable.topology
    assert topology.component("split").outputs == {"default": ("word", "length"), "long": ("word",)}
    assert topology.component("split").inputs == (Subscription("lines", grouping=Grouping.LOCAL_OR_SHUFFLE),)
    assert topology.component("count").inputs == (
        Subscription("split", "default", Grouping.FIELDS, ("word",)),
        Subscription("split", "long", Grouping.FIELDS, ("word",)),
    )
    assert topology.component("split").tick_seconds == 5.0


def test_undeclared_fields_are_those_that_groupings_use(tmp_path: Path) -> None:
    playable = ready(import_text(tmp_path, SHAPES["a join of two spouts"].text))
    assert playable.topology.component("left").outputs == {"default": ("id", "day")}
    assert playable.topology.component("right").outputs == {"default": ("id",)}


def test_the_last_of_two_subscriptions_to_a_stream_counts(tmp_path: Path) -> None:
    playable = ready(import_text(tmp_path, SHAPES["one stream twice"].text))
    assert playable.topology.component("split").inputs == (
        Subscription("lines", "default", Grouping.FIELDS, ("word",)),
    )


def test_tasks_and_loads_are_read_and_minus_one_means_not_set(tmp_path: Path) -> None:
    topology = ready(import_text(tmp_path, SHAPES["tasks and loads, some of them not set"].text)).topology
    assert topology.component("s").task_count == 5
    assert topology.component("s").resources == Resources(50.0, 100.0, 10.0)
    assert topology.component("a").resources is None
    assert topology.component("b").task_count == 4


def test_the_maximum_task_parallelism_caps_executors(tmp_path: Path) -> None:
    text = "config: {topology.max.task.parallelism: 3}\n" + SHAPES["a diamond"].text
    topology = ready(import_text(tmp_path, text)).topology
    assert topology.component("d").executors == 3
    assert topology.component("b").executors == 2


def test_a_name_that_cannot_be_an_id_is_missing(tmp_path: Path) -> None:
    chain = SHAPES["shortest"].text
    for text in ("name: a/b\n" + chain, chain.replace("lines", "a/b")):
        assert "without slashes" in str(import_text(tmp_path, text).missing[0])


def test_every_default_is_reported(tmp_path: Path) -> None:
    imported = import_text(tmp_path, SHAPES["shortest"].text)
    assert assumptions(imported) == {
        ("lines", "cost of a call"),
        ("split", "cost of a call"),
        ("lines.default", "tuples a call"),
        ("lines.default", "size of a tuple"),
        ("lines", "rate of all its executors"),
        ("lines", "reliability"),
        ("topology", "Storm's version"),
        ("topology", "number of workers"),
    }


def test_an_overlay_gives_what_flux_does_not(tmp_path: Path) -> None:
    overlay = overlay_of(
        tmp_path,
        """
topology: {workers: 5, storm_version: 1.2.4}
components:
  lines: {rate_per_s: 250, cost_us: 20, anchored: false, emits: {default: {per_call: 1, bytes: 60}}}
  split: {cost_us: {mean: 40, stddev: 10}, executors: 7}
""",
    )
    imported = import_text(tmp_path, SHAPES["shortest"].text, overlay=overlay)
    playable = ready(imported)
    assert imported.assumed == ()
    assert playable.topology.workers == 5
    assert playable.version == StormVersion((1, 2, 4))
    assert playable.sources["lines"].rate_per_s == 250.0
    assert playable.sources["lines"].anchored is False
    assert playable.topology.component("split").executors == 7
    assert set(playable.trace().emissions["bytes"]) == {60}


def test_a_loop_is_playable_once_an_overlay_limits_its_tuples(tmp_path: Path) -> None:
    overlay = overlay_of(tmp_path, "components: {b: {emits: {default: 0.25}}}")
    playable = ready(import_text(tmp_path, SHAPES["a loop"].text, overlay=overlay))
    counts = executions(playable)
    # For every record, a gets 1 / (1 - 0.25) tuples.
    assert counts["a"] == pytest.approx(counts["s"] * 4 / 3, rel=0.01)


INCLUDED = """
name: included
config: {topology.workers: 9, topology.debug: true}
bolts: [{id: split, className: demo.Other, parallelism: 8}]
"""


@pytest.mark.parametrize(("override", "workers", "executors"), [("true", 9, 8), ("false", 2, 2)])
def test_an_include_wins_only_if_it_overrides(
    tmp_path: Path, override: str, workers: int, executors: int
) -> None:
    (tmp_path / "other.yaml").write_text(INCLUDED)
    text = f"""
name: mine
config: {{topology.workers: 2}}
includes: [{{resource: false, file: "src/main/resources/other.yaml", override: {override}}}]
{SHAPES["shortest"].text}"""
    imported = import_text(tmp_path, text)
    topology = ready(imported).topology
    assert (topology.workers, topology.component("split").executors) == (workers, executors)
    assert topology.settings == {"topology.debug": True}
    assert imported.files == ("topology.yaml", "other.yaml")


def test_only_files_below_the_folder_of_the_topology_are_included(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("name: secret\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    for name in ("../secret.yaml", str(tmp_path / "secret.yaml"), "link.yaml", "x" * 3000, "a\\0b"):
        text = f"includes: [{{resource: false, file: {name!r}}}]\n{SHAPES['shortest'].text}"
        imported = import_text(inner, text)
        assert imported.name == "topology"
        assert "it is not beside this file" in unusable_text(imported)


def test_nested_includes_are_not_followed_as_in_flux(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("includes: [{file: topology.yaml}]\n")
    imported = import_text(tmp_path, f"includes: [{{file: a.yaml}}]\n{SHAPES['shortest'].text}")
    assert ready(imported)
    assert "Flux does not follow them" in unusable_text(imported)


VARIABLES = """
name: ${name}
config: {topology.workers: ${workers}, from.env: "${ENV-PLACE}", item: "${list[1]}"}
spouts:
  - {id: lines, className: demo.Lines, parallelism: ${par}}
bolts:
  - {id: "${bolt}-1", className: demo.Split, parallelism: 2}
streams:
  - {from: lines, to: "${bolt}-1", grouping: {type: FIELDS, args: ["${list[1]}"]}}
"""


def test_variables_come_from_properties_and_on_request_from_the_environment(tmp_path: Path) -> None:
    properties = tmp_path / "dev.properties"
    properties.write_text('# mine\nname = wc\nworkers: 4\npar 3\nbolt=spl\\\n  it\nlist = ["a", "word"]\n')
    path = tmp_path / "t.yaml"
    path.write_text(VARIABLES)
    imported = import_topology(path, properties, environment={"PLACE": "here"})
    topology = ready(imported).topology
    assert (topology.id, topology.workers) == ("wc", 4)
    assert topology.component("lines").executors == 3
    assert topology.component("split-1").inputs[0].fields == ("word",)
    assert "ENV-PLACE" not in unusable_text(imported)
    assert "${ENV-PLACE}: variables of the environment are taken only if asked for" in unusable_text(
        import_topology(path, properties)
    )


def test_variables_without_a_value_are_reported_and_a_parallelism_becomes_one(tmp_path: Path) -> None:
    imported = import_text(tmp_path, VARIABLES)
    playable = ready(imported)
    assert playable.topology.id == "${name}"
    assert [c.id for c in playable.topology.components] == ["lines", "${bolt}-1"]
    assert playable.topology.component("lines").executors == 1
    assert ("lines", "parallelism") in assumptions(imported)
    assert "topology.yaml:2: ${name}: no properties file gives it a value" in unusable_text(imported)


def test_an_overlay_may_give_variables(tmp_path: Path) -> None:
    overlay = overlay_of(tmp_path, "properties: {name: n, workers: 2, par: 3, bolt: b, list: '[a, b]'}")
    topology = ready(import_text(tmp_path, VARIABLES, overlay=overlay)).topology
    assert (topology.id, topology.workers, topology.component("lines").executors) == ("n", 2, 3)


def test_properties_are_read_as_java_reads_them() -> None:
    text = "a=1\nb : 2\nc 3\n! no\n# no\n\nd\\ e=f\\=g\n  h = \\u0041\\t|\ni=one \\\n   two\nj\n"
    assert read_properties(text) == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d e": "f=g",
        "h": "A\t|",
        "i": "one two",
        "j": "",
    }


def test_properties_may_have_any_character(tmp_path: Path) -> None:
    text = "name = \\ud83d\\ude00\nhalf = \\ud83d.\nseparated = a\u2028b\x85c\r\nlast = d\r"
    properties = read_properties(text)
    assert properties == {"name": "\U0001f600", "half": "\ufffd.", "separated": "a\u2028b\x85c", "last": "d"}
    (tmp_path / "dev.properties").write_text(text, encoding="utf-8")
    (tmp_path / "topology.yaml").write_text(VARIABLES, encoding="utf-8")
    imported = import_topology(tmp_path / "topology.yaml", tmp_path / "dev.properties")
    assert ready(imported).topology.id == "\U0001f600"


def test_variables_without_a_value_are_reported_as_written_in_the_file(tmp_path: Path) -> None:
    text = """
spouts:
  - id: s
    className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
    constructorArgs: [["python3", "${script}"], ["${field}"]]
    cpuLoad: ${cpu}
bolts: [{id: b, className: demo.B}]
streams: [{from: s, to: b, grouping: {type: FIELDS, args: ["${field}"]}}]
"""
    imported = import_text(tmp_path, text, run_python=True)
    assert "cpuLoad of s: '${cpu}' is not a number" in unusable_text(imported)
    assert "running s: python3 ${script}: no Python of this name" in unusable_text(imported)
    assert ready(imported).topology.component("s").outputs == {"default": ("${field}",)}


def test_an_include_is_reported_as_written_in_the_file(tmp_path: Path) -> None:
    text = "includes: [{file: '${ENV-FOLDER}/conf.yaml'}]\nspouts: [{id: s, className: demo.S}]\n"
    assert "the include ${ENV-FOLDER}/conf.yaml: it is not beside this file" in unusable_text(
        import_text(tmp_path, text)
    )


@pytest.mark.parametrize("section", ["bolts: {b: {className: demo.B}}", "streams: {one: {from: s, to: b}}"])
def test_a_section_that_is_no_list_makes_a_topology_unplayable(tmp_path: Path, section: str) -> None:
    imported = import_text(tmp_path, f"spouts: [{{id: s, className: demo.S}}]\n{section}\n")
    assert [item.reason for item in imported.missing] == ["it is not a list"]
    assert imported.playable is None


def test_a_file_that_includes_itself_is_read_once(tmp_path: Path) -> None:
    text = (
        "includes: [{file: /app/topology.yaml, override: true}]\nspouts: [{id: s, className: demo.S}]\n"
        "bolts: [{id: b, className: demo.B}]\nstreams: [{from: s, to: b, grouping: {type: SHUFFLE}}]\n"
    )
    imported = import_text(tmp_path, text)
    assert [item.reason for item in imported.unusable] == ["it is this file itself"]
    assert imported.files == ("topology.yaml",)
    assert len(ready(imported).topology.component("b").inputs) == 1


@pytest.mark.parametrize(
    ("name", "version", "reason"),
    [
        ("backtype.storm.testing.TestWordSpout", "0.10.2", "by the names of its classes; give storm_version"),
        ("storm.kafka.KafkaSpout", "0.10.2", "by the names of its classes; give storm_version"),
        ("demo.S", "2.8.8", "not stated; give storm_version"),
    ],
)
def test_package_names_from_before_1_0_determine_the_version(
    tmp_path: Path, name: str, version: str, reason: str
) -> None:
    found = import_text(tmp_path, f"spouts: [{{id: s, className: {name}}}]\n")
    assert str(ready(found).version) == version
    assert [item.reason for item in found.assumed if item.what == "Storm's version"] == [reason]


def test_a_file_that_is_not_yaml_is_refused_with_its_line(tmp_path: Path) -> None:
    # Found in practice: a grouping that is not indented below its key.
    text = "streams:\n  - from: a\n    to: b\n      type: SHUFFLE\n"
    with pytest.raises(UserError, match=r"topology.yaml.*not YAML.*line 4"):
        import_text(tmp_path, text)


def test_other_yaml_is_refused_with_the_formats_that_can_be_read(tmp_path: Path) -> None:
    for text, what in (
        ("", "is empty"),
        ("a: 1", "is of none of the formats"),
        ("[1, 2]", "is of none of the formats"),
        ("just text", "is of none of the formats"),
    ):
        with pytest.raises(UserError, match=f"{what}; give Flux YAML, storm-loadgen"):
            import_text(tmp_path, text)
