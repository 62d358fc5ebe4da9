"""Figures: labels and marks have room, so that they neither hide data nor touch each other."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from storm_lab.reporting.figures.dependence import dependence, nodes_by_gamma, trade_off
from storm_lab.reporting.figures.migration_gantt import migration_gantt
from storm_lab.reporting.figures.placement_map import placement_map
from storm_lab.reporting.figures.printed import Mark, Printed
from storm_lab.reporting.figures.sensitivity import sensitivity
from storm_lab.reporting.figures.style import About
from storm_lab.reporting.figures.time_series import Event, Panel, time_series

ABOUT = About(seeds=1)
LEVEL = "tstorm-fig6a-tstorm-ms"


def overlapping(texts: list[Text]) -> list[tuple[str, str]]:
    """Pairs of texts that touch; the figure must have been drawn."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    return [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)]


def over_time(levels: dict[str, float], until_s: int = 100) -> pd.DataFrame:
    rows = [(name, 1, float(t), level) for name, level in levels.items() for t in range(0, until_s + 1, 10)]
    return pd.DataFrame(rows, columns=["variant", "seed", "t_s", "ms"])


def drawn(figure: Figure) -> Axes:
    figure.draw_without_rendering()
    return figure.axes[0]


@pytest.mark.parametrize("at", [[16, 4], [4, 7, 10, 13, 16]])
def test_printed_numbers_at_neighbouring_places_do_not_overlap(at: list[int]) -> None:
    points = pd.DataFrame({"x": at, "y": 5.0})
    numbers = {float(place): Printed(LEVEL, 5.0, 4.0, 6.0) for place in (16, 13, 10, 7, 4)}
    figure = dependence(points, x="x", values={"y": "y"}, x_label="x", note="", printed={"y": numbers})
    (axes,) = figure.axes
    ends = sorted(
        tuple(sorted(line.get_xdata())) for line in axes.lines if str(line.get_gid()).startswith("claim:")
    )
    assert len(ends) == 5 and all(left[1] < right[0] for left, right in pairwise(ends))


def test_a_printed_number_at_one_place_is_wide_enough_to_be_seen() -> None:
    points = pd.DataFrame({"x": [1.7, 1.8, 6.0, 1.0], "y": 5.0})
    numbers = {1.7: Printed(LEVEL, 80.0, 70.0, 90.0)}
    figure = dependence(points, x="x", values={"y": "y"}, x_label="x", note="", printed={"y": numbers})
    (axes,) = figure.axes
    (mark,) = (line for line in axes.lines if str(line.get_gid()).startswith("claim:"))
    low, high = mark.get_xdata()
    left, right = axes.get_xlim()
    assert high - low > 0.03 * (right - left)


def test_a_printed_count_is_marked_although_it_is_the_measured_one() -> None:
    nodes = pd.DataFrame({"word-count": [10, 7]}, index=[1.0, 2.0])
    figure = nodes_by_gamma(nodes, {("word-count", 2.0): Printed("tstorm-fig6b-nodes", 7.0, 7.0, 7.0)})
    (axes,) = figure.axes
    assert [list(line.get_data()) for line in axes.lines if line.get_marker() == "o"] == [[[2.0], [7.0]]]


def test_values_beyond_the_axis_in_one_row_are_written_below_each_other() -> None:
    rows = [("one worker", "linear", 50.0), ("one worker", "diamond", 2282.0), ("one worker", "star", 376.0)]
    values = pd.DataFrame([*rows, ("as set", "star", 5.0)], columns=["label", "series", "gain"])
    axes = drawn(sensitivity(values, {"gain": "gain, %"}, about=ABOUT, most=200.0))
    assert [text.get_text() for text in axes.texts] == ["2282 →", "376 →"]
    assert not overlapping(list(axes.texts))


def test_the_label_of_a_reference_line_is_above_it_and_so_above_values_just_below() -> None:
    points = pd.DataFrame({"x": [1.0, 2.0], "y": [0.97, 0.95]})
    figure = dependence(points, x="x", values={"y": "y"}, x_label="x", note="", reference={"as fast": 1.0})
    axes = drawn(figure)
    (text,) = (text for text in axes.texts if text.get_text() == "as fast")
    assert text.get_window_extent().y0 > axes.transData.transform((1.0, 1.0))[1]


def test_labels_of_dots_that_lie_close_together_cover_neither_each_other_nor_a_dot() -> None:
    spots = {"S1": (1.11, 1.11), "S2": (1.04, 1.04), "S3": (1.04, 1.04), "S4": (1.02, 2.04), "S6": (2.2, 3.0)}
    dots = pd.DataFrame(
        [(name, *spot, "k") for name, spot in spots.items()], columns=["name", "x", "y", "kind"]
    )
    figure = trade_off(dots, x="x", y="y", panel="kind", label="name", names={"x": "x", "y": "y"}, note="")
    axes = drawn(figure)
    assert len(axes.texts) == len(spots) and not overlapping(list(axes.texts))
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(box.contains(*axes.transData.transform(spot)) for box in boxes for spot in spots.values())


