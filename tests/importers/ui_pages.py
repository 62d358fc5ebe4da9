"""Pages as Storm's UI answers them, without most of what is not read: a spout, two bolts, two streams."""

from __future__ import annotations

from typing import Any

TOPOLOGY: dict[str, Any] = {
    "id": "wc-1-1700000000",
    "name": "wc",
    "status": "ACTIVE",
    "uptime": "2h 0m 0s",
    "uptimeSeconds": 7200,
    "window": "600",
    "windowHint": "10m 0s",
    "workersTotal": 2,
    "stormVersion": "1.2.4",
    "topologyStats": [{"window": "600", "windowPretty": "10m 0s", "emitted": 100, "failed": None}],
    "spouts": [
        {"spoutId": "lines", "executors": 2, "tasks": 4, "emitted": 66000, "acked": 60000, "failed": 0}
        | {"requestedCpu": 10.0, "requestedMemOnHeap": 128.0, "requestedMemOffHeap": 0.0}
    ],
    "bolts": [
        {"boltId": "split", "executors": 4, "tasks": 4, "emitted": 480000}
        | {"executed": 60000, "executeLatency": "0.250", "processLatency": "0.300", "capacity": "0.025"},
        {"boltId": "count", "executors": 4, "tasks": 4, "emitted": None}
        | {"executed": 486000, "executeLatency": 0.1, "processLatency": "0.1"},
    ],
    "configuration": {
        "topology.workers": 2,
        "topology.message.timeout.secs": 45,
        "topology.acker.executors": None,
        "topology.max.spout.pending": None,
        "topology.kryo.register": {},
        "storm.zookeeper.port": 2181,
    },
}
LINES: dict[str, Any] = {
    "id": "lines",
    "componentType": "spout",
    "outputStats": [
        {"stream": "default", "emitted": 60000, "transferred": 60000},
        {"stream": "errors", "emitted": 6000, "transferred": 6000},
        {"stream": "__ack_init", "emitted": 60000, "transferred": 60000},
    ],
    "spoutSummary": [],
}
SPLIT: dict[str, Any] = {
    "id": "split",
    "componentType": "bolt",
    "inputStats": [{"component": "lines", "stream": "default", "executed": 60000, "executeLatency": "0.250"}],
    "outputStats": [{"stream": "default", "emitted": 480000, "transferred": 480000}],
    "boltStats": [],
}
COUNT: dict[str, Any] = {
    "id": "count",
    "componentType": "bolt",
    "inputStats": [
        {"component": "split", "stream": "default", "executed": 480000, "executeLatency": "0.090"},
        {"component": "lines", "stream": "errors", "executed": 6000, "executeLatency": 0.9},
    ],
    "outputStats": [],
    "boltStats": [],
}


def drawn(*inputs: tuple[str, str, str]) -> dict[str, Any]:
    """Return a bolt of the graph: component, stream and grouping of each input."""
    keys = (":component", ":stream", ":grouping")
    return {":type": "bolt", ":inputs": [dict(zip(keys, item, strict=True)) for item in inputs]}


GRAPH: dict[str, Any] = {
    "lines": {":type": "spout", ":inputs": [], ":capacity": "0", ":stats": []},
    "split": drawn(("lines", "default", "local_or_shuffle")),
    "count": drawn(("split", "default", "fields"), ("lines", "errors", "all")),
    "__acker": drawn(("lines", "__ack_init", "fields")),
}


def read(component: str, stream: str, value: object) -> dict[str, Any]:
    """Return what the page of metrics counts or measures of an input."""
    return {"component_id": component, "stream_id": stream, "value": value}


METRICS: dict[str, Any] = {
    "window": "600",
    "spouts": [
        {
            "id": "lines",
            "emitted": [{"stream_id": "default", "value": 60000}, {"stream_id": "errors", "value": 6000}],
            "complete_ms_avg": [{"stream_id": "default", "value": 12.5}],
        }
    ],
    "bolts": [
        {
            "id": "split",
            "emitted": [{"stream_id": "default", "value": 480000}],
            "executed": [read("lines", "default", 60000)],
            "executed_ms_avg": [read("lines", "default", "0.25")],
        },
        {
            "id": "count",
            "emitted": [],
            "executed": [read("split", "default", 480000), read("lines", "errors", 6000)],
            "executed_ms_avg": [read("split", "default", 0.09), read("lines", "errors", 0.9)],
        },
    ],
}
CLUSTER: dict[str, Any] = {"stormVersion": "2.8.8", "slotsTotal": 8, "slotsUsed": 2, "supervisors": 2}
SUPERVISORS: dict[str, Any] = {
    "supervisors": [
        {"id": "s-1", "host": "h1", "slotsTotal": 4, "totalCpu": 800.0, "totalMem": 16384.0},
        {"id": "s-2", "host": "h2", "slotsTotal": 4, "totalCpu": 400.0, "totalMem": 4096.0},
        {"id": "s-3", "host": "h3", "slotsTotal": 0},
    ]
}
PAGES = {
    "topology.json": TOPOLOGY,
    "lines.json": LINES,
    "split.json": SPLIT,
    "count.json": COUNT,
    "graph.json": GRAPH,
    "cluster.json": CLUSTER,
    "supervisors.json": SUPERVISORS,
}
