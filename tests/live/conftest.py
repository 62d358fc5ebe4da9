"""Fixtures for tests that start real Storm: whether it can be started, and that nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.live.java_build import player_jar
from storm_lab.live.records import Place
from storm_lab.live.releases import RELEASES
from tests.live.leavings import assert_nothing_is_left


@pytest.fixture(scope="session")
def why_not_live() -> str | None:
    """Return why real Storm cannot be started here, such as Maven Central not answering, or None."""
    try:
        for release in RELEASES.values():
            player_jar(release)
    except UserError as error:
        if error.field == "jar":
            raise  # a fetched jar differs from the one in the lock
        return str(error)
    return None


@pytest.fixture(autouse=True)
def live_machine(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Give each test marked `live` its own clusters and check that none is left; skip it without Storm."""
    if request.node.get_closest_marker("live") is None:
        yield
        return
    if (why := request.getfixturevalue("why_not_live")) is not None:
        pytest.skip(why)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    made: list[Place] = []
    make = Place.make

    def noted(version: str) -> Place:
        place = make(version)
        made.append(place)
        return place

    monkeypatch.setattr(Place, "make", noted)
    yield
    for place in made:
        # Check the last record, so that resources noted while the cluster ran are checked, too.
        assert_nothing_is_left(place.record)
