"""Figures: drawn from tidy tables, laid out without overlap, saved with title and text alternative."""

import re
import warnings
from collections.abc import Callable

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from storm_lab.errors import UserError
from storm_lab.reporting.figures.comparison import comparison
from storm_lab.reporting.figures.dependence import Scale, dependence, load_curve
from storm_lab.reporting.figures.latency_distribution import latency_distribution
from storm_lab.reporting.figures.migration_gantt import migration_gantt
from storm_lab.reporting.figures.placement_map import placement_map
from storm_lab.reporting.figures.saved import VARIABLE, read_figure, save_figure, write_formats
from storm_lab.reporting.figures.sensitivity import sensitivity
from storm_lab.reporting.figures.style import (
    GRID,
    INK,
    MUTED,
    PAPER,
    WIDTH,
    About,
    in_force,
    log_ticks,
    natural_key,
    new_figure,
    seed_interval,
)
from storm_lab.reporting.figures.time_series import Event, Panel, time_series
from tests.reporting import example_tables as example
from tests.reporting.test_printed import words

ABOUT = About(seeds=3, warm_up_s=150, baseline="Storm default")
TWO = {"Storm default": "storm-default", "T-Storm": "tstorm-g1.8"}


def series(**changes: object) -> Figure:
    events = (Event(353.0), Event(700.0, "node-3 fails"))
    arguments = {
        "value": "processing_mean_ms",
        "unit": "processing time, ms",
        "about": ABOUT,
        "nodes": example.occupancy(),
        "end_s": 1000.0,
        "panels": [Panel("gamma 1.8", TWO, events)],
    } | changes
    return time_series(example.latency(), **arguments)


def placed() -> pd.DataFrame:
    return in_force(example.stays(), 900)


def sensitivity_of(**options: bool) -> Figure:
    cells = [("as set", "linear", 2000.0, 1.0), ("as set", "star", 30000.0, 2.0),
             ("window of 4", "linear", 500.0, 3.0), ("window of 4", "star", 9000.0, 4.0)]  # fmt: skip
    values = pd.DataFrame(cells, columns=["label", "series", "gain", "share"])
    panels = {"gain": "divided by default's, %", "share": "divided by R-Storm's, %"}
    return sensitivity(values, panels, about=ABOUT, title="Title", **options)


HOUSE_SET: dict[str, Callable[[], Figure]] = {
    "time-series": series,
    "placement-map": lambda: placement_map(placed(), example.NODES, about=ABOUT, title="Map"),
    "latency-distribution": lambda: latency_distribution(
        example.cells(), example.percentiles(), TWO, about=ABOUT
    ),
    "migration-gantt": lambda: migration_gantt(
        example.stays(), example.control(), start_s=295, end_s=400, about=ABOUT
    ),
    "comparison": lambda: comparison(
        example.results(), {"latency_ms": "processing time, ms", "nodes": "nodes used"}, about=ABOUT
    ),
    "sensitivity": sensitivity_of,
    "sensitivity-logarithmic": lambda: sensitivity_of(logarithmic=True),
}


@pytest.mark.parametrize("name", HOUSE_SET)
def test_each_figure_is_laid_out_without_warnings_and_read_back_equal(name, tmp_path):
    with warnings.catch_warnings():
        # Matplotlib warns when something does not fit.
        warnings.simplefilter("error")
        figure = HOUSE_SET[name]()
        saved = save_figure(figure, tmp_path / f"{name}.svg", title=name, alt=f"what {name} shows")
    assert figure.get_figwidth() == WIDTH
    assert read_figure(saved.path) == saved
    assert [item.name for item in tmp_path.iterdir()] == [f"{name}.svg"]


@pytest.mark.parametrize("name", HOUSE_SET)
def test_title_legends_and_foot_are_inside_the_figure_and_do_not_overlap(name):
    figure = HOUSE_SET[name]()
    figure.draw_without_rendering()
    boxes = [item.get_window_extent() for item in (*figure.texts, *figure.legends)]
    for place, box in enumerate(boxes):
        assert box.x0 >= -1 and box.x1 <= figure.bbox.width + 1 and box.y0 >= -1
        assert box.y1 <= figure.bbox.height + 1
        assert not any(box.overlaps(other) for other in boxes[place + 1 :])


@pytest.mark.parametrize("name", ["time-series", "latency-distribution", "comparison"])
def test_the_foot_names_seeds_baseline_and_warm_up(name):
    shown = words(HOUSE_SET[name]())
    for part in ("3 seeds", "baseline: Storm default", "first 150 s left out as warm-up"):
        assert part in shown


