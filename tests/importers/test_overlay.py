"""Overlays: what they may contain, and what is refused."""

from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.workloads.importers.figures import Keys, KeyShape, Spread
from tests.importers.flux_shapes import SHAPES
from tests.importers.reading import assumptions, import_text, overlay_of, ready
from tests.importers.test_plain import COMPLETE

FLUX = SHAPES["a diamond"].text


def test_defaults_of_the_user_are_applied_and_reported(tmp_path: Path) -> None:
    overlay = overlay_of(
        tmp_path,
        "defaults: {cost_us: 7, per_call: 0.5, bytes: 11, rate_per_s: 3,"
        " keys: {distinct: 5, shape: half-normal}}",
    )
    imported = import_text(tmp_path, FLUX, overlay=overlay)
    playable = ready(imported)
    assert {figures.cost_us for figures in playable.figures.values()} == {Spread(7.0)}
    assert playable.figures["s"].emits["default"].per_call == 0.5
    assert playable.figures["s"].emits["default"].keys == {"word": Keys(5, KeyShape.HALF_NORMAL)}
    assert playable.sources["s"].rate_per_s == 3.0
    # A default is an assumption even if the user has chosen it.
    assert ("s", "rate of all its executors") in assumptions(imported)


def test_costs_measured_on_a_machine_are_scaled_to_the_reference_clock(tmp_path: Path) -> None:
    overlay = overlay_of(tmp_path, "measured_on: {mhz: 4000}\ncomponents: {a: {cost_us: 10}}")
    playable = ready(import_text(tmp_path, FLUX, overlay=overlay))
    assert playable.figures["a"].cost_us == Spread(20.0)
    # A default refers to the reference clock.
    assert playable.figures["b"].cost_us == Spread(100.0)


def test_a_server_and_a_tick_can_be_given(tmp_path: Path) -> None:
    overlay = overlay_of(
        tmp_path,
        "components: {b: {server: {name: db, us: 300}, tick: {every_s: 2, cost_us: 5},"
        " emits: {default: {per_tick: 3}}, resources: {cpu_points: 30}}}",
    )
    playable = ready(import_text(tmp_path, FLUX, overlay=overlay))
    assert playable.topology.component("b").tick_seconds == 2.0
    assert playable.topology.component("b").resources is not None
    trace = playable.trace()
    assert trace.servers == ("db",)
    assert trace.records[trace.ticks["b"]]["emissions"] == 3


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "components: {spoot: {cost_us: 1}}",
            "overlay.yaml:2 components.spoot.*no such component; .*there are: ",
        ),
        ("components: {a: {rate_per_s: 1}}", "a is a bolt, and rate_per_s is for spouts"),
        ("components: {s: {tick: {every_s: 1}}}", "s is a spout, and tick is for bolts"),
        ("components: {a: {cost: 1}}", "does not know 'cost'"),
        ("components: {s: {records: nothere.txt}}", "no such file"),
        ("defaults: {cost_us: x}", "must be of type number"),
        ("topology: {workers: 0}", "must be at least 1"),
        ("measured_on: {}", "measured_on"),
        ("measured_on: {type: abacus}", "no such machine type"),
    ],
)
def test_an_error_is_one_line_with_its_file_line_and_key(tmp_path: Path, body: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as error:
        import_text(tmp_path, FLUX, overlay=overlay_of(tmp_path, body))
    assert "\n" not in str(error.value)


def test_more_executors_than_tasks_are_refused(tmp_path: Path) -> None:
    overlay = overlay_of(tmp_path, "components: {count: {executors: 4, tasks: 2}}")
    says = r"overlay\.yaml:\d+ components\.count\.tasks = 2: count has 4 executors"
    with pytest.raises(UserError, match=says):
        import_text(tmp_path, COMPLETE, overlay=overlay)


def test_keys_of_a_field_that_the_stream_lacks_make_a_topology_unplayable(tmp_path: Path) -> None:
    keys = "components: {split: {emits: {default: {keys: {wrod: {distinct: 5}}}}}}"
    imported = import_text(tmp_path, COMPLETE, overlay=overlay_of(tmp_path, keys))
    assert "keys of split.default: the stream has no field 'wrod'" in str(imported.missing[0])
    assert imported.playable is None


def test_a_topology_is_refused_as_an_overlay(tmp_path: Path) -> None:
    path = tmp_path / "o.yaml"
    path.write_text("storm_lab: topology/1\n")
    with pytest.raises(UserError, match="must be one of: overlay/1"):
        import_text(tmp_path, FLUX, overlay=path)
