"""Python components of a Flux file are run over their input, with the interface of storm.py."""

from pathlib import Path

import pytest

from storm_lab.workloads.importers.importing import import_topology
from tests.importers.reading import executions, overlay_of, ready, unusable_text

SPLIT = """
import storm


class SplitSentenceBolt(storm.BasicBolt):
    def process(self, tup):
        words = tup.values[0].split(" ")
        for word in words:
            storm.emit([word])


SplitSentenceBolt().run()
"""
COUNT = """
import storm
from storm import Bolt, ack, emit, fail, logInfo


class Count(Bolt):
    def initialize(self, conf, context):
        self.counts = {}
        assert conf["my.key"] == "mine"

    def process(self, tup):
        if tup.stream == "__tick":
            emit(["total", len(self.counts)], stream="totals")
            ack(tup)
            return
        word = tup.values[0]
        self.counts[word] = self.counts.get(word, 0) + 1
        logInfo("counted")
        if word == "cow":
            fail(tup)
            return
        tasks = emit([word, self.counts[word]], anchors=[tup])
        assert isinstance(tasks, list)
        ack(tup)


if __name__ == "__main__":
    Count().run()
"""
LINES = """
import random
import storm


class Lines(storm.Spout):
    LINES = ["the cow jumped over the moon", "an apple a day"]

    def initialize(self, conf, context):
        self.n = 0

    def nextTuple(self):
        self.n += 1
        storm.emit([random.choice(self.LINES)], id=self.n)


Lines().run()
"""
FLUX = """
name: multilang
spouts:
  - id: lines
    className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
    constructorArgs: [["python3", "lines.py"], ["line"]]
bolts:
  - id: split
    className: org.apache.storm.flux.wrappers.bolts.FluxShellBolt
    constructorArgs: [["python", "splitsentence.py"], ["word"]]
    parallelism: 2
  - id: count
    className: org.apache.storm.flux.wrappers.bolts.FluxShellBolt
    constructorArgs: [["/usr/bin/python3", "-u", "count.py"], ["word", "n"]]
    configMethods:
      - {name: setNamedStream, args: [totals, [what, n]]}
      - {name: addComponentConfig, args: [topology.tick.tuple.freq.secs, 2]}
      - {name: addComponentConfig, args: [my.key, mine]}
    parallelism: 2
  - {id: log, className: demo.Log}
streams:
  - {from: lines, to: split, grouping: {type: SHUFFLE}}
  - {from: split, to: count, grouping: {type: FIELDS, args: [word]}}
  - {from: count, to: log, grouping: {type: SHUFFLE}}
  - {from: count, to: log, grouping: {type: SHUFFLE, streamId: totals}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    resources = tmp_path / "resources"
    resources.mkdir()
    (resources / "splitsentence.py").write_text(SPLIT)
    (resources / "count.py").write_text(COUNT)
    (resources / "lines.py").write_text(LINES)
    path = tmp_path / "topology.yaml"
    path.write_text(FLUX)
    return path


def test_scripts_are_run_over_what_their_spout_emits(project: Path) -> None:
    imported = import_topology(project, run_python=True)
    playable = ready(imported)
    assert playable.calls.components == {"lines", "split", "count"}
    assert playable.sources["lines"].anchored
    counts = executions(playable)
    assert counts["lines"] == counts["split"] == 1000
    assert 4 * 1000 < counts["count"] < 6 * 1000
    # Java components are played by their figures.
    assert "running log: it is not Python: it is Java" in unusable_text(imported)
    assert "of count: they failed their tuples" in unusable_text(imported)
    assert playable.topology.component("count").tick_seconds == 2.0
    tick = playable.calls.ticks["count"].emits
    assert [(emit.stream, emit.values[0]) for emit in tick] == [("totals", "total")]


def test_nothing_is_run_unless_requested(project: Path) -> None:
    assert not ready(import_topology(project)).calls.components


def test_given_records_replace_a_spout_in_java(project: Path, tmp_path: Path) -> None:
    text = FLUX.replace("org.apache.storm.flux.wrappers.spouts.FluxShellSpout", "demo.KafkaSpout")
    text = text.replace('    constructorArgs: [["python3", "lines.py"], ["line"]]\n', "")
    project.write_text(text)
    imported = import_topology(project, run_python=True)
    assert not ready(imported).calls.components
    assert "running split: what it reads could not be run" in unusable_text(imported)
    (tmp_path / "book.txt").write_text("the cow\njumped over the moon\n")
    overlay = overlay_of(tmp_path, "components: {lines: {records: book.txt}}")
    playable = ready(import_topology(project, run_python=True, overlay=overlay))
    assert playable.calls.components == {"lines", "split", "count"}
    assert executions(playable)["count"] == 6


def test_missing_scripts_are_reported(project: Path, tmp_path: Path) -> None:
    (tmp_path / "resources" / "count.py").unlink()
    imported = import_topology(project, run_python=True)
    assert "running count: /usr/bin/python3 -u count.py: no Python of this name" in unusable_text(imported)
    assert ready(imported).calls.components == {"lines", "split"}


def test_classes_that_streamparse_starts_are_found(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "mine.py").write_text(
        "from streamparse import Spout, Bolt\n"
        "class S(Spout):\n    def next_tuple(self):\n        self.emit([1], stream='n')\n"
        "class B(Bolt):\n    def process(self, tup):\n        assert tup.values.n == 1\n"
    )
    text = """
name: from streamparse
spouts:
  - id: s
    className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout
    constructorArgs: [[streamparse_run, mine.S], [NONE_BUT_FLUX_WANTS_SOMETHING_HERE]]
    configMethods: [{name: setNamedStream, args: [n, [n]]}]
bolts:
  - id: b
    className: org.apache.storm.flux.wrappers.bolts.FluxShellBolt
    constructorArgs: [[streamparse_run, "-s json mine.B"], [NONE_BUT_FLUX_WANTS_SOMETHING_HERE]]
streams: [{from: s, to: b, grouping: {type: SHUFFLE, streamId: n}}]
"""
    (tmp_path / "t.yaml").write_text(text)
    playable = ready(import_topology(tmp_path / "t.yaml", run_python=True))
    assert playable.topology.component("s").outputs == {"n": ("n",)}
    assert playable.calls.components == {"s", "b"}


@pytest.mark.parametrize(("parallelism", "noted"), [(1, False), (2, True)])
def test_a_partial_key_grouping_is_run_with_one_task_per_key(
    project: Path, parallelism: int, noted: bool
) -> None:
    text = FLUX.replace("type: FIELDS", "type: PARTIAL_KEY").replace(
        "parallelism: 2\n  - {id: log", f"parallelism: {parallelism}\n  - {{id: log"
    )
    project.write_text(text)
    imported = import_topology(project, run_python=True)
    ready(imported)
    assert (
        "partial-key grouping to count: run with one task per key, not two" in unusable_text(imported)
    ) == noted
