"""Storm@Twitter: workers per machine, writes to ZooKeeper, and the checksum of acks."""

from __future__ import annotations

from collections.abc import Sequence

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.times import timers_of
from storm_lab.emulator.emulation import Emulation
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import calculated, measurement
from storm_lab.model import Assignment, Cluster, Executor, Node, Slot
from storm_lab.model.version import V0_9_7
from storm_lab.papers.algorithms import trees
from storm_lab.papers.algorithms.trees import TreeCheck, check_trees
from storm_lab.papers.twitter.testbed import MACHINES, VERSION, client_event_count, machines
from storm_lab.papers.twitter.zookeeper_load import (
    CAPTURED_WORKERS,
    PARTITIONS,
    TOPOLOGIES,
    offset_writes_per_s,
)
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.storm.default import DefaultScheduler

LOSSLESS = V0_9_7
"""Version for the checksum. Workers of 0.8 lose tuples and acks sent to a worker that does not yet listen."""

_MINUTE_S = 60.0

PARAMETERS: tuple[Parameter, ...] = (
    PARTITIONS,
    CAPTURED_WORKERS,
    Parameter(
        "zk_machines",
        40,
        "machines of the captured cluster; not printed: twelve workers on each, as many as cores",
        within=(1, 500),
    ),
)


def workers_by_machine() -> dict[int, list[int]]:
    """Workers on each machine, by number of machines, as default places those of three removed at a time."""
    topology = client_event_count()
    present: dict[Executor, Slot] = {}
    found: dict[int, list[int]] = {}
    for count in MACHINES:
        cluster = machines(count)
        nodes = {node.id for node in cluster.nodes}
        left = {executor: slot for executor, slot in present.items() if slot.node in nodes}
        view = SchedulingView((topology,), cluster, VERSION, Assignment(left))
        present = dict(DefaultScheduler().schedule(view).assignment.slots)
        workers = set(present.values())
        found[count] = [sum(slot.node == node for slot in workers) for node in sorted(nodes)]
    return found


def writes_per_minute(parameters: Parameters) -> dict[str, float]:
    """Writes to ZooKeeper per minute from their periods, by origin: offsets, worker and supervisor beats."""
    timers = timers_of(VERSION)
    return {
        "offsets": offset_writes_per_s(parameters.integer(PARTITIONS.name)) * _MINUTE_S,
        "worker-beats": parameters.integer(CAPTURED_WORKERS.name) * _MINUTE_S / timers.task_heartbeat_s,
        "supervisor-beats": parameters.integer("zk_machines") * _MINUTE_S / timers.supervisor_heartbeat_s,
    }


def acked_trees(seed: int, *, killing: bool) -> TreeCheck:
    """Play a minute of known trees, some of which fail, and compare every ack with what was executed.

    ``killing`` kills the worker of one node with the tuples that it holds, so that trees stay incomplete.
    """
    cluster = Cluster(tuple(Node(f"node{n}") for n in (1, 2, 3)))
    declared = trees.topology((2, 3, 4), workers=3, ackers=2, message_timeout_s=10.0)
    faults = [{"fault": "kill-worker", "at_s": 40.0, "node": "node2", "port": port} for port in (6700, 6701)]
    rows = trees.Rows()
    Emulation(
        EmulationSpec(
            cluster=cluster,
            version=LOSSLESS,
            topologies=(trees.plan(declared, LOSSLESS, _RATE, failing=True),),
            scheduler=DefaultScheduler(),
            duration_s=_MINUTE_S,
            seed=seed,
            faults=FaultPlan.of_rows(faults if killing else ()),
        )
    ).run(rows)
    return check_trees(rows)


_RATE = 100.0


def measure(parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of sections 2.3, 3.3.1 and 3.4.1 that need no run of an experiment."""
    by_machine = workers_by_machine()
    writes = writes_per_minute(parameters)
    storm = writes["worker-beats"] + writes["supervisor-beats"]
    total = storm + writes["offsets"]
    periods = "offsets every 2 s, worker heartbeats every 3 s, supervisor heartbeats every 5 s"
    workers = {f"{count}-machines": round(sum(c) / len(c)) for count, c in by_machine.items()}
    mean = "mean over the machines, default scheduler, three machines taken away at a time"
    partitions = f"{TOPOLOGIES} topologies, {parameters.integer(PARTITIONS.name)} partitions each, {periods}"
    shares = {"kafka-spouts": 100 * writes["offsets"] / total, "storm": 100 * storm / total}
    captured = f"{parameters.integer(CAPTURED_WORKERS.name)} workers; {periods}"
    beats = 100 * writes["worker-beats"] / storm
    cluster = f"{parameters.integer('zk_machines')} machines; {periods}"
    return (
        calculated("twitter-workers-per-machine", workers, how=mean),
        calculated("twitter-zk-kafka-writes", writes["offsets"], how=partitions),
        calculated("twitter-zk-share", shares, how=captured),
        calculated("twitter-zk-heartbeat-share", beats, how=cluster),
        _checksum(parameters.seeds),
    )


def _checksum(seeds: Sequence[int]) -> Measurement:
    """Count early acks in all runs, but missing acks only in runs that lost no message with a worker."""
    whole = [acked_trees(seed, killing=False) for seed in seeds]
    killed = [acked_trees(seed, killing=True) for seed in seeds]
    wrong = {
        "acked-too-early": [a.too_early + b.too_early for a, b in zip(whole, killed, strict=True)],
        "complete-not-acked": [check.unacked for check in whole],
    }
    compared = "acks against executions of every tree, with bolts that fail, with and without a killed worker"
    return measurement("twitter-ack-xor", wrong, how=compared)
