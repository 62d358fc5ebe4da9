"""Flux files of many shapes, as they occur in practice, written by hand for these tests.

Each shape is a YAML text with its expected result: whether it can be played, its components with their
executors, and texts that must be among what could not be used.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    """A Flux file and its expected result; ``executors`` of the components that are played, in order."""

    text: str
    executors: dict[str, int] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


_CHAIN = """
spouts:
  - {id: lines, className: demo.Lines}
bolts:
  - {id: split, className: demo.Split, parallelism: 2}
streams:
  - {from: lines, to: split, grouping: {type: SHUFFLE}}
"""
_PLAYED = {"lines": 1, "split": 2}

SHAPES: dict[str, Shape] = {
    "shortest": Shape(_CHAIN, _PLAYED),
    "with a document marker, comments and settings": Shape(
        f"""# first
---
name: "named"   # then
config:
  topology.workers: 3
  topology.acker.executors: 2
  topology.max.spout.pending: 500
  topology.message.timeout.secs: 60
  topology.debug: false
  my.queue: "somewhere"
{_CHAIN}
# last
""",
        _PLAYED,
        says=("settings my.queue",),
    ),
    "beans with references, properties and methods": Shape(
        f"""
components:
  - id: scheme
    className: demo.Scheme
  - id: multi
    className: demo.Multi
    constructorArgs:
      - ref: scheme
  - id: hosts
    className: demo.Hosts
    constructorArgs: ["localhost:2181", 1.5, true, FOO]
    properties:
      - {{name: root, value: "/x"}}
      - {{name: scheme, ref: multi}}
    configMethods:
      - name: withAll
        args:
          - reflist: [scheme, multi]
      - name: withNothing
{_CHAIN}""",
        _PLAYED,
    ),
    "a reference to an unknown component": Shape(
        f"""
components:
  - {{id: a, className: demo.A, constructorArgs: [ref: b]}}
{_CHAIN}""",
        _PLAYED,
        says=("a's reference to 'b'",),
    ),
    "factories": Shape(
        f"""
components:
  - {{id: a, className: demo.A, factory: make, factoryArgs: [1, two]}}
{_CHAIN}""",
        _PLAYED,
    ),
    "shell components with fields and named streams": Shape(
        """
spouts:
  - id: lines
    className: "org.apache.storm.flux.wrappers.spouts.FluxShellSpout"
    constructorArgs:
      - ["node", "lines.js"]
      - ["line"]
    parallelism: 2
bolts:
  - id: split
    className: "org.apache.storm.flux.wrappers.bolts.FluxShellBolt"
    constructorArgs:
      - ["python3", "split.py"]
      - ["word", "length"]
    configMethods:
      - name: setNamedStream
        args:
          - "long"
          - ["word"]
      - name: addComponentConfig
        args: ["topology.tick.tuple.freq.secs", 5]
  - id: count
    className: demo.Count
    parallelism: 3
streams:
  - {from: lines, to: split, grouping: {type: LOCAL_OR_SHUFFLE}}
  - {from: split, to: count, grouping: {type: FIELDS, args: [word]}}
  - {from: split, to: count, grouping: {type: FIELDS, args: [word], streamId: long}}
""",
        {"lines": 2, "split": 1, "count": 3},
    ),
    "a stream that a shell component does not declare": Shape(
        """
spouts:
  - {id: lines, className: flux.FluxShellSpout, constructorArgs: [[node, l.js], [line]]}
bolts:
  - {id: split, className: demo.Split}
streams:
  - {from: lines, to: split, grouping: {type: SHUFFLE, streamId: other}}
""",
        missing=("lines.other: the stream is not declared; declared are: default",),
    ),
    "a field that a shell component does not declare": Shape(
        """
spouts:
  - {id: lines, className: flux.FluxShellSpout, constructorArgs: [[node, l.js], [line]]}
bolts:
  - {id: split, className: demo.Split}
streams:
  - {from: lines, to: split, grouping: {type: FIELDS, args: [word]}}
""",
        missing=("has no field 'word'; its fields are: line",),
    ),
    "a diamond": Shape(
        """
