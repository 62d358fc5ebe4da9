"""Plays an `EmulationSpec` on real Storm and writes the same tuple log as the emulator."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from storm_lab.emulator.control.decision_log import Decision, Fact
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.faults.commands import SetLoad
from storm_lab.emulator.control.migration.method import Restart
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.spec import EmulationSpec, check_spec
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.errors import StormLabError, UserError
from storm_lab.live.bridge import Bridge, Policy, Round
from storm_lab.live.collect import collect
from storm_lab.live.hosts import HostOptions, machine_mhz
from storm_lab.live.java_build import SUBMIT_CLASS, player_jar
from storm_lab.live.lives import LiveRecords
from storm_lab.live.polls import measure_polls
from storm_lab.live.releases import Release, find_release
from storm_lab.live.request import Known
from storm_lab.live.sampler import MachineSampler, conditions, measure_links, windows_of
from storm_lab.live.services import LiveServices, check_services
from storm_lab.live.storm import LiveStorm
from storm_lab.live.timeline import Submission, Timeline, check_faults
from storm_lab.live.trace_export import check_playable, export_plan, storm_name
from storm_lab.model import Assignment, Cluster
from storm_lab.model.checks import check_number
from storm_lab.model.settings import OF_TOPOLOGY
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.tuplelog.buffer import Recorder

Progress = Callable[[int, int], None]
"""Called with the time reached and the planned end, both in nanoseconds since the start of the run."""

_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class LiveOutcome:
    """What a live run adds to the manifest; the measurements are in the tuple log."""

    duration_ns: int
    conditions: Mapping[str, Any]


@dataclass(slots=True)
class Stage:
    """A live cluster on which runs are played one after another."""

    storm: LiveStorm
    release: Release
    jar: Path
    bridge: Bridge
    measured: Mapping[str, float]
    """Latencies of messages and costs of polls, from `measure_links` and `measure_polls`."""
    runs: int = 0


@contextmanager
def open_stage(
    version: str,
    cluster: Cluster,
    *,
    hosts: HostOptions | None = None,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Stage]:
    """Start a cluster whose Nimbus asks storm_lab's schedulers; it is removed at the end of the block.

    The arguments are those of `LiveStorm`. Raises `UserError` if it cannot be started here.
    """
    release = find_release(version)
    jar = player_jar(release)
    policy = Policy(DefaultScheduler(), Known(release.storm, cluster))
    with (
        LiveStorm(version, cluster, bridged=True, settings=settings, hosts=hosts) as storm,
        Bridge(storm.scheduler_socket, policy) as bridge,
    ):
        measured = measure_links(storm) | measure_polls(jar, storm.token)
        yield Stage(storm, release, jar, bridge, measured)


def play_live(
    spec: EmulationSpec, stage: Stage, log: Recorder, progress: Progress | None = None
) -> LiveOutcome:
    """Play a description on a running cluster and write its rows; the log is neither opened nor finished.

    Durations are real seconds. Parameters that only the emulator uses (costs other than those of external
    servers, control-plane times, ZooKeeper's speed) have no effect.

    Raises:
        UserError: the description contains something that cannot be played live.
        StormLabError: Storm does not behave as expected.
    """
    spec = replace(spec, version=stage.release.storm).with_defaults()
    check_live(spec, stage.storm.cluster)
    # An earlier run may have left a node dead.
    stage.storm.restore_all()
    stage.runs += 1
    here = stage.storm.new_folder(f"play/run{stage.runs}")
    submissions = {
        plan.topology.id: Submission(
            plan,
            name=storm_name(plan.topology),
            exported=here / f"topology{number}/plan",
            records=here / f"topology{number}/records",
        )
        for number, plan in enumerate(spec.topologies)
    }
    names = [each.name for each in submissions.values()]
    records = {topology: each.records for topology, each in submissions.items()}
    window_ns = round(spec.window_s * NS_PER_S)
    nodes = {stage.storm.address(node.id): node.id for node in spec.cluster.nodes}
    topologies = {each.name: each.plan.topology for each in submissions.values()}
    known = Known(spec.version, spec.cluster, nodes, topologies)
    stage.bridge.policy = Policy(spec.scheduler, known, spec.placement or Assignment(), seed=spec.seed)
    rounds_before, events_before = len(stage.bridge.rounds), len(stage.storm.events)
    mhz = machine_mhz()
    timeline = Timeline(spec.faults, stage.storm, submissions)
    origin_ns = time.monotonic_ns()
    end_ns = origin_ns + round(spec.duration_s * NS_PER_S)
    for each in submissions.values():
        each.records.mkdir(parents=True)
        export_plan(each.plan, spec, each.exported, records=each.records, origin_ns=origin_ns, mhz=mhz)
    ended = threading.Event()
    services = LiveServices(spec, stage.bridge.policy, records, stage.storm.workers, origin_ns)
    try:
        with MachineSampler(stage.storm, origin_ns, window_ns) as sampler, services:
            faults = threading.Thread(target=timeline.play, args=(origin_ns, ended), daemon=True)
            faults.start()
            for each in sorted(submissions.values(), key=lambda each: each.plan.submit_s):
                submit_ns = origin_ns + round(each.plan.submit_s * NS_PER_S)
                _wait(stage.storm, origin_ns, submit_ns, end_ns, progress)
                stage.storm.submit(each.name, stage.jar, SUBMIT_CLASS, str(each.exported))
            _wait(stage.storm, origin_ns, end_ns, end_ns, progress)
    except Exception:
        # Other runs may follow on this cluster (at Ctrl-C it is removed). The first error is to be reported.
        with suppress(StormLabError):
            _kill_all(stage.storm, names)
        raise
    finally:
        ended.set()
    _kill_all(stage.storm, names)
    # A fault still in progress must not reach into a later run on this cluster.
    faults.join()
    if timeline.problem is not None:
        raise timeline.problem
    rounds = stage.bridge.rounds[rounds_before:]
    played = LiveRecords(
        spec=spec,
        folders=records,
        origin_ns=origin_ns,
        samples=sampler.samples,
        assignments=[(made.time_ns, made.assignment) for made in rounds],
        supervisors={key: node for made in rounds for key, node in made.supervisors.items()},
        decisions=[
            *_events(stage.storm, events_before, origin_ns),
            *timeline.decisions,
            *services.decisions,
            *round_decisions(rounds, origin_ns),
        ],
    )
    collect(played, log)
    facts = conditions(stage.storm, sampler.samples) | dict(stage.measured)
    return LiveOutcome(played.duration_ns, facts | {"windows": windows_of(sampler.samples, origin_ns)})


def scaled(spec: EmulationSpec, *, load: float = 1.0, longest_s: float | None = None) -> EmulationSpec:
    """Return the run with a part of its load, cut short; `UserError` if a factor or time is out of range.

    On a small machine the hosts of a large cluster get only a part of their clock (`LiveStorm`). With the
    load reduced by the same factor, user code utilises them as it would have at full scale. Saturated sources
    and closed loops are not scaled: the topology itself sets their pace.

    Args:
        spec: the run.
        load: factor on the rates of sources and on the speed of recorded arrivals.
        longest_s: longest duration in seconds; later events of the fault plan are left out.
    """
    check_number("a live run", "load", load, low=1e-4, high=1e4)
    if longest_s is not None:
        check_number("a live run", "seconds", longest_s, low=1e-3, high=1e9)
    duration_s = spec.duration_s if longest_s is None else min(spec.duration_s, longest_s)
    faults = [
        replace(fault, rate_per_s=fault.rate_per_s * load) if isinstance(fault, SetLoad) else fault
        for fault in spec.faults.faults
        if fault.at_s < duration_s
    ]
    plans = tuple(
        replace(plan, sources={name: _scaled_source(source, load) for name, source in plan.sources.items()})
        for plan in spec.topologies
    )
    return replace(
        spec,
        topologies=plans,
        faults=FaultPlan(tuple(faults)),
        duration_s=duration_s,
        warm_up_s=min(spec.warm_up_s, duration_s),
    )


def _scaled_source(source: SourcePlan, load: float) -> SourcePlan:
    if source.kind is SourceKind.RATE:
        return replace(source, rate_per_s=source.rate_per_s * load)
    if source.kind is SourceKind.TRACE and source.arrivals_ns is not None and load != 1.0:
        arrivals = np.floor(source.arrivals_ns / load).astype(np.int64)
        period = max(int(np.ceil(source.arrival_period_ns / load)), int(arrivals[-1]) + 1)
        return replace(source, arrivals_ns=arrivals, arrival_period_ns=period)
    return source


def check_live(spec: EmulationSpec, cluster: Cluster) -> None:
    """Refuse a description that cannot be played live; `UserError` names the obstacle."""
    check_spec(spec)
    check_faults(spec.faults)
    if spec.cluster != cluster:
        raise UserError("the running cluster differs from the one described", field="cluster")
    check_services(spec.services)
    if spec.control_only:
        raise UserError("a control plane without tuples is not played live", field="control_only", value=True)
    if spec.bundle.size != 1:
        message = "real Storm plays each tuple separately"
        raise UserError(message, field="bundle", value=spec.bundle.size, remedy="give 1")
    if not isinstance(spec.migration, Restart):
        message = "real Storm moves executors in its own way"
        method = type(spec.migration).__name__
        raise UserError(message, field="migration", value=method, remedy="leave it out, or give Restart()")
    if spec.unreached is not None:
        message = "what becomes of messages without a connection is up to real Storm"
        raise UserError(message, field="unreached", value=spec.unreached.name, remedy="leave it out")
    for key in spec.settings:
        if key not in OF_TOPOLOGY:
            message = "real Storm reads this setting when the cluster is started"
            raise UserError(message, field="settings", value=key, remedy="give it to open_stage instead")
    names: dict[str, str] = {}
    for plan in spec.topologies:
        check_playable(plan, spec.version)
        other = names.setdefault(storm_name(plan.topology), plan.topology.id)
        if other != plan.topology.id:
            message = f"real Storm would give it the name of topology {other!r}"
            raise UserError(message, field="topology", value=plan.topology.id, remedy="choose another name")


def round_decisions(rounds: Sequence[Round], origin_ns: int) -> Iterator[Decision]:
    """Yield the rounds of scheduling as control events: assignments that move something, and problems."""
    before, last_problem = Assignment(), ""
    for made in rounds:
        time_ns = made.time_ns - origin_ns
        if made.problem and made.problem != last_problem:
            yield Decision(time_ns, "scheduler", "keep", "cluster", made.problem)
        last_problem = made.problem
        for topology in made.moved:
            new, old = made.assignment.of_topology(topology), before.of_topology(topology)
            workers = {str(slot): len(members) for slot, members in new.workers().items()}
            moved = sum(1 for e, slot in new.slots.items() if old.slots.get(e) != slot)
            facts: dict[str, Fact] = {"moved": moved, "workers": workers, "scheduler": made.scheduler}
            facts["took_ms"] = round(made.took_ns / 1e6, 3)
            yield Decision(time_ns, "nimbus", "assign", topology, made.status.get(topology, ""), facts)
        before = made.assignment


def _wait(storm: LiveStorm, origin_ns: int, until_ns: int, end_ns: int, progress: Progress | None) -> None:
    while (now := time.monotonic_ns()) < until_ns:
        storm.check()
        if progress is not None:
            progress(now - origin_ns, end_ns - origin_ns)
        time.sleep(min(_POLL_SECONDS, (until_ns - now) / NS_PER_S))


def _kill_all(storm: LiveStorm, names: Iterable[str]) -> None:
    """Kill all topologies at the same time, since each needs seconds to end its workers."""
    known = storm.topologies()
    storm.kill(*(name for name in names if name in known))


def _events(storm: LiveStorm, first: int, origin_ns: int) -> Iterator[Decision]:
    """Yield the submissions as control events; the timeline keeps entries of its own."""
    for event in storm.events[first:]:
        if event.kind.startswith("submit"):
            took = {"took_ms": round((event.end_ns - event.start_ns) / 1e6, 1)}
            start_ns = event.start_ns - origin_ns
            yield Decision(start_ns, "nimbus", event.kind, event.subject, event.detail, took)
