"""streamparse projects, read as text or run over their input: each is playable or reports what is missing."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from storm_lab.errors import UserError
from storm_lab.model import Grouping
from storm_lab.workloads.importers.export import export_topology
from storm_lab.workloads.importers.importing import import_topology
from tests.importers.reading import assumptions, executions, overlay_of, ready, unusable_text
from tests.importers.streamparse_shapes import PROJECTS, Project, one_file, ran


@pytest.mark.parametrize("project", PROJECTS.values(), ids=PROJECTS)
def test_a_project_is_read_as_text(tmp_path: Path, project: Project) -> None:
    imported = import_topology(project.write(tmp_path))
    assert imported.format == "streamparse"
    if missing := project.text_missing or project.missing:
        assert missing in "\n".join(map(str, imported.missing))
        return
    topology = ready(imported).topology
    assert [c.id for c in topology.components] == list(project.executors)
    assert not ready(imported).calls.components


@pytest.mark.slow
@pytest.mark.parametrize("project", PROJECTS.values(), ids=PROJECTS)
def test_a_project_is_run_over_its_input(tmp_path: Path, project: Project) -> None:
    before = sorted(path for path in project.write(tmp_path).rglob("*"))
    imported = import_topology(tmp_path, run_python=True)
    for text in project.says:
        assert text in unusable_text(imported)
    if project.missing:
        assert project.missing in "\n".join(map(str, imported.missing))
        return
    playable = ready(imported)
    assert {c.id: c.executors for c in playable.topology.components} == project.executors
    assert playable.calls.components == set(project.runs)
    # It leaves nothing behind in the project.
    assert sorted(tmp_path.rglob("*")) == before
    export_topology(playable, tmp_path / "out.yaml")
    again = import_topology(tmp_path / "out.yaml")
    assert unusable_text(again) == ""
    assert ready(again) == playable


def test_reading_as_text_understands_literals(tmp_path: Path) -> None:
    project = PROJECTS["packages, names, and attributes of classes"]
    topology = ready(import_topology(project.write(tmp_path))).topology
    assert (topology.workers, topology.max_spout_pending) == (4, 100)
    assert {c.id: c.executors for c in topology.components} == project.executors
    assert topology.component("word-spout").outputs == {"default": ("word",)}
    assert topology.component("count-bolt").inputs[0].grouping is Grouping.FIELDS


def test_reading_as_text_reports_values_that_are_computed(tmp_path: Path) -> None:
    imported = import_topology(PROJECTS["values that are known only by running the code"].write(tmp_path))
    assert "par of s: it is computed" in unusable_text(imported)
    assert "outputs of S: they are computed" in unusable_text(imported)
    assert ready(imported).topology.component("s").executors == 1


@pytest.mark.parametrize("run_python", [False, True])
def test_settings_of_a_component_are_read_as_in_flux(tmp_path: Path, run_python: bool) -> None:
    text = """
class T(Topology):
    s = Ones.spec()
    end = End.spec(inputs=[s], par=2, config={"topology.tasks": 6, "topology.tick.tuple.freq.secs": "often"})
"""
    imported = import_topology(one_file(text).write(tmp_path), run_python=run_python)
    assert ready(imported).topology.component("end").task_count == 6
    assert "'often' is not a number" in unusable_text(imported)


def test_reading_as_text_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = f"open({str(mark)!r}, 'w')\n{PROJECTS['word count'].files['topologies/wc.py']}"
    import_topology(Project({"topologies/wc.py": text}).write(tmp_path))
    assert not mark.exists()


def test_a_project_with_several_topologies_asks_for_one(tmp_path: Path) -> None:
    files = {f"topologies/{name}.py": "" for name in "ab"}
    with pytest.raises(UserError, match=r"several topologies; give one of: topologies/a.py, topologies/b.py"):
        import_topology(Project(files).write(tmp_path))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        import_topology(tmp_path / "nothere.py", run_python=True)


# The tests below run Python.


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with several streams."""
    name = "several streams and every way to name inputs"
    return PROJECTS[name].write(tmp_path_factory.mktemp("streams"))


def test_the_trace_holds_what_the_code_emitted(streams: Path) -> None:
    playable = ready(import_topology(streams, run_python=True))
    counts = executions(playable)
    # At least 1000 records, of which every third is a number; four words per line.
    lines = counts["split"]
    numbers = counts["sums"]
    assert lines + numbers == counts["s"] in (1000, 1001)
    assert lines == pytest.approx(2 * numbers, abs=2)
    assert counts["by_word"] == 4 * lines + numbers
    trace = playable.trace()
    stream = trace.streams.index(("split", "words"))
    words = trace.emissions[trace.emissions["stream"] == stream]
    # Four words, so four keys for the bolt that groups by them.
    assert len(np.unique(trace.records["key"][words["first_record"]])) == 4


