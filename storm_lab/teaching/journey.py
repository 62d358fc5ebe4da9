"""Follow a tuple through a run, and its acking step by step, from the tuple log; for teaching.

The log has every execution of a root's tree, but not the 64-bit ids that Storm draws for its edges. The
ledger uses ids drawn here from a fixed seed, so that a page always shows the same ones.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storm_lab.errors import UserError
from storm_lab.league.entrant import Entrant
from storm_lab.league.reader_site import Site
from storm_lab.league.stage import stage_runs
from storm_lab.runs.execute import play_all
from storm_lab.schedulers import make_scheduler
from storm_lab.tuplelog import Run, open_run
from storm_lab.workloads.splitmix import SplitMix

_US = 1000.0


def played(site: Site, *, scheduler: str = "default", seed: int = 1, duration_s: float = 60.0) -> Run:
    """Play a site with every execution logged, or find that run if it was played before, and return it.

    Raises `StormLabError` if the run is refused or fails, or there is no such scheduler.
    """
    entrant = Entrant(scheduler, make_scheduler(scheduler))
    given = {"seeds": [seed], "duration_s": duration_s, "monitor_s": 5.0}
    (spec,) = stage_runs(site, [entrant], given)
    (done,) = play_all([replace(spec, sample_every=1)], jobs=0)
    return open_run(done.folder)


def journey(run: Run, root: int) -> pd.DataFrame:
    """Return the executions of a root tuple's tree in order of their start.

    Columns: component, task, node, travelled, since_emit_us (entering the queue), waited_us, executed_us,
    parent (row of the execution that emitted it; -1: the spout). The log names only the task that sent a
    tuple, so the parent is missing where that task had executed several tuples of the tree before this one
    was queued, and in logs of real Storm, which do not tell when a tuple is queued. Raises `UserError` if the
    log holds no execution of this root.
    """
    found = pq.read_table(run.path("executions"), filters=pc.field("root_id") == root).to_pandas()
    roots = pq.read_table(run.path("roots"), filters=pc.field("root_id") == root).to_pandas()
    if found.empty or roots.empty:
        remedy = "choose one that roots_of returns"
        raise UserError("the log has no execution of this root", field="root", value=root, remedy=remedy)
    rows = found.sort_values(["start_ns", "task"], ignore_index=True)
    emit, spout = (int(roots[name].iloc[0]) for name in ("emit_ns", "spout_task"))
    return pd.DataFrame(
        {
            "component": rows["component"].astype(str),
            "task": rows["task"],
            "node": rows["node"].astype(str),
            "travelled": rows["locality"].astype(str),
            "since_emit_us": (rows["enqueue_ns"] - emit) / _US,
            "waited_us": (rows["start_ns"] - rows["enqueue_ns"]) / _US,
            "executed_us": (rows["end_ns"] - rows["start_ns"]) / _US,
            "parent": pd.array([_parent(rows, row, spout) for row in range(len(rows))], "Int64"),
        }
    )


def roots_of(run: Run, count: int = 5) -> list[int]:
    """Return the first roots that were emitted after the warm-up, acked, and have logged executions.

    Raises `UserError` if there is no such root.
    """
    roots = pq.read_table(run.path("roots"), columns=["root_id", "emit_ns", "outcome"]).to_pandas()
    logged = pq.read_table(run.path("executions"), columns=["root_id"]).to_pandas()["root_id"].unique()
    warm = roots[(roots["outcome"].astype(str) == "acked") & (roots["emit_ns"] >= run.manifest.warm_up_ns)]
    found = sorted(set(warm["root_id"]) & set(logged))[:count]
    if not found:
        warm_up_s = run.manifest.warm_up_ns / 1e9
        message = f"no root tuple emitted after the warm-up of {warm_up_s:g} s was acked"
        remedy = "change the rate, or play for longer"
        raise UserError(message, field="run", value=run.manifest.run, remedy=remedy)
    return found


def ledger(steps: pd.DataFrame) -> pd.DataFrame:
    """Return the acker's view of a journey: each message that reaches it, and its value afterwards, as hex.

    The spout sends the XOR of the ids of its tuples. A bolt that acks a tuple sends its id XOR those of the
    tuples that it emitted anchored to it. The value is 0 if and only if all are acked. Columns: sender,
    sends, value. Raises `UserError` if the journey lacks a parent.
    """
    unknown = steps.index[steps["parent"].isna()]
    if len(unknown):
        message = f"the log does not tell which execution emitted tuple {unknown[0]}"
        remedy = "choose a root of which every parent is known"
        raise UserError(message, field="steps", remedy=remedy)
    parents, tasks = steps["parent"].to_dict(), steps["task"].to_dict()
    draw = SplitMix(1)
    ids = {row: draw.next64() for row in steps.index}
    value = 0
    rows = []
    for row, name in [(-1, "spout"), *steps["component"].items()]:
        children = [child for child in steps.index if parents[child] == row]
        sent = ids.get(row, 0)
        for child in children:
            sent ^= ids[child]
        value ^= sent
        sender = name if row == -1 else f"{name} {tasks[row]}"
        rows.append({"sender": sender, "sends": f"{sent:016x}", "value": f"{value:016x}"})
    return pd.DataFrame(rows)


def _parent(rows: pd.DataFrame, row: int, spout: int) -> int | None:
    """Return the only execution on the sending task that had ended when the tuple was queued, or None."""
    execution = rows.loc[row]
    if execution["source_task"] == spout:
        return -1
    # The emulator's bolts emit when an execution ends.
    sent = (rows["task"] == execution["source_task"]) & (rows["end_ns"] <= execution["enqueue_ns"])
    return int(sent.idxmax()) if sent.sum() == 1 else None
