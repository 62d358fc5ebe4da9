"""Evaluate sets of constants on the recorded runs: the targets of the fit, and what the emulator predicts.

The fit uses the sink throughput of every recorded run under load, and the ratio R-Storm / even scheduler of
every topology with both. Runs at light load tell nothing about costs and are only checked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.setup.dataplane import DataPlane
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.identity.value import value_digest
from storm_lab.machine.atomic_file import check_folder, write_atomic
from storm_lab.machine.places import data_folder
from storm_lab.machine.process_end import end_with_parent
from storm_lab.papers.rstorm.recording import RecordedRun, Recordings, load_recordings
from storm_lab.papers.rstorm.recordings import checked_placement, plan
from storm_lab.papers.rstorm.testbed import VERSION, recorded_hosts
from storm_lab.runs.digest import text_digest
from storm_lab.schedulers.storm.default import DefaultScheduler

RATIO_WEIGHT = 2.0
SINK_WEIGHT = 1.0
COMPONENT_WEIGHT = 0.25
"""Weight of all components of a run together; they prevent fits that match a sink with impossible spouts."""


@dataclass(frozen=True, slots=True)
class Target:
    """One number to match; ``weight`` multiplies the logarithm of predicted over measured."""

    name: str
    measured: float
    weight: float
    unit: str

    def residual(self, predicted: float) -> float:
        """Weighted logarithmic error."""
        return self.weight * math.log(max(predicted, 1e-9) / self.measured)


Rates = Mapping[str, Mapping[str, tuple[float, float]]]
"""By variant and component: tuples executed and emitted per 10 s."""


def loaded_runs(recordings: Recordings) -> tuple[RecordedRun, ...]:
    """Return the recorded runs whose spouts never sleep."""
    return tuple(
        run
        for run in recordings.runs
        if run.sink is not None
        and not any(d.sleep_ms > 0 for d in recordings.topology(run.topology).definitions.values())
    )


def targets(recordings: Recordings) -> tuple[Target, ...]:
    """Return the targets of the fit, in a fixed order."""
    found: list[Target] = []
    runs = {run.variant: run for run in loaded_runs(recordings)}
    for run in runs.values():
        assert run.sink is not None
        found.append(Target(f"{run.variant} sink", run.sink, SINK_WEIGHT, "tuples per 10 s"))
        share = COMPONENT_WEIGHT / math.sqrt(max(1, len(run.emitted)))
        found += [
            Target(f"{run.variant} {component}", rate, share, "tuples per 10 s")
            for component, rate in run.emitted.items()
        ]
    for topology in dict.fromkeys(run.topology for run in runs.values()):
        even, rstorm = runs.get(f"{topology}-even"), runs.get(f"{topology}-rstorm")
        if even and rstorm and even.sink and rstorm.sink:
            found.append(Target(f"{topology} ratio", rstorm.sink / even.sink, RATIO_WEIGHT, "1"))
    return tuple(found)


def predictions(recordings: Recordings, rates: Rates) -> dict[str, float]:
    """Return the prediction for every target, by the target's name."""
    found: dict[str, float] = {}
    sinks: dict[str, float] = {}
    for run in loaded_runs(recordings):
        own = rates[run.variant]
        sinks[run.variant] = sum(own[sink][0] for sink in recordings.topology(run.topology).sinks)
        found[f"{run.variant} sink"] = sinks[run.variant]
        found |= {f"{run.variant} {component}": own[component][1] for component in run.emitted}
    for variant, rate in sinks.items():
        topology = variant.removesuffix("-rstorm")
        if variant != topology and f"{topology}-even" in sinks:
            found[f"{topology} ratio"] = rate / max(sinks[f"{topology}-even"], 1e-9)
    return found


SETTLE_S = 70
"""Time until the queues of saturated executors are full."""
MEASURE_S = 20
_NS = 1_000_000_000