def test_the_foot_mentions_steady_states_instead_of_a_warm_up_if_there_is_none():
    about = About(seeds=3, warm_up_s=None, baseline="Storm default")
    shown = words(comparison(example.results(), {"latency_ms": "ms"}, about=about))
    assert "each run in its steady state" in shown and "warm-up" not in shown


def test_the_legend_of_a_load_curve_covers_neither_curves_nor_text():
    rates = np.arange(50.0, 400.0, 50.0)
    rows = pd.DataFrame(
        {"offered_per_s": rates, "latency_ms": 900 / rates, "p99_ms": 9e5 / rates, "acked_per_s": rates}
    )
    figure = load_curve(rows, about=ABOUT, present_per_s=120, title="Load")
    figure.draw_without_rendering()
    upper = figure.axes[0]
    box = upper.get_legend().get_window_extent()
    assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)
    assert not any(box.overlaps(text.get_window_extent()) for text in figure.texts)
    assert box.x1 <= figure.bbox.width + 1 and box.y1 <= figure.bbox.height + 1


def test_the_same_table_gives_the_same_bytes(tmp_path):
    first = save_figure(series(), tmp_path / "a.svg", title="t", alt="a").path.read_bytes()
    assert save_figure(series(), tmp_path / "b.svg", title="t", alt="a").path.read_bytes() == first


def test_the_last_bit_of_a_layout_does_not_change_the_bytes(tmp_path, monkeypatch):
    # The solver of constrained layouts orders variables by their addresses, so its results may differ by it.
    monkeypatch.setenv(VARIABLE, f"{tmp_path}:svg")
    written, exported = [], []
    for left in (0.1, float(np.nextafter(0.1, 1.0))):
        figure = Figure()
        figure.add_axes((left, 0.1, 0.8, 0.8)).plot([0.0, 1.0], marker="o")
        saved = save_figure(figure, tmp_path / f"{left}.svg", title="t", alt="a")
        written.append(saved.path.read_text(encoding="utf-8"))
        write_formats(figure, "exported")
        exported.append((tmp_path / "exported.svg").read_text(encoding="utf-8"))
    assert written[0] == written[1] and exported[0] == exported[1]
    ids = re.findall(r'id="([^"]*)"', written[0])
    assert len(ids) == len(set(ids)) >= 2
    assert set(re.findall(r'(?:url\(|href=")#([^)"]*)', written[0])) == set(ids)


def test_colours_of_text_and_background_follow_the_readers_setting(tmp_path):
    text = save_figure(series(), tmp_path / "a.svg", title="t", alt="a").path.read_text(encoding="utf-8")
    drawing = text[text.index("</style>", text.index("prefers-color-scheme:dark")) :]
    for colour in (INK, MUTED, GRID, PAPER):
        assert colour not in drawing.lower()
    assert "var(--ink)" in drawing and "var(--paper)" in drawing


def test_a_figure_without_a_text_alternative_is_refused(tmp_path):
    with pytest.raises(UserError, match="text alternative"):
        save_figure(series(), tmp_path / "a.svg", title="t", alt=" ")
    with pytest.raises(UserError, match=r"end it in \.svg"):
        save_figure(series(), tmp_path / "a.png", title="t", alt="a")
    assert not list(tmp_path.iterdir())


def test_a_truncated_figure_file_is_refused_by_name(tmp_path):
    path = save_figure(series(), tmp_path / "a.svg", title="t", alt="a").path
    path.write_text(path.read_text(encoding="utf-8")[:2000], encoding="utf-8")
    with pytest.raises(UserError, match=r"a\.svg"):
        read_figure(path)


def test_a_title_with_markup_is_kept_as_text(tmp_path):
    saved = save_figure(series(), tmp_path / "a.svg", title="a < b & c", alt="x > y")
    assert read_figure(saved.path) == saved


def test_drawing_leaves_the_callers_matplotlib_settings_alone():
    before = dict(mpl.rcParams)
    series()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("missing", ["variant", "seed", "t_s", "processing_mean_ms"])
def test_a_missing_column_is_named(missing):
    table = example.latency().drop(columns=missing)
    with pytest.raises(UserError, match=missing):
        time_series(table, [Panel("p", TWO)], value="processing_mean_ms", unit="ms", about=ABOUT)


def test_an_empty_table_is_refused():
    with pytest.raises(UserError, match="nothing to draw"):
        placement_map(placed().iloc[:0], example.NODES, about=ABOUT)


def test_start_up_values_do_not_flatten_the_rest_but_are_marked():
    figure = series()
    axes = figure.axes[0]
    assert axes.get_ylim()[1] < 100 < example.latency()["processing_mean_ms"].max()
    triangles = [line for line in axes.lines if line.get_marker() == "^" and len(line.get_xdata())]
    assert triangles and "above the axis" in words(figure)


