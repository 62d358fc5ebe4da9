"""streamparse projects of many shapes, as they occur in practice, written by hand for these tests.

Each is a folder of files with its expected result: its components with their executors, which of them run,
and texts that must be among what could not be used when it is run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from storm_lab.workloads.importers.imported import Imported
from storm_lab.workloads.importers.importing import import_topology


@dataclass(frozen=True)
class Project:
    """A project and its expected result; ``runs`` are the components whose own code is played."""

    files: dict[str, str]
    executors: dict[str, int] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    missing: str = ""
    text_missing: str = ""
    """What is missing if it is only read as text; else the same as if it is run."""

    def write(self, folder: Path) -> Path:
        """Write the files and return the project's folder."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder


CONFIG = '{"topology_specs": "topologies/", "virtualenv_specs": "virtualenvs/", "envs": {"prod": {}}}'
WORDS = """
from itertools import cycle

from streamparse import Spout


class WordSpout(Spout):
    outputs = ["word"]

    def initialize(self, stormconf, context):
        self.words = cycle(["dog", "cat", "zebra", "elephant"])

    def next_tuple(self):
        self.emit([next(self.words)])
"""
COUNT = """
from collections import Counter

from streamparse import Bolt


class WordCountBolt(Bolt):
    outputs = ["word", "count"]

    def initialize(self, conf, ctx):
        self.counter = Counter()
        self.pid = ctx["taskid"]

    def process(self, tup):
        word = tup.values[0]
        self.counter[word] += 10
        self.logger.info("counter %d", self.counter[word])
        self.emit([word, self.counter[word]])
"""
TOPOLOGY = """
from streamparse import Grouping, Topology

from bolts import WordCountBolt
from spouts import WordSpout


class WordCount(Topology):
    word_spout = WordSpout.spec()
    count_bolt = WordCountBolt.spec(inputs={word_spout: Grouping.fields("word")}, par=2)
"""


HEAD = """from streamparse import (
    BatchingBolt, Bolt, Grouping, JavaBolt, JavaSpout, ReliableSpout, ShellBolt, Spout, Stream,
    TicklessBatchingBolt, Topology,
)


class Ones(Spout):
    outputs = ["n"]

    def next_tuple(self):
        self.emit([1])


class End(Bolt):
    def process(self, tup):
        pass

"""

CARELESS = """

class Careless(Bolt):
    outputs = ["a", "b"]

    def process(self, tup):
        self.emit([1, 2, 3])
        self.emit([1, 2], stream="undeclared")
        self.emit([1, 2], anchors=[])
        if tup.values[0] == "dog":
            self.emit("text")
"""


def one_file(text: str, **expected: object) -> Project:
    """Return a project whose topology file holds everything, after `HEAD`."""
    files = {"config.json": CONFIG, "topologies/wc.py": HEAD + text}
    return Project(files, **expected)  # type: ignore[arg-type]


def ran(folder: Path, text: str, **options: object) -> Imported:
    """Write a project of `one_file`, and import it with its Python run."""
    return import_topology(one_file(text).write(folder), run_python=True, **options)  # type: ignore[arg-type]


