"""What every test may use: the reference folder that may lie beside the checkout, and the code with edits."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from storm_lab.identity.closure import PACKAGE, Code, own_code
from storm_lab.pipeline.session import spark_session

# A loaded machine is no failure: how long an example takes is never tested.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

TESTS = Path(__file__).resolve().parent
SHARED = TESTS.parents[1] / "shared"
"""Reference material that is not part of the project; tests marked `shared` compare with it where it is."""


class ByFile(LoadScopeScheduling):
    """Deals tests out to processes by file, and all files with tests that need Spark to one of them.

    A session's first queries take half a minute. Groups of the plugin's own are not kept by pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _process_of(nodeid.split("::")[0])


@cache
def _process_of(file: str) -> str:
    return "spark" if "mark.spark" in (TESTS.parent / file).read_text(encoding="utf-8") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return ByFile(config, log) if config.getoption("dist") == "loadgroup" else None


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder, whose modules are unloaded after the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture(autouse=True)
def brief_session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let the one Spark session of a test's process be one for small jobs, whoever asks for it first."""
    if request.node.get_closest_marker("spark") is None:
        return
    if getattr(request.config.option, "loadgroup", False):
        own = os.environ["PYTEST_XDIST_WORKER"]
        noted = tmp_path_factory.getbasetemp().parent / "spark-process"
        with suppress(FileExistsError), noted.open("x") as file:
            file.write(own)
        assert noted.read_text() == own, "two processes get tests that need Spark"
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