spouts: [{id: s, className: demo.S}]
bolts:
  - {id: a, className: demo.A}
  - {id: b, className: demo.B, parallelism: 2}
  - {id: c, className: demo.C, parallelism: 3}
  - {id: d, className: demo.D, parallelism: 4}
streams:
  - {name: "s --> a", from: s, to: a, grouping: {type: FIELDS, args: [word]}}
  - {from: a, to: b, grouping: {type: SHUFFLE}}
  - {from: a, to: c, grouping: {type: SHUFFLE}}
  - {id: one, from: b, to: d, grouping: {type: FIELDS, args: [left]}}
  - {id: two, from: c, to: d, grouping: {type: FIELDS, args: [right]}}
""",
        {"s": 1, "a": 1, "b": 2, "c": 3, "d": 4},
    ),
    "a join of two spouts": Shape(
        """
spouts:
  - {id: left, className: demo.L, parallelism: 2}
  - {id: right, className: demo.R}
bolts: [{id: join, className: demo.J, parallelism: 4}]
streams:
  - {from: left, to: join, grouping: {type: FIELDS, args: [id, day]}}
  - {from: right, to: join, grouping: {type: FIELDS, args: [id]}}
""",
        {"left": 2, "right": 1, "join": 4},
    ),
    "all, global, none and partial key": Shape(
        """
spouts: [{id: s, className: demo.S}]
bolts:
  - {id: a, className: demo.A, parallelism: 2}
  - {id: b, className: demo.B}
  - {id: c, className: demo.C}
  - {id: d, className: demo.D, parallelism: 5}
streams:
  - {from: s, to: a, grouping: {type: ALL}}
  - {from: s, to: b, grouping: {type: GLOBAL}}
  - {from: s, to: c, grouping: {type: NONE}}
  - {from: s, to: d, grouping: {type: PARTIAL_KEY, args: [id]}}
""",
        {"s": 1, "a": 2, "b": 1, "c": 1, "d": 5},
    ),
    "a custom grouping": Shape(
        """
spouts: [{id: s, className: demo.S}]
bolts: [{id: a, className: demo.A, parallelism: 2}]
streams:
  - from: s
    to: a
    grouping:
      type: CUSTOM
      customClass: {className: demo.Mine, constructorArgs: [1]}
""",
        {"s": 1, "a": 2},
        says=("a custom grouping: its choice of tasks is code that is not run: played as a shuffle",),
    ),
    "a direct grouping": Shape(
        """
spouts: [{id: s, className: demo.S}]
bolts: [{id: a, className: demo.A, parallelism: 3}]
streams:
  - {from: s, to: a, grouping: {type: DIRECT, streamId: orders}}
""",
        {"s": 1, "a": 3},
    ),
    "a crawler with a status stream from every step": Shape(
        """
name: crawl
includes:
  - {resource: true, file: "/crawler-default.yaml", override: false}
  - {resource: false, file: "crawler-conf.yaml", override: true}
components:
  - id: filter
    className: demo.Filter
spouts:
  - {id: spout, className: demo.FileSpout, parallelism: 1, constructorArgs: ["/x", "*.txt", true]}
bolts:
  - {id: partitioner, className: demo.P, parallelism: 1}
  - {id: fetcher, className: demo.F, parallelism: 2}
  - {id: parse, className: demo.Parse, parallelism: 4}
  - {id: index, className: demo.I}
  - {id: status, className: demo.Status}
streams:
  - {from: spout, to: partitioner, grouping: {type: SHUFFLE}}
  - {from: partitioner, to: fetcher, grouping: {type: FIELDS, args: ["key"]}}
  - {from: fetcher, to: parse, grouping: {type: LOCAL_OR_SHUFFLE}}
  - {from: parse, to: index, grouping: {type: LOCAL_OR_SHUFFLE}}
  - {from: spout, to: status, grouping: {type: FIELDS, args: ["url"], streamId: "status"}}
  - {from: fetcher, to: status, grouping: {type: FIELDS, args: ["url"], streamId: "status"}}
  - {from: parse, to: status, grouping: {type: FIELDS, args: ["url"], streamId: "status"}}
  - {from: index, to: status, grouping: {type: FIELDS, args: ["url"], streamId: "status"}}
