"""A small topology with tuple trees known in advance: each line is torn into pieces, each piece is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, TopologyPlan
from storm_lab.model import Component, StormVersion, Subscription, Topology
from storm_lab.tuplelog.buffer import Coded
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, SteadyBolt, SteadySpout, Values
from storm_lab.workloads.workload_trace import WorkloadTrace

LINES = 600
TOPOLOGY = "trees"
MOST_PIECES = 7


def pieces_of(line: int) -> int:
    """Number of pieces that a line is torn into; 0 ends the tree there, more make it wide."""
    return line % (MOST_PIECES + 1)


def fails(line: int) -> bool:
    """Whether storing the last piece of the line fails; lines without pieces cannot fail."""
    return pieces_of(line) > 0 and line % 29 == 0


class _Tear(SteadyBolt):
    def execute(self, values: Values, emit: Emit) -> None:
        for piece in range(pieces_of(int(str(values[0])))):
            emit(piece)


class _Store(SteadyBolt):
    def execute(self, values: Values, emit: Emit) -> None:
        pass


def topology(
    executors: tuple[int, int, int], *, workers: int, ackers: int, message_timeout_s: float = 30.0
) -> Topology:
    """The topology; ``executors`` are those of ``lines``, ``tear`` and ``store``."""
    lines, tear, store = executors
    components = (
        Component("lines", lines, outputs={"default": ("line",)}),
        Component("tear", tear, inputs=(Subscription("lines"),), outputs={"default": ("piece",)}),
        Component("store", store, inputs=(Subscription("tear"),)),
    )
    return Topology(TOPOLOGY, components, workers=workers, ackers=ackers, message_timeout_s=message_timeout_s)


def plan(
    declared: Topology, version: StormVersion, rate_per_s: float, *, failing: bool = False
) -> TopologyPlan:
    """The topology fed with lines at a rate; with ``failing``, the lines that `fails` selects fail."""
    code: dict[str, Spout | Bolt] = {
        "lines": SteadySpout(Cost(20.0), ((line,) for line in range(LINES))),
        "tear": _Tear(Cost(100.0)),
        "store": _Store(Cost(200.0)),
    }
    trace = build_trace(declared, code, version)
    source = SourcePlan(SourceKind.RATE, rate_per_s=rate_per_s, on_fail=FailurePolicy.FORGET)
    return TopologyPlan(declared, _with_failures(trace) if failing else trace, {"lines": source})


def _with_failures(trace: WorkloadTrace) -> WorkloadTrace:
    records = trace.records.copy()
    for line, spout in enumerate(trace.sources["lines"]):
        if fails(line):
            emitted = trace.emissions[records[spout]["first_emission"]]
            tear = records[emitted["first_record"]]
            last = trace.emissions[tear["first_emission"] + tear["emissions"] - 1]
            records["emissions"][last["first_record"]] = -1
    return replace(trace, records=records)


@dataclass
class Rows:
    """A recorder that keeps the rows that the tuple log would get."""

    parts: dict[str, list[pd.DataFrame]] = field(default_factory=dict)

    def append(self, table: str, columns: Mapping[str, Any]) -> None:
        """Keep rows of one table."""
        plain = {
            name: np.asarray(column.names, object)[np.asarray(column.codes)]
            if isinstance(column, Coded)
            else np.array(column)
            for name, column in columns.items()
        }
        self.parts.setdefault(table, []).append(pd.DataFrame(plain))

    def table(self, name: str) -> pd.DataFrame:
        """All rows of a table, in order of arrival."""
        return pd.concat(self.parts[name], ignore_index=True)


@dataclass(frozen=True, slots=True)
class TreeCheck:
    """Numbers of root tuples of a run, compared with their trees.

    ``incomplete``: an execution is missing or failed. ``too_early``: acked although incomplete, or before the
    last execution of the tree had ended. ``unacked``: complete but not acked.
    """

    roots: int
    acked: int
    incomplete: int
    too_early: int
    unacked: int


def check_trees(rows: Rows) -> TreeCheck:
    """Compare the acked tuples with the executions, tree by tree."""
    roots = rows.table("roots").set_index("root_id")
    executed = rows.table("executions").groupby("root_id")["end_ns"].agg(["size", "max"])
    done = executed.reindex(roots.index)
    # After its last line the source starts again, but the line numbers continue.
    lines = roots["line"] % LINES
    # One execution to tear the line, one for each piece.
    wanted = lines.map(lambda line: 1 + pieces_of(line))
    complete = (done["size"].fillna(0) == wanted) & ~lines.map(fails).astype(bool)
    acked = roots["outcome"] == "acked"
    early = acked & (~complete | (roots["complete_ns"] < done["max"]))
    return TreeCheck(
        roots=len(roots),
        acked=int(acked.sum()),
        incomplete=int((~complete).sum()),
        too_early=int(early.sum()),
        unacked=int((complete & ~acked).sum()),
    )
