"""Adapting one set of Java sources to all generations of Storm."""

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


def test_conditional_lines_are_left_out_where_their_condition_does_not_hold():
    assert _kept("2.8.3") == ["from one on", "always"]
    assert _kept("1.2.4") == ["from one on", "only one", "always"]
    assert _kept("0.9.2") == ["before one", "always"]


def test_from_includes_its_version_and_before_excludes_it():
    assert "from one on" in _kept("1.0.0")
    assert "only one" not in _kept("2.0.0")


def test_lines_keep_their_numbers_for_messages_of_the_compiler():
    text = adapted_to(_TEXT, find_release("0.9.2"))
    assert text.count("\n") == _TEXT.count("\n")
    assert text.splitlines().index("always") == _TEXT.splitlines().index("always")


def test_packages_are_renamed_to_those_of_the_release():
    text = adapted_to(_TEXT, find_release("0.9.2"))
    assert "import backtype.storm.task.TopologyContext;" in text
    assert "import org.json.simple.JSONValue;" in text


@pytest.mark.parametrize("text", ["//@ from 1.0\n", "//@ end\n"])
def test_an_unbalanced_block_is_an_error(text: str):
    with pytest.raises(ValueError, match="end"):
        adapted_to(text, find_release("1.2.4"))


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda release: release.version)
def test_all_sources_of_the_player_can_be_adapted_to_every_release(release: Release):
    sources = read_sources("stormlab")
    assert "stormlab/TraceBolt.java" in sources
    others = {"org.apache.storm", "net.minidev.json"} - {release.package, release.json_package}
    for path, text in sources.items():
        left = adapted_to(text, release).replace(release.json_package, "")
        assert "//@" not in left, path
        assert not any(other in left for other in others), path


def test_a_line_without_emissions_is_acked_so_that_its_caller_makes_the_next_call():
    source = read_sources("stormlab")["stormlab/TraceSpout.java"]
    played = source.partition("Burner.burn(trace.cpuNs(record));")[2].partition("@Override")[0]
    assert "ack(current);" in played
    assert "return" not in played
