"""One set of Java sources for all generations of Storm."""

from dataclasses import replace

import pytest

from storm_lab.live.java_build import adapted_to, read_sources
from storm_lab.live.releases import RELEASES, Release, find_release
from storm_lab.model.version import StormVersion

_TEXT = """import org.apache.storm.task.TopologyContext;
import net.minidev.json.JSONValue;
//@ from 1.0
from one on
//@ before 2.0
only one
//@ end
//@ end
    //@ before 1.0
before one
    //@ end
always
"""


def _kept(version: str) -> list[str]:
    text = adapted_to(_TEXT, replace(RELEASES["2.8.3"], storm=StormVersion.parse(version)))
    return [line for line in text.splitlines()[2:] if line]


def test_lines_between_marks_are_left_out_where_their_condition_does_not_hold():
    assert _kept("2.8.3") == ["from one on", "always"]
    assert _kept("1.2.4") == ["from one on", "only one", "always"]
    assert _kept("0.9.2") == ["before one", "always"]


def test_the_version_of_a_mark_itself_belongs_to_from():
    assert "from one on" in _kept("1.0.0")
    assert "only one" not in _kept("2.0.0")


def test_lines_keep_their_numbers_so_that_the_compiler_names_the_right_ones():
    text = adapted_to(_TEXT, find_release("0.9.2"))
    assert text.count("\n") == _TEXT.count("\n")
    assert text.splitlines().index("always") == _TEXT.splitlines().index("always")


def test_packages_become_those_of_the_release():
    text = adapted_to(_TEXT, find_release("0.9.2"))
    assert "import backtype.storm.task.TopologyContext;" in text
    assert "import org.json.simple.JSONValue;" in text


@pytest.mark.parametrize("text", ["//@ from 1.0\n", "//@ end\n"])
def test_a_block_that_is_not_closed_or_closed_twice_is_an_error(text: str):
    with pytest.raises(ValueError, match="end"):
        adapted_to(text, find_release("1.2.4"))


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda release: release.version)
def test_all_sources_of_the_player_can_be_fitted(release: Release):
    sources = read_sources("stormlab")
    assert "stormlab/TraceBolt.java" in sources
    others = {"org.apache.storm", "net.minidev.json"} - {release.package, release.json_package}
    for path, text in sources.items():
        left = adapted_to(text, release).replace(release.json_package, "")
        assert "//@" not in left, path
        assert not any(other in left for other in others), path
