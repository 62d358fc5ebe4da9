"""R-Storm's five topologies with the parallelism and the demands of its evaluation.

The figures that show the layouts (7 and 11) print no numbers. Streams, components and user code are those of
the recordings of the same programs; executors and demands, whose sums give the printed machine counts, are
those of the authors' public code at the time of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from storm_lab.model import Resources
from storm_lab.papers.rstorm.recording import Layout, load_recordings
from storm_lab.papers.rstorm.testbed import MACHINES

MICRO = ("linear", "diamond", "star")
"""The micro-benchmarks of section 6.3."""
YAHOO = ("page-load", "processing")
"""The production topologies of section 6.4."""

MEMORY_MB = 150.0
"""Memory demand of each executor; not printed, from the authors' public code."""

ASKED_WORKERS: Mapping[str, int] = {**dict.fromkeys((*MICRO, *YAHOO), MACHINES), "star": 1}
"""Workers that each topology asks the default scheduler for: not printed, from the authors' public code. The
star sets no number there, so Storm's default of one applies.
"""

_EXECUTORS: Mapping[str, Mapping[str, tuple[int, float]]] = {
    "linear": {
        "spout_head": (4, 50),
        "bolt_linear_0": (6, 20),
        "bolt_linear_1": (6, 20),
        "bolt_output_2": (6, 20),
    },
    "diamond": {
        "spout_head": (2, 50),
        "bolt_1": (4, 20),
        "bolt_2": (4, 20),
        "bolt_3": (4, 20),
        "bolt_4": (4, 30),
        "bolt_output_3": (6, 30),
    },
    "star": {
        "spout_0": (2, 50),
        "spout_1": (2, 50),
        "center": (6, 20),
        "bolt_output_0": (6, 20),
        "bolt_output_1": (6, 20),
    },
}
"""Executors and CPU points of components for which they differ from the recorded ones."""


def layout(
    name: str,
    *,
    workers: int | None = None,
    memory_mb: float = MEMORY_MB,
    debug: bool = True,
    spout_sleep_ms: float = 0.0,
) -> Layout:
    """Return one of the topologies of `MICRO` and `YAHOO`.

    Args:
        name: which one.
        workers: workers that it asks for; None: as many as in the authors' code.
        memory_mb: memory demand of each executor.
        debug: log every emitted and every received tuple (``topology.debug``).
        spout_sleep_ms: sleep of the spouts before each emit.
    """
    recorded = load_recordings().topology(name)
    counts = _EXECUTORS.get(name, {})
    components = []
    for component in recorded.topology.components:
        assert component.resources is not None
        executors, points = counts.get(component.id, (component.executors, component.resources.cpu_points))
        components.append(
            replace(component, executors=executors, tasks=None, resources=Resources(float(points), memory_mb))
        )
    topology = replace(
        recorded.topology,
        components=tuple(components),
        workers=ASKED_WORKERS[name] if workers is None else workers,
        settings={"topology.debug": debug},
    )
    definitions = dict(recorded.definitions)
    for spout in topology.spouts:
        definitions[spout.id] = replace(definitions[spout.id], sleep_ms=spout_sleep_ms)
    return Layout(topology, definitions)
