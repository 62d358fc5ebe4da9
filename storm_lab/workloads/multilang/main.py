"""The process that runs Python components: ``python -m storm_lab.workloads.multilang.main PLAN OUTCOME``.

It reads a pickled `Plan`, runs it, and writes the outcome as JSON. The plan also sets its limits of memory
and CPU time.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import resource
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from storm_lab.workloads.multilang import dsl
from storm_lab.workloads.multilang.clock import VirtualClock
from storm_lab.workloads.multilang.components import TicklessBatchingBolt
from storm_lab.workloads.multilang.emits import CallCollector, Recording, TaskTable
from storm_lab.workloads.multilang.loading import Instances, Loader, LoadError, install
from storm_lab.workloads.multilang.plan import ComponentSpec, Given, Plan, tick_of
from storm_lab.workloads.multilang.recorder import Recorder

MEMORY = 1 << 32  # bytes of address space that the process may have
LARGEST_FILE = 1 << 30  # most bytes of a file that the process may write, including its outcome


def run_plan(plan: Plan) -> dict[str, Any]:
    """Run the components of a plan; return the outcome."""
    _limit(plan)
    # For what modules draw when they are imported.
    _seed()
    install()
    clock = VirtualClock()
    clock.install()
    sys.path[:0] = plan.folders
    loader = Loader([*plan.folders, *([str(Path(plan.topology_file).parent)] if plan.topology_file else [])])
    specs, config = plan.components, plan.config
    faults: list[str] = []
    if plan.topology_file:
        try:
            topology = loader.topology(plan.topology_file)
        except LoadError as error:
            return {"error": str(error), "absent": sorted(loader.absent.missed)}
        specs, faults = dsl.declared(topology.specs)
        config = {**(topology.config if isinstance(topology.config, dict) else {}), **config}
    plan.config = {str(key): value for key, value in config.items()}
    recorded = _record(plan, specs, loader, clock)
    return {
        # Some tick periods become known only when the components are made.
        "components": [asdict(spec) for spec in specs],
        "config": plan.config,
        "faults": faults,
        **recorded,
        "absent": sorted(loader.absent.missed),
    }


def _limit(plan: Plan) -> None:
    """Set the limits that the operating system enforces: memory, CPU time, size of files."""
    for what, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, int(plan.seconds) * 4 + 60),
        (resource.RLIMIT_FSIZE, LARGEST_FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _record(plan: Plan, specs: list[ComponentSpec], loader: Loader, clock: VirtualClock) -> dict[str, Any]:
    """Run all components that can run; whenever some turn out to fail, begin again without them."""
    given = {spec.name: plan.given.get(spec.name, Given()) for spec in specs}
    tasks = {spec.name: given[spec.name].tasks or spec.par for spec in specs}
    broken: dict[str, str] = {}
    while True:
        _seed()
        instances = Instances(plan, specs, loader, CallCollector(TaskTable(specs, tasks), Recording()))
        for spec in specs:
            if spec.name not in broken and not (spec.is_spout and given[spec.name].records is not None):
                made = instances.get(spec.name, 0)
                # Its timer of its own is what this bolt has in place of ticks, which it ignores.
                own = float(made.secs_between_batches) if isinstance(made, TicklessBatchingBolt) else None
                spec.tick_s = given[spec.name].tick_s or own or spec.tick_s or tick_of(plan.config)
        broken |= instances.faults
        running = _runnable(specs, broken)
        if not running:
            return {"broken": broken}
        recording = Recorder(plan, instances, clock).record(running)
        silent = [name for name, trees in recording.trees.items() if not trees]
        failed = recording.broken or dict.fromkeys(silent, "its next_tuple emitted nothing")
        if not failed:
            return {"broken": broken, **recording.outcome([spec.name for spec in running])}
        broken |= failed


def _seed() -> None:
    """Seed random numbers, so that every run draws the same."""
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - seeds the generator that components share


def _runnable(specs: list[ComponentSpec], broken: dict[str, str]) -> list[ComponentSpec]:
    """Return the components that can run: spouts, and bolts all of whose input comes from such components."""
    kept: list[ComponentSpec] = []
    left = [spec for spec in specs if spec.name not in broken]
    while kept != left:
        kept, names = left, {spec.name for spec in left}
        left = [
            spec
            for spec in kept
            if spec.is_spout or (spec.inputs and all(item.component in names for item in spec.inputs))
        ]
    # Bolts in a loop without a spout would keep each other in the list.
    return kept if any(spec.is_spout for spec in kept) else []


def main(plan_file: str, outcome_file: str) -> None:
    """Read the plan, run it, write the outcome, and end at once, even if threads are still running."""
    outcome = run_plan(pickle.loads(Path(plan_file).read_bytes()))
    partial = Path(f"{outcome_file}.partial")
    partial.write_text(json.dumps(outcome, default=repr, skipkeys=True), encoding="utf-8")
    partial.replace(outcome_file)
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:3])