def test_the_label_of_an_event_is_where_no_line_runs() -> None:
    values = over_time({"a": 95.0})
    panel = Panel("a panel", {"line": "a"}, (Event(40.0),))
    axes = drawn(time_series(values, [panel], value="ms", unit="ms", about=ABOUT))
    (label,) = axes.texts
    box = label.get_window_extent()
    line = axes.transData.transform((50.0, 95.0))[1]
    assert not box.y0 - 3 < line < box.y1 + 3
    assert label.get_zorder() < axes.lines[0].get_zorder(), "a label never hides a line"


def test_a_printed_level_says_to_which_line_it_belongs() -> None:
    marks = (Mark(Printed(LEVEL, 16.2, 15.0, 17.0), from_s=50.0, of="T-Storm"),)
    panel = Panel("gamma 1", {"T-Storm": "a", "Storm": "b"}, printed=marks)
    axes = drawn(time_series(over_time({"a": 16.3, "b": 16.9}), [panel], value="ms", unit="ms", about=ABOUT))
    (label,) = axes.texts
    assert label.get_text() == "T-Storm, printed"
    assert label.get_window_extent().y1 < axes.transData.transform((90.0, 16.2))[1], "lines are above"


def test_the_names_of_two_printed_levels_do_not_overlap() -> None:
    levels = {"n5w5": 4.2, "n5w10": 5.2}
    marks = tuple(
        Mark(Printed(LEVEL, level, level - 0.2, level + 0.2), of=name) for name, level in levels.items()
    )
    panel = Panel("chain", {"n1w1": "a", "n5w5": "b", "n5w10": "c"}, printed=marks)
    values = over_time({"a": 3.1, "b": 5.3, "c": 5.5})
    axes = drawn(time_series(values, [panel], value="ms", unit="ms", about=ABOUT))
    assert len(axes.texts) == 2 and not overlapping(list(axes.texts))


def test_a_legend_does_not_repeat_the_title_of_a_panel() -> None:
    panels = [Panel("Storm", {"Storm": "a"}), Panel("gamma 1", {"T-Storm": "a"})]
    figure = time_series(over_time({"a": 5.0}), panels, value="ms", unit="ms", about=ABOUT)
    assert [axes.get_legend() is None for axes in figure.axes] == [True, False]


def test_a_long_legend_does_not_cover_the_title_of_its_panel() -> None:
    names = ("5 spouts, one worker", "5 spouts, five nodes", "1 spout, one worker")
    panel = Panel("a bolt takes 1.2 ms", dict(zip(names, "abc", strict=True)))
    values = over_time({"a": 5.0, "b": 6.0, "c": 7.0})
    axes = drawn(time_series(values, [panel], value="ms", unit="ms", about=ABOUT))
    title = next(text for text in (axes.title, axes._left_title) if text.get_text())  # type: ignore[attr-defined]
    legend = axes.get_legend()
    assert legend is not None
    upper, lower = legend.get_window_extent(), title.get_window_extent()
    assert upper.y0 >= lower.y1 - 1


def test_a_thinned_out_migration_shows_every_component() -> None:
    parts = {"acker": 8, "count": 24, "drpc": 8, "split": 12}
    kinds = [name for name, number in parts.items() for _ in range(number)]
    stays = pd.DataFrame(
        [
            (kind, task, begin, end, "w", f"node{task % 2}")
            for task, kind in enumerate(kinds, 1)
            for begin, end in ((0.0, 50.0), (60.0, 100.0))
        ],
        columns=["component", "start_task", "from_s", "to_s", "worker", "node"],
    )
    control = pd.DataFrame(
        [(50.0, "nimbus", "assign", "t", "")], columns=["time_s", "actor", "action", "subject", "detail"]
    )
    figure = migration_gantt(stays, control, start_s=40.0, end_s=70.0, about=ABOUT)
    rows = figure.axes[1]
    shown = {label.get_text().split()[0] for label in rows.get_yticklabels()}
    assert shown == set(parts)
    assert f"{len(rows.get_yticks())} of {len(kinds)}" in rows.get_title(loc="left")


def test_numbers_of_neighbouring_executors_do_not_touch_on_a_wide_cluster() -> None:
    nodes = [f"pc{number:02}" for number in range(1, 25)]
    tasks = np.arange(10, 82)
    placements = pd.DataFrame(
        {
            "component": [f"bolt_{task // 6}" for task in tasks],
            "start_task": tasks,
            "worker": [f"w{task // 3}" for task in tasks],
            "node": [nodes[(task - 10) // 3] for task in tasks],
            "port": 6700,
        }
    )
    figure = placement_map(placements, nodes, about=ABOUT)
    figure.draw_without_rendering()
    for axes in figure.axes:
        numbers = [text for text in axes.texts if text.get_text() in set(map(str, tasks))]
        assert numbers and not overlapping(numbers)
    (legend,) = figure.legends
    assert "bolt_2, 12 to 17" in [text.get_text() for text in legend.get_texts()]
