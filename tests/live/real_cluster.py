"""What tests on real clusters share: two nodes, a chain to run on them, and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.hosts import machine_mhz
from storm_lab.live.play import open_stage, play_live
from storm_lab.live.storm import LiveStorm
from storm_lab.live.trace_export import export_plan
from storm_lab.model import Cluster, Node, StormVersion
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.tuplelog import Run, RunIdentity, RunWriter, open_run
from storm_lab.workloads.build import build_trace
from tests.live.test_collect import CHAIN, CODE

NODES = Cluster(
    tuple(Node(name, cores=1, core_mhz=2000.0, ports=(6700, 6701), memory_mb=2048.0) for name in ("n1", "n2"))
)

SECONDS = 300
"""Longest wait for anything: 0.9 notices a dead worker after 30 s, and the machine may be busy."""


def wait(
    what: str, true: Callable[[], bool], storm: LiveStorm | None = None, seconds: float = SECONDS
) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"waited in vain for {what}"
        if storm is not None:
            storm.check()
        time.sleep(0.1)


def chain_plan(version: StormVersion, rate_per_s: float) -> TopologyPlan:
    source = SourcePlan(SourceKind.RATE, rate_per_s=rate_per_s)
    return TopologyPlan(CHAIN, build_trace(CHAIN, CODE, version), {"spout": source})


def export_chain(version: StormVersion, folder: Path, records: Path, rate_per_s: float = 100.0) -> Path:
    records.mkdir(exist_ok=True)
    plan, now = chain_plan(version, rate_per_s), time.monotonic_ns()
    spec = EmulationSpec(NODES, version, (plan,), DefaultScheduler(), 60.0)
    return export_plan(plan, spec, folder, records=records, origin_ns=now, mhz=machine_mhz())


def played(spec: EmulationSpec, version: str, folder: Path) -> Run:
    """Play a run on a cluster of its own."""
    identity = RunIdentity("live-test", "test", {}, 1, str(spec.version), "c", "l", {}, runtime="live")
    with open_stage(version, spec.cluster) as stage, RunWriter(folder, identity) as log:
        outcome = play_live(spec, stage, log)
        log.finish(duration_ns=outcome.duration_ns, conditions=outcome.conditions)
    return open_run(folder, verify=True)
