"""Long work says how far it is: a bar in a terminal or notebook, a line now and then in a log."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from storm_lab.runs import progress


def test_a_log_gets_a_line_when_enough_time_has_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 10.0, 31.0, 40.0, 62.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.progress_bar(2, show=True, what="emulating") as advance:
        for share in (0.25, 0.5, 0.75, 1.0):
            advance(0, share)
    assert capsys.readouterr().err.splitlines() == [
        "emulating: 25 % after 31 s",
        "emulating: 50 % after 62 s",
    ]


def test_nothing_is_said_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LINE_S", 0.0)
    with progress.progress_bar(1, show=False) as advance:
        advance(0, 0.5)
    assert capsys.readouterr().err == ""


_CELL = """
from storm_lab.runs import progress
progress._REDRAW_S = 0.0
with progress.progress_bar(1, show=False, what="emulating") as advance:
    advance(0, 0.5)
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    manager, client = start_new_kernel()
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize(("by_hand", "shown"), [(True, ["", "emulating 50%", ""]), (False, [])])
def test_a_cell_has_a_bar_while_somebody_executes_it_by_hand(
    kernel: Any, by_hand: bool, shown: list[str]
) -> None:
    found: list[str] = []

    def keep(message: dict[str, Any]) -> None:
        if message["msg_type"] in ("display_data", "update_display_data"):
            found.append(message["content"]["data"]["text/html"])

    kernel.execute_interactive(_CELL, allow_stdin=by_hand, output_hook=keep, timeout=60)
    assert [re.sub("<.*> |, .*", "", text) for text in found] == shown
