"""The migration figure: tuples lost and held, as the control log's details count them."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from storm_lab.errors import UserError
from storm_lab.reporting.figures.migration_gantt import (
    BUFFERED,
    LOST,
    draw_fates,
    migration_gantt,
    tuple_fates,
)
from storm_lab.reporting.figures.style import About, house_style

CONTROL = pd.DataFrame(
    [
        (50.0, "nimbus", "assign", "topology", '{"moved":1}'),
        (52.0, "worker:1", "stop-executor", "count[9,9]", '{"lost_executing":1,"lost_receive_queue":4}'),
        (52.0, "supervisor:a", "kill-worker", "a:6701", '{"lost_receive_queue":0,"lost_transfer_queue":7}'),
        (58.0, "worker:2", "start-executor", "count[9,9]", '{"slot":"b:1"}'),
        (58.1, "worker:3", "send-buffered", "b:6700", '{"tuples":12}'),
        (58.1, "worker:4", "send-buffered", "b:6701", '{"tuples":3}'),
    ],
    columns=["time_s", "actor", "action", "subject", "detail"],
)
STAYS = pd.DataFrame(
    [
        ("count", 9, 16.0, 52.0, 1, "a"),
        ("count", 9, 58.0, 100.0, 2, "b"),
        ("count", 8, 16.0, 100.0, 1, "a"),
    ],
    columns=["component", "start_task", "from_s", "to_s", "worker", "node"],
)


def test_lost_tuples_are_counted_by_the_place_where_they_were_lost() -> None:
    fates = tuple_fates(CONTROL)
    lost = fates[fates["kind"] == LOST].set_index("place")["tuples"]
    assert lost.to_dict() == {"executing": 1, "receive_queue": 4, "transfer_queue": 7}


def test_held_tuples_are_counted_when_their_senders_send_them() -> None:
    fates = tuple_fates(CONTROL)
    assert fates.loc[fates["kind"] == BUFFERED, "tuples"].tolist() == [12, 3]


def test_a_log_without_details_has_no_fates() -> None:
    assert tuple_fates(CONTROL.assign(detail="")).empty
    assert tuple_fates(CONTROL.head(0)).empty


def test_a_damaged_detail_is_refused() -> None:
    with pytest.raises(UserError, match="not JSON"):
        tuple_fates(CONTROL.assign(detail="{"))


def test_bars_go_up_for_held_and_down_for_lost_tuples_and_the_legend_adds_them_up() -> None:
    with house_style():
        axes = Figure().subplots()
        draw_fates(axes, tuple_fates(CONTROL), 50.0, 60.0)
    assert sorted(round(bar.get_height()) for bar in axes.patches) == [-12, 15]
    assert [text.get_text() for text in axes.texts] == ["15", "12"]
    legend = [text.get_text().split("\n")[0] for text in axes.get_legend().get_texts()]
    assert legend == ["buffered 15", "lost 12"]


def test_the_figure_shows_stop_transfer_start_and_the_tuples_lost_with_the_thread() -> None:
    figure = migration_gantt(STAYS, CONTROL, start_s=48.0, end_s=62.0, about=About(seeds=1))
    _, middle, _ = figure.axes
    assert [label.get_text() for label in middle.get_yticklabels()] == ["count 9"]
    bars = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in middle.patches)
    assert bars == [(48.0, 52.0), (58.0, 62.0)]
    assert {text.get_text() for text in middle.texts} == {"6.0 s", "5 lost"}


def test_two_executors_that_run_at_the_same_time_have_no_transfer_between_them() -> None:
    stays = STAYS.assign(to_s=[60.0, 100.0, 100.0])
    figure = migration_gantt(stays, CONTROL.assign(detail=""), start_s=48.0, end_s=62.0, about=About(seeds=1))
    assert [text.get_text() for text in figure.axes[1].texts] == []
