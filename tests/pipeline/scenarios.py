"""Tiny runs, each made to show one metric; every expected number in the tests can be worked out on paper from
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.tuplelog.tiny import MS, Row, S, root, write_run


def place(component: str, first: int, last: int | None = None, *, worker: int = 0, node: str = "n1",
          start_s: float = 0, end_s: float | None = None, topology: str = "wc") -> Row:  # fmt: skip
    return {
        "topology": topology, "component": component, "start_task": first, "end_task": last or first,
        "worker": worker, "node": node, "port": 6700 + worker, "start_ns": round(start_s * S),
        "end_ns": None if end_s is None else round(end_s * S),
    }  # fmt: skip


def window(start_s: float, end_s: float, **more: object) -> Row:
    return {"topology": "wc", "start_ns": round(start_s * S), "end_ns": round(end_s * S)} | more


Task = tuple[str, int]


def sent(start_s: float, end_s: float, source: Task, target: Task, where: str, tuples: int) -> Row:
    source_columns = {"source_component": source[0], "source_task": source[1]}
    target_columns = {"target_component": target[0], "target_task": target[1]}
    amounts = {"locality": where, "tuples": tuples, "bytes": 10 * tuples}
    return window(start_s, end_s, **source_columns, **target_columns, **amounts)


def count(
    start_s: float, end_s: float, component: str, task: int, executed: int, execute_s: float = 0
) -> Row:
    return window(start_s, end_s, component=component, task=task, executed=executed, emitted=2 * executed,
                  transferred=3 * executed, execute_ns=round(execute_s * S))  # fmt: skip


def used(start_s: float, end_s: float, node: str, cpu_ms: float, component: str = "", task: int = -1,
         thread: str = "main") -> Row:  # fmt: skip
    return window(start_s, end_s, node=node, component=component, task=task, thread=thread, cpu_ms=cpu_ms)


def executed(component: str, root_id: int, where: str, enqueue_s: float, end_s: float) -> Row:
    times = {"enqueue_ns": round(enqueue_s * S), "start_ns": round(enqueue_s * S), "end_ns": round(end_s * S)}
    task = {"split": 2, "count": 4}[component]
    return {
        "topology": "wc",
        "component": component,
        "task": task,
        "root_id": root_id,
        "locality": where,
    } | times


def entry(time_s: float, action: str, subject: str = "wc", actor: str = "nimbus", detail: str = "") -> Row:
    who = {"actor": actor, "action": action, "subject": subject}
    return {"time_ns": round(time_s * S), "detail": detail} | who


def assigned(time_s: float, moved: int = 1, origin: str = "installed", subject: str = "wc") -> Row:
    return entry(time_s, "assign", subject, detail=f'{{"moved":{moved},"origin":"{origin}"}}')


def many(per_second: Sequence[int]) -> list[Row]:
    """So many root tuples acked in each second, all inside it."""
    return [root(second + 0.1, 1) for second, number in enumerate(per_second) for _ in range(number)]


SPOUT = place("spout", 1)
NODES = [
    {"node": "n1", "rack": "r1", "cores": 4, "core_mhz": 2000.0, "memory_mb": 1.0},
    {"node": "n2", "rack": "r1", "cores": 2, "core_mhz": 3000.0, "memory_mb": 1.0},
]

EARLY = [root(1 + 0.1 * i, latency, sleep_ns=5 * MS) for i, latency in enumerate((10, 20, 30, 40))]
SETTLING = (50, 30, 10, 10, 10, 10, 40, 20, 10, 10, 10, 10)


def write_all(root_folder: Path) -> list[Path]:
    """Write every scenario as a run of the experiment ``tiny``; the variant is the scenario's name."""
    folders = []

    def write(name: str, duration_s: float, tables: dict[str, list[Row]], warm_up_s: float = 0) -> None:
        folder = root_folder / "tiny" / name
        write_run(folder, tables, duration_s=duration_s, warm_up_s=warm_up_s, variant=name)
        folders.append(folder)

    write("latency", 120, {
        "placements": [SPOUT],
        "roots": [
            *EARLY,
            root(59.95, 50),                                          # completes at exactly 60 s
            root(59.99, 20),
            root(3, None, "failed", complete_ns=33 * S),
            root(100, None, "pending"),
        ],
    }, warm_up_s=60)  # fmt: skip
    write("stop", 3.5, {"placements": [SPOUT], "roots": [root(0.5, 10), root(2.2, 100), root(2.5, 100)]})
    write("failures", 120, {
        "placements": [SPOUT],
        "roots": [
            root(5, None, "failed", complete_ns=65 * S),
            root(6, None, "failed", complete_ns=66 * S),
            root(7, None, "lost"),
            root(70, 10, attempt=1),
            root(71, None, "failed", attempt=1, complete_ns=101 * S),
            root(72, 10),
        ],
    })  # fmt: skip
    write("degradation", 20, {
        "placements": [SPOUT],
        "roots": many([10] * 10 + [0, 0, 2, 5, 8] + [10] * 5),
        "control": [assigned(0, 3, "scheduled"), assigned(10), entry(4, "heartbeat")],
    })  # fmt: skip
    write("traffic", 120, {
        "placements": [SPOUT, place("split", 2, 3), place("count", 4)],
        "roots": [root(1, 1)],
        "traffic": [
            sent(0, 20, ("spout", 1), ("split", 2), "process", 1000),     # before the end of the warm-up
            sent(20, 50, ("spout", 1), ("split", 2), "process", 10),
            sent(20, 50, ("spout", 1), ("split", 3), "rack", 30),
            sent(20, 50, ("split", 2), ("count", 4), "node", 20),
            sent(50, 70, ("split", 3), ("count", 4), "cluster", 40),      # half of it in each minute
        ],
    }, warm_up_s=20)  # fmt: skip
    write("occupancy", 100, {
        "roots": [root(1, 1)],
        "placements": [
            place("a", 1), place("b", 2, end_s=50), place("b", 2, worker=1, node="n2", start_s=40),
            place("c", 1, worker=2, node="n2", start_s=60, end_s=80, topology="other"),
        ],
    }, warm_up_s=20)  # fmt: skip
    write("cpu", 90, {
        "roots": [root(1, 1)],
        "nodes": NODES,
        "placements": [SPOUT],
        "cpu": [
            used(0, 60, "n1", 30_000, "spout", 1), used(0, 60, "n1", 6_000, "spout", 1, "send"),
            used(0, 60, "n1", 12_000, thread="transfer"),
            used(60, 90, "n1", 15_000, "spout", 1),
        ],
    }, warm_up_s=60)  # fmt: skip
    write("threads", 90, {
        "roots": [root(1, 1)],
        "nodes": NODES,
        "placements": [SPOUT],
        "cpu": [
            used(0, 60, "n1", 60_000, "spout", 1),
            used(60, 90, "n1", 15_000, "spout", 1), used(60, 90, "n1", 6_000, "spout", 1, "send"),
            used(60, 90, "n1", 27_000, thread="transfer"),
        ],
    }, warm_up_s=60)  # fmt: skip
    write("capacity", 900, {
        "roots": [root(1, 1)],
        "placements": [place("split", 2, 3), place("split", 4, start_s=30), place("__acker", 9)],
        "counts": [
            count(0, 60, "split", 2, 100, 12), count(0, 60, "split", 3, 50, 6),
            count(30, 60, "split", 4, 10, 15), count(0, 60, "__acker", 9, 5, 1),
            count(240, 360, "split", 2, 60, 60), count(600, 900, "split", 4, 30, 120),
        ],
    }, warm_up_s=300)  # fmt: skip
    write("execution", 60, {
        "roots": [root(1, 1)],
        "placements": [SPOUT, place("split", 2), place("split", 3, worker=1)],
        "executions": [
            {"topology": "wc", "component": "split", "task": task, "worker": worker}
            | {"enqueue_ns": 0, "start_ns": start * MS, "end_ns": end * MS}
            for task, worker, start, end in ((2, 0, 2, 3), (3, 1, 4, 9))
        ],
    })  # fmt: skip
    write("elapsed", 60, {
        "placements": [SPOUT, place("split", 2), place("count", 4)],
        "roots": [root(1, 0, root_id=1), root(20, 0, root_id=2), root(21, 0, root_id=3)],
        "executions": [
            executed("split", 1, "rack", 1.002, 1.004),                   # before the end of the warm-up
            executed("split", 2, "rack", 20.002, 20.006),
            executed("split", 3, "rack", 21.004, 21.006),
            executed("count", 3, "process", 21.007, 21.008),
            executed("count", -1, "process", 30, 31),                     # a tick: of no root
        ],
    }, warm_up_s=10)  # fmt: skip
    write("settling", 120, {
        "placements": [SPOUT],
        "roots": [root(10 * i + 1, latency) for i, latency in enumerate(SETTLING)],
        "control": [assigned(0), assigned(0, subject="wc2"), assigned(60), assigned(60, subject="wc2")],
    })  # fmt: skip
    write("gaps", 120, {
        "placements": [SPOUT],
        "roots": [root(1, 40), root(11, 20), root(61, 30)],
        "control": [assigned(0), assigned(40), assigned(90)],  # between tuples, and after the last one
    })  # fmt: skip
    write("disturbed", 120, {
        "roots": [root(1, 1)],
        "placements": [SPOUT],
        "control": [
            entry(0, "submit"), assigned(0, 3, "scheduled"),
            assigned(10, 0),                                              # nothing moves
            entry(20, "rebalance"), assigned(50, 3, "rebalanced"),        # one disturbance, at 20 s
            entry(60, "kill-node", "n1", "fault"), assigned(90, 2, "scheduled"),
        ],
    })  # fmt: skip
    write("silent", 60, {"counts": [count(0, 60, "split", 2, 120)], "placements": [place("split", 2)]})
    return folders