def test_faults_and_re_assignments_are_marked_where_they_happened():
    axes = series().axes[0]
    at = {float(line.get_xdata()[0]) for line in axes.lines if len(set(line.get_xdata())) == 1}
    assert {353.0, 700.0} <= at
    assert "node-3 fails" in words(series())


def test_equal_events_close_together_have_one_label_that_counts_them():
    moved = tuple(Event(t_s) for t_s in (100.0, 160.0, 220.0, 700.0))
    figure = series(panels=[Panel("gamma 1.8", TWO, moved)])
    found = [text.get_text() for text in figure.axes[0].texts if "assignment" in text.get_text()]
    assert found == ["3 \N{MULTIPLICATION SIGN} re-assignment", "re-assignment"]


def test_nodes_in_use_are_averaged_over_seeds_as_steps():
    table = pd.DataFrame(
        [("storm-default", 1, 0.0, 10), ("storm-default", 1, 100.0, 4), ("storm-default", 2, 0.0, 10)],
        columns=["variant", "seed", "from_s", "nodes"],
    )
    strip = series(nodes=table).axes[1]
    assert list(strip.lines[0].get_ydata()) == [10, 7, 7]


def test_only_placements_in_force_are_drawn():
    stays = example.stays(used=7, move_at=360)
    assert len(in_force(stays, 100)) == len(in_force(stays, 1000)) == 19
    assert set(in_force(stays, 100)["node"]) == set(example.NODES)
    assert set(in_force(stays, 1000)["node"]) == set(example.NODES[:7])
    with pytest.raises(UserError, match="nothing to draw"):
        in_force(stays, 1)


def test_many_nodes_are_drawn_in_several_rows() -> None:
    names = [f"node-{number}" for number in range(1, 31)]
    figure = placement_map(placed(), names, about=ABOUT)
    assert [len(axes.get_xticks()) for axes in figure.axes] == [12, 12, 6]
    assert words(figure).count("free") == 30 - placed()["node"].nunique()


def test_executors_that_stay_are_counted_and_left_out_of_the_migration():
    figure = HOUSE_SET["migration-gantt"]()
    rows = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert rows[:2] == ["__acker 18", "__acker 19"] and len(rows) == 12
    assert "7 executors stayed" in words(figure)


def test_variants_without_a_result_stay_in_the_comparison():
    table = example.results()
    table.loc[table["variant"] == "R-Storm", "latency_ms"] = np.nan
    assert "no result" in words(comparison(table, {"latency_ms": "ms"}, about=ABOUT))


def test_node_2_comes_before_node_10():
    assert sorted(["node-10", "node-2", "a"], key=natural_key) == ["a", "node-2", "node-10"]


def test_a_single_seed_has_no_band():
    assert seed_interval(pd.Series([3.0])) == (3.0, 3.0)
    low, high = seed_interval(pd.Series([1.0, 2.0, 3.0, np.nan]))
    assert (low, high) == pytest.approx((2 - 2.4841377, 2 + 2.4841377))


def test_the_largest_value_of_a_comparison_is_not_cut_at_the_frame() -> None:
    axes = HOUSE_SET["comparison"]().axes[0]
    assert axes.get_xlim()[1] > 1.02 * example.results()["latency_ms"].max()


@pytest.mark.parametrize("height", [150.0, 300.0])
@pytest.mark.parametrize("scale", [Scale(), Scale(logarithmic=True)])
def test_the_label_of_a_reference_line_is_inside_the_frame(height: float, scale: Scale) -> None:
    points = pd.DataFrame({"x": [1.0, 2.0], "y": [80.0, 302.0]})
    figure = dependence(
        points, x="x", values={"y": "per s"}, x_label="x", note="", reference={"supply": height}, up=scale
    )
    figure.draw_without_rendering()
    (axes,) = figure.axes
    words = next(text for text in axes.texts if text.get_text() == "supply").get_window_extent()
    assert axes.bbox.y0 < words.y0 and words.y1 < axes.bbox.y1


def test_a_logarithmic_axis_has_the_same_tick_labels_at_any_height() -> None:
    numbers = []
    for height in (1.0, 1.4, 4.0):
        axes = new_figure(height).subplots()
        axes.set(yscale="log", ylim=(1.8, 94000))
        log_ticks(axes.yaxis)
        numbers.append([place for place in axes.get_yticks() if 1.8 < place < 94000])
    assert numbers == [[10, 100, 1000, 10000]] * 3, "else a label stands where other numbers left it room"
