"""Recorded runs: tuple logs of live runs, thinned until they are small enough to be part of the project.

A recorded run is an ordinary run folder. Windows, placements and control events are complete. Of the root
tuples and executions of each second and topology only a few are kept, and only for topologies and components
that a scene measures. Traffic between tasks is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.live.suite.measure import sinks_of
from storm_lab.live.suite.scene import Effect, Measure, Scene
from storm_lab.tuplelog import Manifest, Run, RunWriter
from storm_lab.tuplelog.schema import TABLES

KEPT = 150
"""Root tuples, and executions of each component, that are kept for each second and topology."""
_LEFT_OUT = ("traffic",)
_TIMES = {"roots": "emit_ns", "executions": "start_ns"}
_GROUPS = {"roots": ("topology",), "executions": ("topology", "component")}


def executions_measured(scenes: Iterable[Scene], spec: EmulationSpec) -> frozenset[tuple[str, str]]:
    """Return topology and component of the executions that the measures of some scenes need."""
    topologies = {plan.topology.id: plan.topology for plan in spec.topologies}
    found: set[tuple[str, str]] = set()
    for scene in scenes:
        if Measure.SPREAD in scene.measures:
            found |= {(name, scene.component) for name in scene.topologies}
        if scene.effect is Effect.RESUME:
            found |= {(scene.topology, sink) for sink in sinks_of(topologies[scene.topology])}
    return frozenset(found)


def roots_measured(scenes: Iterable[Scene]) -> frozenset[str]:
    """Return the topologies of the root tuples that the measures of some scenes need."""
    per_tuple = {Measure.P50, Measure.P95, Measure.CONTROL}
    return frozenset(name for scene in scenes if per_tuple & set(scene.measures) for name in scene.topologies)


def thin(run: Run, folder: Path, executed: Collection[tuple[str, str]], rooted: Collection[str]) -> Manifest:
    """Write a thinned copy of a run into ``folder``, with the run's identity and a note of what is left out.

    ``executed``: topology and component of the executions that are kept; ``rooted``: topologies whose root
    tuples are kept.
    """
    with RunWriter(folder, run.manifest.identity) as log:
        for name in TABLES:
            if name in _LEFT_OUT:
                continue
            table = run.table(name).drop_columns(["run"])
            if name == "executions":
                pairs = zip(table["topology"].to_pylist(), table["component"].to_pylist(), strict=True)
                table = table.filter(pa.array([pair in executed for pair in pairs], pa.bool_()))
            if name == "roots":
                known = table["topology"].to_pylist()
                table = table.filter(pa.array([topology in rooted for topology in known], pa.bool_()))
            if name in _TIMES:
                table = _spread(table, _TIMES[name], _GROUPS[name])
            if table.num_rows:
                log.append(name, {column: _values(table[column]) for column in table.column_names})
        return log.finish(
            duration_ns=run.manifest.duration_ns,
            warm_up_ns=run.manifest.warm_up_ns,
            conditions={
                **run.manifest.conditions,
                "kept_a_second": KEPT,
                "left_out": list(_LEFT_OUT),
                "executions_of": sorted("/".join(pair) for pair in executed),
                "roots_of": sorted(rooted),
            },
        )


def _spread(table: pa.Table, time: str, groups: Sequence[str]) -> pa.Table:
    """Keep at most `KEPT` rows of each second and group, evenly spread."""
    if not table.num_rows:
        return table
    second = table[time].to_numpy() // NS_PER_S
    group = np.zeros(len(second), np.int64)
    for column in groups:
        codes = pc.dictionary_encode(table[column].combine_chunks().cast(pa.string()))
        group = group * 1000 + codes.indices.to_numpy()
    key = second * 1_000_000 + group
    order = np.lexsort((table[time].to_numpy(), key))
    _, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
    kept = [
        order[start + (np.arange(min(count, KEPT)) * count) // min(count, KEPT)]
        for start, count in zip(starts, counts, strict=True)
    ]
    return table.take(np.sort(np.concatenate(kept)))


def _values(column: pa.ChunkedArray) -> Any:
    if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
        return column.to_pylist()
    # The log's own code for "none".
    return pc.fill_null(column, -1).to_numpy()