PROJECTS: dict[str, Project] = {
    "word count": Project(
        {"config.json": CONFIG, "src/spouts.py": WORDS, "src/bolts.py": COUNT, "topologies/wc.py": TOPOLOGY},
        {"word_spout": 1, "count_bolt": 2},
        ("word_spout", "count_bolt"),
    ),
    "packages, names, and attributes of classes": Project(
        {
            "config.json": CONFIG,
            "src/spouts/__init__.py": "",
            "src/spouts/words.py": WORDS.replace("outputs", 'par = 3\n    config = {"a.b": 1}\n    outputs'),
            "src/bolts/__init__.py": "from .count import WordCountBolt\n",
            "src/bolts/count.py": COUNT,
            "topologies/wc.py": """
import bolts
from spouts.words import WordSpout as Source
from streamparse import Grouping, Topology

PAR = 2


class WordCount(Topology):
    config = {"topology.workers": 4, "topology.max.spout.pending": 100}
    more = PAR * 2 + 1
    spout = Source.spec(name="word-spout")
    count = bolts.WordCountBolt.spec(name="count-bolt", inputs={spout: Grouping.fields(["word"])}, par=more)
""",
        },
        {"word-spout": 3, "count-bolt": 5},
        ("word-spout", "count-bolt"),
        says=("a.b",),
    ),
    "several streams and every way to name inputs": one_file(
        """
import json


class S(Spout):
    outputs = [Stream(fields=["line", "meta"]), Stream(fields=["n"], name="numbers")]

    def initialize(self, conf, ctx):
        self.n = 0

    def next_tuple(self):
        self.n += 1
        self.emit(["a line of words", {"n": self.n, "tags": ["x", None]}], tup_id=self.n)
        if self.n % 2:
            self.emit([self.n], stream="numbers", tup_id="n%d" % self.n)


class Split(Bolt):
    outputs = [Stream(fields=["word"], name="words")]

    def process(self, tup):
        line, meta = tup.values
        assert tup.values.meta["tags"][1] is None
        meta["tags"].append("mine")
        for word in line.split():
            self.emit([word], stream="words")


class Sum(Bolt):
    outputs = ["total"]
    total = 0

    def process(self, tup):
        assert tup.stream == "numbers" and tup.component == "s"
        self.total += tup.values.n
        self.emit((self.total,))


class T(Topology):
    s = S.spec()
    split = Split.spec(inputs=[s])
    sums = Sum.spec(inputs=[s["numbers"]])
    by_word = End.spec(inputs={split["words"]: Grouping.fields("word"), sums: Grouping.GLOBAL}, par=3)
    alone = End.spec(inputs=sums)
    every = End.spec(inputs=(split["words"], sums), par=2)
""",
        executors={"s": 1, "split": 1, "sums": 1, "by_word": 3, "alone": 1, "every": 2},
        runs=("s", "split", "sums", "by_word", "alone", "every"),
    ),
    "all groupings": one_file(
        WORDS
        + """

class T(Topology):
    s = WordSpout.spec(par=2)
    a = End.spec(inputs={s: Grouping.ALL}, par=3)
    b = End.spec(inputs={s: Grouping.GLOBAL}, par=2)
    c = End.spec(inputs={s: Grouping.LOCAL_OR_SHUFFLE}, par=2)
    d = End.spec(inputs={s: Grouping.NONE}, par=2)
    e = End.spec(inputs={s: Grouping.SHUFFLE})
    f = End.spec(inputs={s: Grouping.custom_object("demo.Mine", [1])}, par=2)
""",
        executors={"s": 2, "a": 3, "b": 2, "c": 2, "d": 2, "e": 1, "f": 2},
        runs=("s", "a", "b", "c", "d", "e", "f"),
        says=("a custom grouping",),
    ),
    "a direct stream": one_file(
        """
class S(Spout):
    outputs = [Stream(fields=["n"], direct=True)]

    def initialize(self, conf, context):
        self.n = 0
        self.tasks = sorted(
            int(task) for task, name in context["task->component"].items() if name == "work"
        )

    def next_tuple(self):
        self.n += 1
        if self.n > 90:
            self.emit([self.n])
            return
        got = self.emit([self.n], direct_task=self.tasks[self.n % 3], need_task_ids=True)
        assert got == [self.tasks[self.n % 3]], got


class Work(Bolt):
    def initialize(self, conf, context):
        self.task = context["taskid"]

    def process(self, tup):
        assert tup.values[0] % 3 == self.task - 3, (tup.values, self.task)


class T(Topology):
    s = S.spec()
    work = Work.spec(inputs=[s], par=3)
""",
        executors={"s": 1, "work": 3},
        runs=("s", "work"),
        says=("emits on the direct stream 'default' without a task of it",),
    ),
    "batches at ticks": one_file(
        WORDS
        + """

class Batch(BatchingBolt):
    outputs = ["word", "n"]
    ticks_between_batches = 2

    def group_key(self, tup):
        return tup.values[0]

    def process_batch(self, key, tups):
        self.emit([key, len(tups)])


class End(BatchingBolt):
    def process_batch(self, key, tups):
        pass


class T(Topology):
    s = WordSpout.spec()
    batch = Batch.spec(inputs={s: Grouping.SHUFFLE}, config={"topology.tick.tuple.freq.secs": 1})
    end = End.spec(inputs=[batch], config={"topology.tick.tuple.freq.secs": 2})
""",
        executors={"s": 1, "batch": 1, "end": 1},
        runs=("s", "batch", "end"),
        says=("played as a tick every 3 s that does", "acks tuples later, or never"),
    ),
    "batches by their own timer, and ticks of all bolts": one_file(
        WORDS
        + """

class Batch(TicklessBatchingBolt):
    outputs = ["n"]
    secs_between_batches = 3

    def process_batch(self, key, tups):
        self.emit([len(tups)])


class Watch(Bolt):
    outputs = ["seen"]
    seen = 0

    def process(self, tup):
        self.seen += 1

    def process_tick(self, tup):
        assert self.is_tick(tup)
        self.emit([self.seen])


class T(Topology):
    config = {"topology.tick.tuple.freq.secs": 5}
    s = WordSpout.spec()
    batch = Batch.spec(inputs=[s])
    watch = Watch.spec(inputs=[s])
    end = End.spec(inputs=[batch, watch])
""",
        executors={"s": 1, "batch": 1, "watch": 1, "end": 1},
        runs=("s", "batch", "watch", "end"),
    ),
    "a reliable spout and a bolt that fails": one_file(
        """
class S(ReliableSpout):
    outputs = ["n"]
    acked = 0
    n = 0

    def next_tuple(self):
        self.n += 1
        assert self.acked + len(self.failed_tuples) <= self.n
        self.emit([self.n], tup_id=self.n)

    def ack(self, tup_id):
        super(S, self).ack(tup_id)
        self.acked += 1


class Fails(Bolt):
    auto_ack = False

    def process(self, tup):
        if tup.values[0] % 4 == 0:
            self.fail(tup)
        elif tup.values[0] % 10 == 1:
            raise ValueError("no ones, please")
        else:
            self.ack(tup)


class T(Topology):
    s = S.spec()
    fails = Fails.spec(inputs=[s])
""",
        executors={"s": 1, "fails": 1},
        runs=("s", "fails"),
        says=("350 of 1000 calls of fails", "raised ValueError: no ones, please"),
    ),
    "a store that cannot be reached": one_file(
        WORDS
        + COUNT
        + """
import nothere.client as client
from nothere import Base, decorated
from streamparse import Topology


@decorated(1)
def helper():
    pass


class Mine(Base):
    limit = client.LIMITS["x"]


class Store(Bolt):
    outputs = ["stored"]

    def initialize(self, conf, ctx):
        self.connection = client.Connection(host="db")

    def process(self, tup):
        self.connection.set(*tup.values)
        self.emit([True])


class After(Bolt):
    def process(self, tup):
        pass


class T(Topology):
    s = WordSpout.spec()
    count = WordCountBolt.spec(inputs=[s])
    store = Store.spec(inputs=[count], par=2)
    after = After.spec(inputs=[store])
""",
        executors={"s": 1, "count": 1, "store": 2, "after": 1},
        runs=("s", "count"),
        says=(
            "the Python module nothere: it is not installed here",
            "running store: its initialize raised ModuleNotFoundError: it needs the module nothere",
            "running after: what it reads could not be run",
        ),
    ),
    "an optional module": one_file(
        WORDS.replace(
            "from itertools import cycle",
            "try:\n    import nothere as json\nexcept ImportError:\n    import json\n"
            "from itertools import cycle",
        )
        + "\nfrom streamparse import Bolt, Topology\n"
        + "class End(Bolt):\n    def process(self, tup):\n        json.dumps(tup.values)\n"
        + "class T(Topology):\n    s = WordSpout.spec()\n    end = End.spec(inputs=[s])\n",
        executors={"s": 1, "end": 1},
        runs=("s", "end"),
    ),
    "Java components before and after Python": one_file(
        """
class Mid(Bolt):
    outputs = ["word"]

    def process(self, tup):
        self.emit([tup.values[0]])


class T(Topology):
    s = JavaSpout.spec(name="java-spout", full_class_name="demo.S", args_list=[1], outputs=["word"], par=2)
    mid = Mid.spec(inputs=[s])
    end = JavaBolt.spec(name="java-bolt", full_class_name="demo.B", args_list=[],
                        inputs={mid: Grouping.fields("word")}, par=3)
    node = ShellBolt.spec(command="node", script="x.js", inputs=[mid], outputs=["x"])
""",
        executors={"java-spout": 2, "mid": 1, "java-bolt": 3, "node": 1},
        says=("running java-spout: it is not Python: demo.S", "running mid: what it reads could not be run"),
    ),
    "mistakes that Storm or streamparse would refuse": one_file(
        WORDS
        + CARELESS
        + """

class End(Bolt):
    outputs = "one"

    def process(self, tup):
        self.emit([{1, 2}])


class T(Topology):
    s = WordSpout.spec(par="two")
    careless = Careless.spec(inputs={s: "word"})
    end = End.spec(inputs=[careless, "nobody's"])
""",
        executors={"s": 1, "careless": 1, "end": 1},
        missing="there is no such component",
    ),
    "careless emits": one_file(
        WORDS
        + CARELESS
        + """        if tup.values[0] == "cat":
            self.emit([{1, 2}, 3])


class T(Topology):
    s = WordSpout.spec()
    careless = Careless.spec(inputs=[s])
    end = End.spec(inputs=[careless])
""",
        executors={"s": 1, "careless": 1, "end": 1},
        runs=("s", "careless", "end"),
        says=(
            "emits 3 values on 'default', which has 2 fields",
            "emits on the stream 'undeclared', which it does not declare",
            "emits without anchors",
            "all tuples must be lists or tuples, not str",
            "set is not JSON serializable",
            "500 of 1000 calls of careless",
        ),
    ),
    "a finite source and an empty one": one_file(
        """
class Lines(Spout):
    outputs = ["line"]

    def initialize(self, conf, ctx):
        self.lines = iter(["one", "two", "three"])

    def next_tuple(self):
        self.emit([next(self.lines)])


class Empty(Spout):
    outputs = ["line"]

    def next_tuple(self):
        pass


class T(Topology):
    lines = Lines.spec()
    empty = Empty.spec()
    only = End.spec(inputs=[lines])
    both = End.spec(inputs=[lines, empty])
""",
        executors={"lines": 1, "empty": 1, "only": 1, "both": 1},
        runs=("lines", "only"),
        says=(
            "running empty: its next_tuple emitted nothing",
            "running both: what it reads could not be run",
        ),
    ),
    "a loop through the id of a stream": one_file(
        """
from streamparse import Bolt, Spout, Stream, Topology
from streamparse.thrift import GlobalStreamId

again = GlobalStreamId(componentId="work", streamId="again")


class S(Spout):
    outputs = ["n"]

    def next_tuple(self):
        self.emit([3])


class Work(Bolt):
    outputs = [Stream(fields=["n"]), Stream(fields=["n"], name="again")]

    def process(self, tup):
        if tup.values[0] > 0:
            self.emit([tup.values[0] - 1], stream="again")


class T(Topology):
    s = S.spec()
    work = Work.spec(inputs=[s, again])
""",
        executors={"s": 1, "work": 1},
        runs=("s", "work"),
        text_missing="one record leads to more than",
    ),
    "Clojure, and modules from before version 3": Project(
        {
            "config.json": CONFIG,
            "src/bolts/__init__.py": "",
            "src/spouts/__init__.py": "",
            "src/spouts/words.py": WORDS.replace("streamparse import", "streamparse.spout import"),
            "src/bolts/wordcount.py": COUNT.replace(
                "from streamparse import", "from streamparse.bolt import"
            ),
            "topologies/wc.clj": """
(ns wc
  (:use     [streamparse.specs])
  (:gen-class))

(defn wc [options]
   [
    ;; spout configuration; "not a text
    {"word-spout" (python-spout-spec
          options
          "spouts.words.WordSpout"
          ["word"]
          :p 2
          )
    }
    ;; bolt configuration
    {"count-bolt" (python-bolt-spec
          options
          {"word-spout" ["word"]}
          "bolts.wordcount.WordCountBolt"
          ["word" "count"]
          :p 3 :conf {"topology.tick.tuple.freq.secs" 10, "x.y" true}
          )
    }
  ]
)
""",
        },
        {"word-spout": 2, "count-bolt": 3},
        ("word-spout", "count-bolt"),
        says=("settings count-bolt: x.y",),
    ),
    "Clojure with streams, groupings and Java": Project(
        {
            "topologies/wc.clj": """
(ns wc (:use [streamparse.specs]) (:gen-class))
(defn wc [options]
  (let [n 3]
  [{"s" (spout-spec (demo.Spout. "x") :p 1)
    "t" (python-spout-spec options "a.T" {"raw" ["line"] "bad" ["line" "why"]})}
   {"all" (python-bolt-spec options {["t" "raw"] :all} "b.All" ["x"] :p n)
    "many" (python-bolt-spec options {["t" "bad"] :local-or-shuffle "all" :global "s" ["k"]} "b.Many" [])
    "java" (bolt-spec {"all" :direct} (demo.Bolt.) :p 2)}]))
"""
        },
        {"s": 1, "t": 1, "all": 1, "many": 1, "java": 2},
        says=("s, a spout-spec: only its place",),
    ),
    "incomplete Clojure": Project(
        {"topologies/wc.clj": '(defn wc [options] [{"s" (python-spout-spec options "a.B" ["x"])}'},
        missing="it is not Clojure: line 1: a [ without its end",
    ),
    "Python 2": Project(
        {
            "config.json": CONFIG,
            "src/spouts.py": WORDS,
            "src/bolts.py": COUNT.replace(
                "self.emit([word", 'print "counted", word\n        self.emit([word'
            ),
            "topologies/wc.py": TOPOLOGY,
        },
        {"word_spout": 1, "count_bolt": 2},
        says=("is not Python 3", "the class WordCountBolt: its source, bolts.py, could not be read"),
    ),
    "a topology in Python 2": Project(
        {"topologies/wc.py": "print 'Starting'\n" + TOPOLOGY},
        missing="wc.py:1: the topology: it is not Python 3",
    ),
    "no topology in the file": Project(
        {"topologies/wc.py": "class A:\n    pass\n"}, missing="no class of it is a Topology"
    ),
    "values that are known only by running the code": one_file(
        """
import os



def fields():
    return ["word", "n"]


class S(Spout):
    outputs = fields()

    def next_tuple(self):
        self.emit(["a", 1])


class T(Topology):
    s = S.spec(par=int(os.environ.get("NOT_SET", "2")))
    end = End.spec(inputs=[s], config=dict(zip(["a"], [1])))
""",
        executors={"s": 2, "end": 1},
        runs=("s", "end"),
    ),
}
