"""Which libraries' versions are part of the identity of a run or a notebook."""

from __future__ import annotations

from storm_lab.machine.places import checkout
from storm_lab.runs.digest import PLAYING, SHOWING, library_digest, locked

LOCK = """# Exact versions
ipython==9.7.0 ; python_full_version >= '3.12'
numba==0.62.1
numpy==2.3.4
pytest==9.2.0
"""


def test_only_the_libraries_that_play_runs_count():
    assert locked(LOCK, PLAYING) == ["numba==0.62.1", "numpy==2.3.4"]
    assert locked(LOCK.replace("9.2.0", "9.1.0"), PLAYING) == locked(LOCK, PLAYING)
    assert locked(LOCK.replace("0.62.1", "0.62.0"), PLAYING) != locked(LOCK, PLAYING)


def test_a_version_for_some_pythons_is_found_with_its_condition():
    assert locked(LOCK, ("ipython",)) == ["ipython==9.7.0 ; python_full_version >= '3.12'"]


def test_each_of_these_libraries_is_locked():
    root = checkout()
    assert root is not None
    lines = locked((root / "requirements.lock").read_text(encoding="utf-8"), SHOWING)
    assert {line.partition("==")[0] for line in lines} == set(SHOWING)


def test_runs_and_notebooks_differ_in_what_they_depend_on():
    assert library_digest(PLAYING) != library_digest(SHOWING)
