"""Long work says how far it is: a bar in a terminal, a line now and then in a log."""

import pytest

from storm_lab.runs import execute


def test_a_log_gets_a_line_when_enough_time_has_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 10.0, 31.0, 40.0, 62.0])
    monkeypatch.setattr(execute.time, "monotonic", lambda: next(clock))
    with execute.progress_bar(2, show=True, what="emulating") as advance:
        for share in (0.25, 0.5, 0.75, 1.0):
            advance(0, share)
    assert capsys.readouterr().err.splitlines() == [
        "emulating: 25 % after 31 s",
        "emulating: 50 % after 62 s",
    ]


def test_nothing_is_said_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(execute, "_LINE_S", 0.0)
    with execute.progress_bar(1, show=False) as advance:
        advance(0, 0.5)
    assert capsys.readouterr().err == ""
