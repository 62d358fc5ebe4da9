"""What every test may use: the reference folder that may lie beside the checkout."""

from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine is no failure: how long an example takes is never tested.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Reference material that is not part of the project; tests marked `shared` compare with it where it is."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SHARED.is_dir():
        return
    absent = pytest.mark.skip(reason="no reference folder (../shared) beside the checkout")
    for item in items:
        if item.get_closest_marker("shared") is not None:
            item.add_marker(absent)


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The reference folder; a test that asks for it must be marked `shared`."""
    if not SHARED.is_dir():
        pytest.skip("no reference folder (../shared) beside the checkout")
    return SHARED
