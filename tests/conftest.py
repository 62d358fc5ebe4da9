"""What every test may use: the reference folder that may lie beside the checkout, and the code with edits."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from storm_lab.identity.closure import PACKAGE, Code, own_code
from storm_lab.pipeline.session import spark_session

# A loaded machine is no failure: how long an example takes is never tested.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Reference material that is not part of the project; tests marked `shared` compare with it where it is."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # Of several processes one gets all that needs Spark: a session's first queries take half a minute.
        spark = item.get_closest_marker("spark") is not None
        item.add_marker(pytest.mark.xdist_group("spark" if spark else item.nodeid.split("::")[0]))
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


@pytest.fixture(autouse=True)
def brief_session(request: pytest.FixtureRequest) -> None:
    """Let the one Spark session of a test's process be one for small jobs, whoever asks for it first."""
    if request.node.get_closest_marker("spark") is not None:
        spark_session(brief=True)


@pytest.fixture(scope="session")
def edited() -> Callable[[str, str, str], Code]:
    """Gives the package's code as if a pattern had been replaced in a file, where it stands once."""

    def edit(file: str, pattern: str, replacement: str) -> Code:
        place = PACKAGE / file
        text, count = re.subn(pattern, replacement, place.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert count == 1, f"{pattern} stands {count} times in {file}"

        def read(path: Path) -> str:
            return text if path == place else path.read_text(encoding="utf-8")

        code = Code(read=read)
        # What is not edited need not be parsed again.
        parsed = own_code()._modules.items()
        code._modules = {name: known for name, known in parsed if known is not None and known.path != place}
        return code

    return edit
