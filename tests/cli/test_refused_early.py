"""What a command cannot do is refused in one line before its work begins."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from storm_lab.errors import UserError
from storm_lab.tournament.commands import compare
from storm_lab.tournament.tournament import Tournament


def _plays(*given: object, **options: object) -> None:
    raise AssertionError("it plays")


def test_a_scheduler_is_not_compared_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tournament, "play", _plays)
    said = CliRunner().invoke(compare, ["tstorm", "tstorm"])
    assert isinstance(said.exception, UserError)
    assert str(said.exception).startswith("B = 'tstorm': A and B are the same scheduler; give another one")