""",
        {"spout": 1, "partitioner": 1, "fetcher": 2, "parse": 4, "index": 1, "status": 1},
        says=("the include /crawler-default.yaml: it is a resource of a jar", "crawler-conf.yaml"),
    ),
    "a topology that Java builds": Shape(
        """
name: existing
topologySource:
  className: demo.Existing
  methodName: build
  constructorArgs: [a, b]
""",
        missing=("Java code, demo.Existing.build, which is not run",),
    ),
    "Trident through a topology source": Shape(
        "topologySource: {className: demo.Trident, configMethods: [{name: with, args: [1]}]}",
        missing=("demo.Trident.getTopology",),
    ),
    "a topology source beside components, which Flux refuses": Shape(
        f"topologySource: {{className: demo.Existing}}\n{_CHAIN}", missing=("demo.Existing",)
    ),
    "worker hooks": Shape(
        f"{_CHAIN}\nworkerHooks:\n  - {{id: hook, className: demo.Hook}}\n",
        _PLAYED,
        says=("the worker hook demo.Hook",),
    ),
    "settings of single components": Shape(
        """
spouts:
  - {id: s, className: demo.S, config: {topology.tuple.compression.enable: true}}
bolts:
  - {id: a, className: demo.A, config: {topology.tick.tuple.freq.secs: 10, topology.tasks: 4}}
streams: [{from: s, to: a, grouping: {type: SHUFFLE}}]
""",
        {"s": 1, "a": 1},
        says=("s: topology.tuple.compression.enable",),
    ),
    "tasks and loads, some of them not set": Shape(
        """
spouts:
  - {id: s, className: demo.S, parallelism: 2, numTasks: 5, onHeapMemoryLoad: 100,
     offHeapMemoryLoad: 10, cpuLoad: 50}
bolts:
  - {id: a, className: demo.A, numTasks: -1, onHeapMemoryLoad: -1, offHeapMemoryLoad: -1, cpuLoad: -1}
  - {id: b, className: demo.B, parallelism: 8, numTasks: 4}
streams:
  - {from: s, to: a, grouping: {type: SHUFFLE}}
  - {from: a, to: b, grouping: {type: SHUFFLE}}
""",
        {"s": 2, "a": 1, "b": 4},
    ),
    "windows": Shape(
        """
components:
  - {id: length, className: "org.apache.storm.topology.base.BaseWindowedBolt$Count", constructorArgs: [5]}
spouts: [{id: s, className: demo.S}]
bolts:
  - id: w
    className: demo.W
    configMethods:
      - {name: withWindow, args: [{ref: length}, {ref: length}]}
streams: [{from: s, to: w, grouping: {type: SHUFFLE}}]
""",
        {"s": 1, "w": 1},
        says=("w's withWindow: windows are not played",),
    ),
    "a loop": Shape(
        """
spouts: [{id: s, className: demo.S}]
bolts:
  - {id: a, className: demo.A}
  - {id: b, className: demo.B}
streams:
  - {from: s, to: a, grouping: {type: SHUFFLE}}
  - {from: a, to: b, grouping: {type: SHUFFLE}}
  - {from: b, to: a, grouping: {type: SHUFFLE}}
""",
        missing=("one record leads to more than 200000 calls",),
    ),
    "a bolt without inputs": Shape(
        _CHAIN.replace("streams:", "  - {id: idle, className: demo.Idle}\nstreams:"),
        _PLAYED,
        says=("bolt 'idle': it has no input",),
    ),
    "bolts downstream of one without inputs": Shape(
        _CHAIN.replace(
            "streams:",
            "  - {id: idle, className: demo.Idle}\n  - {id: behind, className: demo.Idle}\nstreams:\n"
            "  - {from: idle, to: behind, grouping: {type: SHUFFLE}}\n"
            "  - {from: behind, to: split, grouping: {type: SHUFFLE, streamId: more}}",
        ),
        _PLAYED,
        says=(
            "bolt 'behind': it reads only from bolts that are left out",
            "split's subscription to behind.more: that bolt is left out",
        ),
    ),
    "only settings": Shape("config: {topology.workers: 2}\n", missing=("a spout: there is none",)),
    "a stream to an unknown bolt": Shape(
        f"{_CHAIN}  - {{from: split, to: nobody, grouping: {{type: SHUFFLE}}}}\n",
        missing=("the stream to 'nobody': there is no such bolt; there are: lines, split",),
    ),
    "a stream from an unknown component": Shape(
        f"{_CHAIN}  - {{from: nobody, to: split, grouping: {{type: SHUFFLE}}}}\n",
        missing=("split's subscription to nobody.default: there is no such component",),
    ),
    "a stream into a spout": Shape(
        f"{_CHAIN}  - {{from: split, to: lines, grouping: {{type: SHUFFLE}}}}\n",
        missing=("a spout has no inputs",),
    ),
    "anchors and merges": Shape(
        """