def test_running_a_project_again_records_the_same_calls(streams: Path) -> None:
    costs = overlay_of(
        streams,
        "components: {s: {cost_us: 1}, split: {cost_us: 2}, sums: {cost_us: 3}, "
        "by_word: {cost_us: 4}, alone: {cost_us: 5}, every: {cost_us: 6}}",
    )
    first, second = (import_topology(streams, run_python=True, overlay=costs) for _ in range(2))
    calls = [ready(item).calls for item in (first, second)]
    assert calls[0] == calls[1]


def test_costs_are_measured_and_reported_as_those_of_this_machine(streams: Path) -> None:
    imported = import_topology(streams, run_python=True)
    assert all(figures.cost_us.mean > 0 for figures in ready(imported).figures.values())
    assert any("Python here" in what for _, what in assumptions(imported))
    assert not any(what == "cost of a call" for _, what in assumptions(imported))


SLEEPS = """
import time
class S(Spout):
    outputs = ["at"]
    def next_tuple(self):
        time.sleep(0.25)
        self.emit([time.time()], tup_id=1)

class Order(Bolt):
    last = 0
    def process(self, tup):
        assert tup.values[0] >= self.last + 0.2, (tup.values, self.last)
        self.last = tup.values[0]

class T(Topology):
    s = S.spec(par=5)
    order = Order.spec(inputs=[s])
"""


def test_sleeping_takes_virtual_time_and_determines_the_rate(tmp_path: Path) -> None:
    imported = ran(tmp_path, SLEEPS)
    # Five executors, four tuples a second each.
    assert ready(imported).sources["s"].rate_per_s == 20.0
    assert "rate of s from what it sleeps: 20 records/s" in imported.read
    assert "order" in ready(imported).calls.components
    assert "calls of order" not in unusable_text(imported)


def test_whatever_a_component_draws_is_the_same_in_every_run(tmp_path: Path) -> None:
    source = """
import random
MODULE = random.random()

class S(Spout):
    outputs = ["module", "own", "next", "numpy"]

    def initialize(self, conf, context):
        self.own = random.random()

    def next_tuple(self):
        import numpy
        self.emit([MODULE, self.own, random.random(), numpy.random.random()])

class T(Topology):
    s = S.spec()
"""
    runs = [ready(ran(tmp_path, source)).calls for _ in range(2)]
    assert runs[0] == runs[1]


def test_an_overlay_gives_rates_tasks_and_records_to_the_run(tmp_path: Path) -> None:
    project = PROJECTS["Java components before and after Python"].write(tmp_path)
    (tmp_path / "words.txt").write_text("the\ncow\nthe\n")
    overlay = overlay_of(
        tmp_path, "components: {java-spout: {records: words.txt, rate_per_s: 5}, mid: {executors: 2}}"
    )
    imported = import_topology(project, run_python=True, overlay=overlay)
    playable = ready(imported)
    assert playable.calls.components == {"java-spout", "mid"}
    assert [call.emits[0].values for call in playable.calls.bolts["mid"]] == [("the",), ("cow",), ("the",)]
    assert playable.topology.component("mid").executors == 2
    assert playable.sources["java-spout"].rate_per_s == 5.0
    assert executions(playable)["java-bolt"] == 3


def test_ticks_emit_what_was_collected_between_them(tmp_path: Path) -> None:
    imported = import_topology(PROJECTS["batches at ticks"].write(tmp_path), run_python=True)
    playable = ready(imported)
    # A tick a second, and a batch at each that is more than two after the last one, as `pystorm.bolt` does:
    # 100 words per second for three seconds, divided among four words.
    batch = dict(emit.values for emit in playable.calls.ticks["batch"].emits)  # type: ignore[misc]
    assert batch == {word: pytest.approx(75, abs=1) for word in ("dog", "cat", "zebra", "elephant")}
    assert playable.topology.component("batch").tick_seconds == 3.0
    assert playable.figures["batch"].emits["default"].per_call == 0.0