class _Counts:
    """A recorder that keeps the counters of the windows from `SETTLE_S` on, by component."""

    def __init__(self) -> None:
        self.rates: dict[str, tuple[float, float]] = {}

    def append(self, table: str, columns: Mapping[str, Any]) -> None:
        """Take a chunk of rows of one table."""
        if table != "counts":
            return
        names = columns["component"]
        for row, code in enumerate(names.codes):
            if columns["start_ns"][row] < SETTLE_S * _NS:
                continue
            component = names.names[code]
            executed, emitted = self.rates.get(component, (0.0, 0.0))
            scale = 10.0 / MEASURE_S
            self.rates[component] = (
                executed + scale * float(columns["executed"][row]),
                emitted + scale * float(columns["emitted"][row]),
            )


def steady_rates(
    run: RecordedRun, cost: CostModel, seed: int, recordings: Recordings | None = None
) -> dict[str, tuple[float, float]]:
    """Return by component the tuples executed and emitted per 10 s; components without any count 0.

    ``recordings`` are those that the run belongs to; the default is the package's own.
    """
    recordings = recordings or load_recordings()
    recorded = recordings.topology(run.topology)
    groups = checked_placement(run, recorded).workers()
    counts = _Counts()
    spec = EmulationSpec(
        recorded_hosts(),
        VERSION,
        (plan(recorded, recordings.line_lengths),),
        DefaultScheduler(),
        SETTLE_S + MEASURE_S,
        seed,
        replace(cost, warm_up_factor=1.0),
        sample_every=1 << 40,
    )
    plane = DataPlane(spec, counts)
    workers = {slot: plane.start_worker(slot, run.topology, executors) for slot, executors in groups.items()}
    view = {executor: workers[slot] for slot, executors in groups.items() for executor in executors}
    for worker in workers.values():
        plane.connect(worker, view)
    for worker in workers.values():
        plane.activate(worker, True)
    plane.run_until((SETTLE_S + MEASURE_S) * _NS)
    return {c.id: counts.rates.get(c.id, (0.0, 0.0)) for c in recorded.topology.components}


def code_digest() -> str:
    """Return a digest of the code that determines the results of a set of constants, without its defaults."""
    return value_digest(_play)


def _play(job: tuple[str, Mapping[str, float], int]) -> dict[str, tuple[float, float]]:
    variant, values, seed = job
    run = next(run for run in load_recordings().runs if run.variant == variant)
    return steady_rates(run, replace(CostModel(), **values), seed)


class Evaluation:
    """Rates of the recorded runs under sets of constants, played in ``jobs`` processes.

    ``advance`` is called after each set. Results are kept in ``home``, one file per set; raises `UserError`
    if that folder cannot be written.
    """

    def __init__(self, seed: int, jobs: int, advance: Callable[[], object], home: Path | None = None) -> None:
        self._seed = seed
        self._advance = advance
        self._home = home or data_folder() / "cache" / "calibration"
        check_folder(self._home, field="data")
        self._pool = ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent)
        self._recordings = load_recordings()
        self._code = code_digest()

    def __enter__(self) -> Evaluation:
        return self

    def __exit__(self, *raised: object) -> None:
        self._pool.shutdown(wait=raised[0] is None, cancel_futures=True)

    def rates(self, values: Mapping[str, float]) -> Rates:
        """Return the rates of every recorded run under load, with one set of constants."""
        file = self._file(values)
        if not file.is_file():
            variants = [run.variant for run in loaded_runs(self._recordings)]
            played = self._pool.map(_play, [(variant, dict(values), self._seed) for variant in variants])
            write_atomic(file, json.dumps(dict(zip(variants, played, strict=True))))
        self._advance()
        found: Rates = json.loads(file.read_text(encoding="utf-8"))
        return found

    def predicted(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the prediction of one set of constants for every target."""
        return predictions(self._recordings, self.rates(values))

    def residuals(self, sets: Sequence[Mapping[str, float]]) -> list[NDArray[np.float64]]:
        """Return the weighted residuals of every target, for each set of constants."""
        wanted = targets(self._recordings)
        return [
            np.array([each.residual(predicted[each.name]) for each in wanted])
            for predicted in map(self.predicted, sets)
        ]

    def _file(self, values: Mapping[str, float]) -> Path:
        name = text_digest(self._code, str(self._seed), json.dumps(dict(values), sort_keys=True))
        return self._home / f"{name[:32]}.json"
