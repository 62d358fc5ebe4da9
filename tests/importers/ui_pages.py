"""Pages as Storm's UI answers them, written by hand: a spout, two bolts, two streams."""

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
    "executorsTotal": 12,
    "tasksTotal": 14,
    "stormVersion": "1.2.4",
    "topologyStats": [
        {"window": "600", "windowPretty": "10m 0s", "emitted": 100, "acked": 1, "failed": None}
    ],
    "spouts": [
        {
            "spoutId": "lines",
            "executors": 2,
            "tasks": 4,
            "emitted": 66000,
            "transferred": 66000,
            "completeLatency": "12.5",
            "acked": 60000,
            "failed": 0,
            "requestedCpu": 10.0,
            "requestedMemOnHeap": 128.0,
            "requestedMemOffHeap": 0.0,
        }
    ],
    "bolts": [
        {
            "boltId": "split",
            "executors": 4,
            "tasks": 4,
            "emitted": 480000,
            "executed": 60000,
            "executeLatency": "0.250",
            "processLatency": "0.300",
            "capacity": "0.025",
            "acked": 60000,
            "failed": 0,
        },
        {
            "boltId": "count",
            "executors": 4,
            "tasks": 4,
            "emitted": None,
            "executed": 486000,
            "executeLatency": 0.1,
            "processLatency": "0.1",
            "acked": 486000,
            "failed": 0,
        },
    ],
    "workers": [{"host": "h1", "port": 6700}],
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
    "executors": 2,
    "tasks": 4,
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
    "inputStats": [
        {
            "component": "lines",
            "stream": "default",
            "executed": 60000,
            "executeLatency": "0.250",
            "acked": 60000,
        }
    ],
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
GRAPH: dict[str, Any] = {
    "lines": {":type": "spout", ":inputs": [], ":capacity": "0", ":stats": []},
    "split": {
        ":type": "bolt",
        ":inputs": [
            {
                ":component": "lines",
                ":stream": "default",
                ":sani-stream": "d1",
                ":grouping": "local_or_shuffle",
            }
        ],
    },
    "count": {
        ":type": "bolt",
        ":inputs": [
            {":component": "split", ":stream": "default", ":sani-stream": "d1", ":grouping": "fields"},
            {":component": "lines", ":stream": "errors", ":sani-stream": "e1", ":grouping": "all"},
        ],
    },
    "__acker": {
        ":type": "bolt",
        ":inputs": [{":component": "lines", ":stream": "__ack_init", ":grouping": "fields"}],
    },
}
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
            "executed": [{"component_id": "lines", "stream_id": "default", "value": 60000}],
            "executed_ms_avg": [{"component_id": "lines", "stream_id": "default", "value": "0.25"}],
        },
        {
            "id": "count",
            "emitted": [],
            "executed": [
                {"component_id": "split", "stream_id": "default", "value": 480000},
                {"component_id": "lines", "stream_id": "errors", "value": 6000},
            ],
            "executed_ms_avg": [
                {"component_id": "split", "stream_id": "default", "value": 0.09},
                {"component_id": "lines", "stream_id": "errors", "value": 0.9},
            ],
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
