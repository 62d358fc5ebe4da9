"""Grouped bars: one bar a variant and group, a cross where there is none, in the order of the table."""

import pandas as pd
import pytest

from storm_lab.errors import UserError
from storm_lab.reporting.figures.grouped_bars import grouped_bars
from storm_lab.reporting.figures.style import About

ROWS = pd.DataFrame(
    [("S2", "a", 1, 4.0), ("S2", "a", 2, 6.0), ("S1", "a", 1, 3.0), ("S1", "a", 2, 3.0), ("S1", "b", 1, 1.0)],
    columns=["scenario", "variant", "seed", "rate"],
)


def drawn(rows: pd.DataFrame = ROWS):  # type: ignore[no-untyped-def]
    return grouped_bars(
        rows, {"rate": "tuples/s"}, group="scenario", variants=("a", "b"), about=About(seeds=2), title="T"
    )


def test_bars_are_means_in_the_tables_order() -> None:
    (axis,) = drawn().axes
    assert [text.get_text() for text in axis.get_xticklabels()] == ["S2", "S1"]
    assert [bar.get_height() for bar in axis.containers[0]] == [5.0, 3.0]
    assert axis.get_ylabel() == "tuples/s"


def test_a_missing_cell_is_a_cross_and_is_explained() -> None:
    figure = drawn()
    (axis,) = figure.axes
    assert [line.get_marker() for line in axis.lines] == ["x"]
    assert "refused" in figure.get_supxlabel()


def test_a_cell_without_a_value_is_a_cross_too_and_is_explained_with_one_seed() -> None:
    rows = ROWS.assign(rate=ROWS["rate"].where(ROWS["variant"] == "a"))
    figure = grouped_bars(
        rows, {"rate": "tuples/s"}, group="scenario", variants=("a", "b"), about=About(seeds=1)
    )
    assert len(figure.axes[0].lines) == 2, "never measured, and measured as nothing"
    assert "refused" in figure.get_supxlabel()


def test_complete_groups_need_no_cross() -> None:
    figure = drawn(
        ROWS[ROWS["variant"] == "a"]
        .assign(variant="b")
        .pipe(lambda b: pd.concat([ROWS[ROWS["variant"] == "a"], b]))
    )
    assert "refused" not in figure.get_supxlabel()


def test_a_missing_column_is_named() -> None:
    with pytest.raises(UserError, match="rate"):
        drawn(ROWS.drop(columns="rate"))