def test_integers_below_zero_are_hashed_as_longs(tmp_path: Path) -> None:
    source = """
class S(Spout):
    outputs = ["n"]
    n = 0
    def next_tuple(self):
        self.n -= 1
        if self.n >= -20:
            self.emit([self.n])

class Where(Bolt):
    outputs = ["task"]
    def initialize(self, conf, context):
        self.task = context["taskid"]
    def process(self, tup):
        self.emit([self.task])

class T(Topology):
    s = S.spec()
    where = Where.spec(inputs={s: Grouping.fields("n")}, par=3)
"""
    playable = ready(ran(tmp_path, source))
    # Storm makes Longs of them: the hash of -n is n - 1, and that of the list of it 31 + n - 1. Tasks are
    # numbered by name: the acker has 1, the spout 2, and this bolt 3 to 5.
    recorded = [call.emits[0].values[0] for call in playable.calls.bolts["where"]]
    assert recorded == [3 + (30 + n) % 3 for n in range(1, 21)]


def test_each_task_has_its_own_state(tmp_path: Path) -> None:
    text = """
class S(Spout):
    outputs = ["k"]
    n = 0
    def next_tuple(self):
        self.n += 1
        self.emit(["ab"[self.n % 2]])

class Seen(Bolt):
    outputs = ["k", "task", "seen"]
    def initialize(self, conf, ctx):
        self.keys, self.task = set(), ctx["taskid"]
        assert conf["topology.name"] == "wc"
        assert ctx["componentid"] == "seen"
    def process(self, tup):
        self.keys.add(tup.values.k)
        self.emit([tup.values.k, self.task, sorted(self.keys)])

class T(Topology):
    s = S.spec()
    seen = Seen.spec(inputs={s: Grouping.fields("k")}, par=4)
"""
    playable = ready(ran(tmp_path, text))
    seen = {emit.values[:2] for call in playable.calls.bolts["seen"] for emit in call.emits}
    # Java's hash gives each key one task: (31 + 97) % 4 and (31 + 98) % 4 after task 3.
    first = 3
    assert seen == {("a", first + 0), ("b", first + 1)}


