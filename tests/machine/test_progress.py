"""Long work reports its progress: a bar in a terminal or notebook, occasional lines in a log."""

import re
import time
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from storm_lab.machine import progress


def test_a_log_gets_lines_at_intervals_even_without_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LINE_S", 0.01)
    with progress.progress_bar(2, show=True, what="emulating") as advance:
        advance(0, 0.5)
        time.sleep(1)
    said = capsys.readouterr().err
    assert said.splitlines()[1:3] == ["emulating: 25 % after 0 s, about 0 s to go"] * 2


@pytest.mark.parametrize(
    ("lengths_s", "share"), [([30.0, 10.0], 75), ([0.0, 0.0], 50)], ids=["known", "none known"]
)
def test_a_task_counts_by_its_expected_length_or_like_the_others_if_there_is_none(
    lengths_s: list[float], share: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LINE_S", 0.01)
    with progress.progress_bar(lengths_s, show=True) as advance:
        advance(0, 1.0)
        time.sleep(0.5)
    assert f"emulating: {share} % after 0 s, about 0 s to go" in capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0, "0 s"), (299.4, "299 s"), (300.0, "5 min"), (4000, "67 min")]
)
def test_times_of_five_minutes_or_more_are_given_in_minutes(seconds: float, said: str) -> None:
    assert progress._time(seconds) == said


def test_nothing_is_printed_unless_requested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LINE_S", 0.0)
    with progress.progress_bar(1, show=False) as advance:
        advance(0, 0.5)
    assert capsys.readouterr().err == ""


_CELL = """
import time
from storm_lab.machine import progress
progress._REDRAW_S = 0.05
with progress.progress_bar(1, show=False, what="emulating") as advance:
    advance(0, 0.5)
    time.sleep(1)
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    manager, client = start_new_kernel()
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize(("by_hand", "shown"), [(True, ["", "emulating 50%", ""]), (False, [])])
def test_a_cell_shows_a_bar_only_if_a_user_executes_it(kernel: Any, by_hand: bool, shown: list[str]) -> None:
    found: list[str] = []

    def keep(message: dict[str, Any]) -> None:
        if message["msg_type"] in ("display_data", "update_display_data"):
            found.append(message["content"]["data"]["text/html"])

    kernel.execute_interactive(_CELL, allow_stdin=by_hand, output_hook=keep, timeout=60)
    # The bar is redrawn even without progress.
    assert [text for text, _ in groupby(re.sub("<.*> |, .*", "", text) for text in found)] == shown
