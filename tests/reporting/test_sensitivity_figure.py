"""The sensitivity figure: its rows and marks show the given values, and its layout gives no warning."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest

from storm_lab.errors import UserError
from storm_lab.reporting.figures.printed import Printed
from storm_lab.reporting.figures.sensitivity import sensitivity
from storm_lab.reporting.figures.style import About

VALUES = pd.DataFrame(
    [
        ("as set", "linear", 40.0, 28.0),
        ("as set", "star", 30.0, 23.0),
        ("window of 4", "linear", -11.0, -12.0),
        ("window of 4", "star", -15.0, -17.0),
    ],
    columns=["label", "series", "gain", "share"],
)
PANELS = {"gain": "divided by default's, %", "share": "divided by R-Storm's, %"}
ABOUT = About(seeds=5, warm_up_s=60)


def test_each_series_has_a_mark_in_each_row_and_the_printed_value_as_a_line() -> None:
    figure = sensitivity(VALUES, PANELS, about=ABOUT, printed={"linear": Printed("x", 50.0, 45.0, 55.0)})
    first, second = figure.axes
    assert [text.get_text() for text in first.get_yticklabels()] == ["as set", "window of 4"]
    by = {line.get_label(): line for line in first.lines}
    assert list(by["linear"].get_xdata()) == [40.0, -11.0]
    assert [round(float(y)) for y in by["star"].get_ydata()] == [0, 1]
    assert [list(line.get_xdata()) for line in second.lines if line.get_label() == "star"] == [[23.0, -17.0]]
    assert [50.0, 50.0] in [list(line.get_xdata()) for line in first.lines]


def test_numbers_on_logarithmic_axes_beside_each_other_do_not_touch() -> None:
    wide = VALUES.assign(gain=[50.0, 300.0, 2000.0, 20000.0], share=[40.0, 800.0, 9000.0, 3000.0])
    figure = sensitivity(wide, PANELS, about=ABOUT, logarithmic=True)
    figure.canvas.draw()
    for axis in figure.axes:
        low, high = axis.get_xlim()
        labels = [
            label.get_window_extent()
            for place, label in zip(axis.get_xticks(), axis.get_xticklabels(), strict=True)
            if low <= place <= high
        ]
        assert len(labels) >= 2
        assert all(left.x1 < right.x0 for left, right in pairwise(labels))


def test_a_value_far_beyond_the_others_is_written_at_the_edge_of_the_axis() -> None:
    figure = sensitivity(VALUES.assign(gain=[40.0, 30.0, 3025.0, -15.0]), PANELS, about=ABOUT, most=200.0)
    first, second = figure.axes
    assert [list(line.get_xdata()) for line in first.lines if line.get_label() == "linear"] == [[40.0, 200.0]]
    assert first.get_xlim()[1] < 250
    assert [text.get_text() for text in first.texts] == ["3025 →"] and not second.texts
    assert "→ beyond the axis" in figure.get_supxlabel()
    assert "→" not in sensitivity(VALUES, PANELS, about=ABOUT, most=200.0).get_supxlabel()


def test_a_missing_column_is_named() -> None:
    with pytest.raises(UserError, match="share"):
        sensitivity(VALUES.drop(columns="share"), PANELS, about=ABOUT)
