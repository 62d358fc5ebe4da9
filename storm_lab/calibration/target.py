"""The targets of the fit: a short list of measured numbers, each with the recorded run it comes from.

The fit uses the sink throughput of every recorded run under load, and the ratio R-Storm / even scheduler of
every topology with both. Runs at light load tell nothing about costs and are only checked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from storm_lab.papers.rstorm.recording import RecordedRun, Recordings

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
