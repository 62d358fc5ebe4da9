"""Sittings that R-Storm's paper does not have: its topologies under three placements, on equal terms.

Topologies are those of the recordings (`storm_lab.papers.rstorm.layouts`), flooded, without acks and debug
log. *even-12* is Storm's even scheduler with twelve workers on six hosts, *even-6* the same with one worker
per host, and *r-storm* the paper's own placement.

Workers run with HotSpot's first compiler (C1) alone. On hosts of 0.3 cores the second one is still at work a
minute and a half after the start, and longer with more workers, so its work would be compared as well.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.live.suite.build import in_sequence, quota_cluster
from storm_lab.live.suite.chains import floods
from storm_lab.live.suite.scene import Schedule
from storm_lab.model import Assignment, Cluster, Executor, Resources, Slot, StormVersion, executors_of
from storm_lab.model.settings import LOAD_AWARE_OFF
from storm_lab.papers.rstorm.emulab_runs import topology_plan
from storm_lab.papers.rstorm.layouts import layout
from storm_lab.papers.rstorm.recording import Layout, load_recordings
from storm_lab.papers.rstorm.usercode import Effort, lines_of
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.papers.rstorm import RStormScheduler
from storm_lab.schedulers.storm.even import EvenScheduler

TOPOLOGIES = ("linear", "diamond", "page-load")
PLACEMENTS = ("even-12", "even-6", "r-storm")
_START_S = 50.0
"""Time until a placement is measured, on hosts of 0.3 cores. Flush timers, which cost a quarter of what
twelve workers can do, begin 30 s after the workers are connected.
"""
_HOSTS = 6
_OFFER = Resources(100.0, 20480.0)
"""As in the recordings: each host offers one core, and enough memory."""


LOGGED = ("linear", "diamond")
"""Topologies that are also played with the debug log, as in the recordings."""
WORKERS = {"one-worker": 1, "two-workers": 2}
"""Workers per host where each host has a core of its own, by the end of a scene's name."""
_OWN_CORE_START_S, _LOGGED_START_S = 45.0, 60.0
"""Time until a placement is measured on such hosts, without and with the debug log."""
_SAMPLE_EVERY = 100_000
"""The executions of one root tuple in this many are logged: floods without acks have no latencies."""

_EFFORT = Effort(character_us=0.7)
"""CPU per character of the player's bolts in the recorded sittings, on real Storm and here alike."""


EVEN_SHUFFLE = "-even-shuffle"
"""Suffix of a topology that is played with an even shuffle instead of the load-aware one."""


@cache
def _plan(topology: str, placement: str) -> TopologyPlan:
    workers = 12 if placement == "even-12" else _HOSTS
    name = topology.removesuffix(EVEN_SHUFFLE)
    settings = {LOAD_AWARE_OFF: True} if topology.endswith(EVEN_SHUFFLE) else {}
    found = layout(name, workers=workers, debug=False)
    return _flooded(found, id=f"{topology}-{placement}", settings={**found.topology.settings, **settings})


def _flooded(found: Layout, **changes: Any) -> TopologyPlan:
    """Plan a topology of the recordings with some changes, without acks and limits."""
    named = replace(found.topology, ackers=0, max_spout_pending=None, **changes)
    return topology_plan(named, found.definitions, lines_of(load_recordings().line_lengths), effort=_EFFORT)


def cluster(mhz: float) -> Cluster:
    """Return six hosts that fill the machine, with slots for all three placements side by side."""
    held = quota_cluster(mhz, _HOSTS)
    ports = tuple(range(6700, 6706))
    return replace(held, nodes=tuple(replace(node, offer=_OFFER, ports=ports) for node in held.nodes))


def _placement(plans: dict[str, TopologyPlan], machines: Cluster, version: StormVersion) -> Assignment:
    """Place each topology as if it were alone, on slots of its own."""
    found = Assignment()
    ports = {"even-12": (6700, 6701), "even-6": (6702,), "r-storm": (6703,)}
    for placement, plan in plans.items():
        own = Cluster(tuple(replace(node, ports=ports[placement]) for node in machines.nodes))
        view = SchedulingView((plan.topology,), own, version)
        policy = RStormScheduler() if placement == "r-storm" else EvenScheduler()
        placed = policy.schedule(view).assignment
        assert set(placed.slots) == set(executors_of(plan.topology, version))
        found = found.merged(placed)
    return found


def placements(version: StormVersion, mhz: float, *, topology: str) -> tuple[Schedule, EmulationSpec]:
    """Describe one of the topologies under three placements, active in turn.

    With the suffix `EVEN_SHUFFLE` it is played without load-aware messaging.
    """
    schedule = floods(*[(f"{topology}-{placement}",) for placement in PLACEMENTS], start_s=_START_S)
    machines = cluster(mhz)
    plans = {each: _in_turn(_plan(topology, each), schedule, _START_S) for each in PLACEMENTS}
    placement = _placement(plans, machines, version)
    return schedule, in_sequence(machines, version, tuple(plans.values()), placement, schedule, _SAMPLE_EVERY)


def _in_turn(plan: TopologyPlan, schedule: Schedule, before_s: float) -> TopologyPlan:
    """Return a topology that is submitted some time before it is measured."""
    return replace(plan, submit_s=schedule.first_measured_s(plan.topology.id) - before_s)


def _even_plan(name: str, topology: str, workers: int, debug: bool) -> TopologyPlan:
    """Plan two executors of each component, one for each host; flooded."""
    found = layout(topology, debug=debug)
    components = tuple(replace(each, executors=2, tasks=2) for each in found.topology.components)
    return _flooded(found, id=name, components=components, workers=2 * workers)


def _even_placement(plan: TopologyPlan, machines: Cluster, version: StormVersion, first: int) -> Assignment:
    """Place one executor of each component on each host, dealing components to the host's workers in turn."""
    order = [component.id for component in plan.topology.components]
    workers = plan.topology.workers // len(machines.nodes)
    placed: dict[Executor, Slot] = {}
    for number, executor in enumerate(sorted(executors_of(plan.topology, version))):
        port = first + order.index(executor.component) % workers
        placed[executor] = Slot(machines.nodes[number % len(machines.nodes)].id, port)
    return Assignment.of(placed.items())


def own_cores(
    version: StormVersion, mhz: float, *, prefix: str, topologies: tuple[str, ...], debug: bool
) -> tuple[Schedule, EmulationSpec]:
    """Describe topologies on two hosts with a core each, in one worker a host and in two, in turn."""
    start_s = _LOGGED_START_S if debug else _OWN_CORE_START_S
    variants = {
        f"{prefix}-{each}-{workers}": (each, workers) for each, workers in product(topologies, WORKERS)
    }
    schedule = floods(*[(name,) for name in variants], start_s=start_s)
    machines = quota_cluster(mhz, cores=1)
    plans = []
    placement = Assignment()
    for number, (name, (topology, workers)) in enumerate(variants.items()):
        plan = _even_plan(name, topology, WORKERS[workers], debug)
        plans.append(_in_turn(plan, schedule, start_s))
        placement = placement.merged(_even_placement(plan, machines, version, 6700 + 2 * number))
    return schedule, in_sequence(machines, version, plans, placement, schedule, _SAMPLE_EVERY)
