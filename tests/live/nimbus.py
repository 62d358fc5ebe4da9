"""Scheduling requests as Nimbus sends them, for tests of the bridge."""

from __future__ import annotations

from typing import Any

from storm_lab.model import Component, StormVersion, Subscription, Topology

V2 = StormVersion((2, 8, 3))

CHAIN = Topology(
    "chain",
    (
        Component("spout", executors=2, outputs={"default": ("id",)}),
        Component("bolt", executors=2, inputs=(Subscription("spout"),)),
    ),
    workers=2,
    ackers=1,
)
EXECUTORS = [[1, 1, "__acker"], [2, 2, "bolt"], [3, 3, "bolt"], [4, 4, "spout"], [5, 5, "spout"]]


def node(number: int, ports: tuple[int, ...] = (6700, 6701)) -> dict[str, Any]:
    """Return a supervisor as Nimbus describes it."""
    return {
        "id": f"supervisor-{number}",
        "host": f"10.0.0.{number}",
        "ports": list(ports),
        "memory_mb": 4096.0,
        "cpu_points": 400.0,
    }


def topology(**changes: Any) -> dict[str, Any]:
    """Return the chain as Nimbus describes it."""
    return {
        "id": "chain-1-1700000000",
        "name": "chain",
        "workers": 2,
        "conf": {"topology.message.timeout.secs": 30, "topology.name": "chain"},
        "executors": EXECUTORS,
        "components": [
            {
                "id": "bolt",
                "spout": False,
                "executors": 2,
                "conf": {},
                "outputs": {},
                "inputs": [{"source": "spout", "stream": "default", "grouping": "shuffle", "fields": []}],
            },
            {
                "id": "spout",
                "spout": True,
                "executors": 2,
                "conf": {},
                "outputs": {"default": ["id"]},
                "inputs": [],
            },
        ],
        "present": [],
    } | changes


def question(*topologies: dict[str, Any], nodes: int = 2, **changes: Any) -> dict[str, Any]:
    """Return the request of one scheduling round."""
    return {
        "format": 1,
        "storm": "2.8.3",
        "nodes": [node(number + 1) for number in range(nodes)],
        "blacklisted": [],
        "topologies": list(topologies or (topology(),)),
    } | changes