HOSTILE = {
    "ends its process": ("os._exit(3)", "it ended with status 3"),
    "never returns": ("while True: pass", "a call did not come back within 5 s"),
    "waits for ever": ("import threading; threading.Event().wait()", "a call did not come back within 5 s"),
    "catches every exception": (
        "\n        while True:\n            try:\n                while True: pass"
        "\n            except Exception: pass",
        "a call did not come back within 5 s",
    ),
    "exits": ("sys.exit(1)", "raised SystemExit: 1"),
    "eats memory": ("x = bytearray(10**13)", "MemoryError"),
    "kills itself": ("os.kill(os.getpid(), 9)", "it was ended by signal 9"),
    "recurses": ("self.next_tuple()", "RecursionError"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("code", "says"), HOSTILE.values(), ids=HOSTILE)
def test_misbehaving_code_is_stopped_and_reported(tmp_path: Path, code: str, says: str) -> None:
    text = f"""
import os, sys
class S(Spout):
    outputs = ["x"]
    def next_tuple(self):
        {code}

class T(Topology):
    s = S.spec()
"""
    imported = ran(tmp_path, text, python_seconds=20)
    assert says in unusable_text(imported)
    # The declared topology can still be played.
    assert not ready(imported).calls.components


def test_a_bolt_that_hangs_is_left_out_and_the_rest_is_run(tmp_path: Path) -> None:
    text = """
class Hangs(Bolt):
    def process(self, tup):
        while True: pass

class T(Topology):
    s = Ones.spec()
    hangs = Hangs.spec(inputs=[s])
    works = End.spec(inputs=[s])
"""
    imported = ran(tmp_path, text)
    assert ready(imported).calls.components == {"s", "works"}
    said = unusable_text(imported)
    assert "running hangs: a call did not come back within 5 s: played by its figures" in said


def test_processes_started_by_user_code_end_with_it(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    text = f"""
import subprocess, sys
class S(Ones):
    def initialize(self, conf, ctx):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open({str(pids)!r}, "w").write(str(child.pid))

class T(Topology):
    s = S.spec()
"""
    assert ready(ran(tmp_path, text)).calls.components
    pid = int(pids.read_text())
    deadline = time.monotonic() + 10.0
    while not _is_gone(pid) and time.monotonic() < deadline:
        time.sleep(0.02)  # It has been killed; the kernel may take a moment to end it.
    assert _is_gone(pid)


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_the_replacement_modules_have_the_names_of_the_real_ones() -> None:
    code = """
from storm_lab.workloads.multilang.loading import install
install()
from streamparse import (Bolt, BatchingBolt, TicklessBatchingBolt, Spout, ReliableSpout, Tuple, Stream,
    Grouping, Topology, JavaBolt, JavaSpout, ShellBolt, ShellSpout)
from streamparse.bolt import Bolt as B
from streamparse.spout import Spout as S
from streamparse.dsl.component import ComponentSpec
from streamparse.storm.component import Component
from pystorm.bolt import BatchingBolt as P
from pystorm.component import Component as C, Tuple as T
import streamparse.storm.bolt
import storm
assert B is Bolt and S is Spout and P is BatchingBolt and T is Tuple
assert storm.BasicBolt and storm.emit and storm.emitDirect and storm.logInfo
"""
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )


STARRED = {
    "topologies/sums.py": (
        "from parts import *\nfrom streamparse import Grouping, Topology, run\n\n"
        "class Sums(Topology):\n"
        "    numbers = Numbers.spec()\n"
        "    add = Add.spec(inputs={numbers: Grouping.fields('number')}, par=WIDE)\n"
    ),
    "src/parts.py": (
        "from streamparse import Bolt, Spout\n\nWIDE = 3\n\n"
        "class Numbers(Spout):\n    outputs = ['number']\n\n"
        "    def next_tuple(self):\n        self.emit([1])\n\n"
        "class Add(Bolt):\n    outputs = ['sum']\n\n"
        "    def process(self, tup):\n        self.emit([2])\n"
    ),
}


def test_star_imports_from_a_module_of_the_project_are_resolved(tmp_path: Path) -> None:
    imported = import_topology(Project(STARRED).write(tmp_path))
    assert unusable_text(imported) == ""
    topology = ready(imported).topology
    assert {c.id: (c.executors, c.outputs["default"]) for c in topology.components} == {
        "numbers": (1, ("number",)),
        "add": (3, ("sum",)),
    }


def test_a_project_that_imports_streamparses_own_programs_can_be_run(tmp_path: Path) -> None:
    playable = ready(import_topology(Project(STARRED).write(tmp_path), run_python=True))
    assert playable.calls.components == {"numbers", "add"}


def test_a_topology_with_missing_components_is_read_as_text_even_if_it_may_run(tmp_path: Path) -> None:
    text = """
from bolts.lost import Add
from spouts.lost import Numbers

class Lost(Topology):
    numbers = Numbers.spec()
    add = Add.spec(inputs=[numbers])
"""
    imported = ran(tmp_path, text)
    said = unusable_text(imported)
    assert "numbers is of the module spouts, which is not installed here: read as text" in said
    assert [c.id for c in ready(imported).topology.components] == ["numbers", "add"]


def test_a_module_missing_from_the_project_is_not_reported_as_to_be_installed(tmp_path: Path) -> None:
    files = dict(STARRED)
    files["src/own/__init__.py"] = ""
    files["topologies/sums.py"] = "from own.lost.deep import x\n" + files["topologies/sums.py"]
    imported = import_topology(Project(files).write(tmp_path), run_python=True)
    assert "the Python module own.lost: own has no such module" in unusable_text(imported)
    assert "install it" not in unusable_text(imported)
    assert ready(imported).calls.components


def test_an_import_error_is_reported_with_the_line_of_the_module(tmp_path: Path) -> None:
    files = {**STARRED, "src/broken.py": "import math\n\nmath.nothing\n"}
    files["topologies/sums.py"] = "import broken\n" + files["topologies/sums.py"]
    imported = import_topology(Project(files).write(tmp_path), run_python=True)
    assert "broken.py:3: AttributeError: module 'math' has no attribute 'nothing'" in unusable_text(imported)


def test_a_class_whose_file_is_not_python_3_is_reported_as_unreadable(tmp_path: Path) -> None:
    files = {
        "topologies/old.py": (
            "from old_bolts import Old\nfrom streamparse import Spout, Topology\n\n"
            "class S(Spout):\n    outputs = ['x']\n\n"
            "class T(Topology):\n    s = S.spec()\n    old = Old.spec(inputs=[s])\n"
        ),
        "src/old_bolts.py": "from streamparse import Bolt\n\nclass Old(Bolt):\n    print 'hello'\n",
    }
    imported = import_topology(Project(files).write(tmp_path))
    assert "the class Old: its source, old_bolts.py, could not be read" in unusable_text(imported)
    assert [c.id for c in ready(imported).topology.components] == ["s", "old"]


def test_an_unstated_version_and_number_of_workers_are_reported(tmp_path: Path) -> None:
    imported = import_topology(Project(STARRED).write(tmp_path))
    assert {("sums", "Storm's version"), ("sums", "number of workers")} <= assumptions(imported)
    given = overlay_of(tmp_path, "topology: {workers: 2, storm_version: 1.2.4}\n")
    imported = import_topology(tmp_path, overlay=given)
    assert not {"Storm's version", "number of workers"} & {item.what for item in imported.assumed}
    assert str(ready(imported).version) == "1.2.4"