defaults: &local
  type: LOCAL_OR_SHUFFLE
spouts:
  - &one {id: s, className: demo.S, parallelism: 3}
bolts:
  - {<<: *one, id: a}
  - {<<: *one, id: b, parallelism: 1}
streams:
  - {from: s, to: a, grouping: *local}
  - {from: a, to: b, grouping: {<<: *local, streamId: other}}
""",
        {"s": 3, "a": 3, "b": 1},
        says=("the key 'defaults'",),
    ),
    "classes from before Apache": Shape(
        """
spouts: [{id: s, className: backtype.storm.testing.TestWordSpout}]
bolts: [{id: a, className: org.apache.storm.flux.wrappers.bolts.LogInfoBolt}]
streams: [{from: s, to: a, grouping: {type: SHUFFLE}}]
""",
        {"s": 1, "a": 1},
    ),
    "empty sections": Shape(f"components:\nincludes:\nworkerHooks:\nconfig:\n{_CHAIN}", _PLAYED),
    "numbers written as strings": Shape(
        """
config: {topology.workers: "4"}
spouts: [{id: s, className: demo.S, parallelism: "2"}]
bolts: [{id: 7, className: demo.A, parallelism: "3"}]
streams: [{from: s, to: 7, grouping: {type: fields, args: "word"}}]
""",
        {"s": 2, "7": 3},
    ),
    "one id twice": Shape(
        """
spouts: [{id: s, className: demo.S}]
bolts:
  - {id: a, className: demo.A, parallelism: 2}
  - {id: a, className: demo.B, parallelism: 5}
streams: [{from: s, to: a, grouping: {type: SHUFFLE}}]
""",
        {"s": 1, "a": 5},
        says=("'a' of the bolts: it is given twice: the last counts",),
    ),
    "one stream twice": Shape(
        f"{_CHAIN}  - {{from: lines, to: split, grouping: {{type: FIELDS, args: [word]}}}}\n",
        _PLAYED,
        says=("it is given twice: the last one counts",),
    ),
    "a stream without a grouping": Shape(
        """
spouts: [{id: s, className: demo.S}]
bolts: [{id: a, className: demo.A}]
streams: [{from: s, to: a}]
""",
        {"s": 1, "a": 1},
        says=("a stream without a grouping",),
    ),
    "keys that Flux does not have": Shape(
        f"{_CHAIN}\nsomething: {{else: 1}}\n", _PLAYED, says=("the key 'something'",)
    ),
    "an invalid parallelism": Shape(
        _CHAIN.replace("parallelism: 2", "parallelism: many"),
        {"lines": 1, "split": 1},
        says=("parallelism of split: 'many' is not a whole number",),
    ),
    "only a spout": Shape("spouts: [{id: s, className: demo.S, parallelism: 2}]", {"s": 2}),
    "bolts without a spout": Shape(
        """
bolts: [{id: a, className: demo.A}, {id: b, className: demo.B}]
streams: [{from: a, to: b, grouping: {type: SHUFFLE}}]
""",
        missing=("a spout: there is none",),
    ),
    "mappings and values where lists and mappings are expected": Shape(
        "spouts: {id: s, className: demo.S}\nbolts: [{id: a, className: demo.A}]\nincludes: [1, [2]]",
        says=("spouts: it is not a list", "it does not name a file"),
        missing=("a spout",),
    ),
}
