"""Steady rates of a recorded run: its placement on the bare data plane, with compiled code from the start.

The control plane would only delay the start, and warm-up only the steady state. The fit needs neither, so a
run takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.setup.dataplane import DataPlane
from storm_lab.papers.rstorm.recording import RecordedRun, Recordings, load_recordings
from storm_lab.papers.rstorm.recordings import checked_placement, plan
from storm_lab.papers.rstorm.testbed import VERSION, recorded_hosts

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
    plane = DataPlane(
        recorded_hosts(),
        VERSION,
        replace(cost, warm_up_factor=1.0),
        (plan(recorded, recordings.line_lengths),),
        seed=seed,
        recorder=counts,
        sample_every=1 << 40,
    )
    workers = {slot: plane.start_worker(slot, run.topology, executors) for slot, executors in groups.items()}
    view = {executor: workers[slot] for slot, executors in groups.items() for executor in executors}
    for worker in workers.values():
        plane.connect(worker, view)
    for worker in workers.values():
        plane.activate(worker, True)
    plane.run_until((SETTLE_S + MEASURE_S) * _NS)
    return {c.id: counts.rates.get(c.id, (0.0, 0.0)) for c in recorded.topology.components}
