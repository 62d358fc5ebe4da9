"""Compute the metrics of many runs in one Spark job, and store them so that later calls need no Spark."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from storm_lab.errors import UserError, check_known
from storm_lab.machine.progress import progress_bar
from storm_lab.pipeline.batches import computed_in_batches, heap
from storm_lab.pipeline.metric_cache import load_tables, metrics_folder, store_tables, stored_names
from storm_lab.pipeline.metric_tables import TABLE_NAMES, MetricTables
from storm_lab.tuplelog.reader import Run, open_runs

if TYPE_CHECKING:
    # PySpark takes long to import, and most calls do not need it.
    from pyspark.sql import SparkSession

_POLL_INTERVAL_S = 0.5
"""Polling interval for metrics that another process computes."""

_BRIEF_ROWS = 5_000_000
"""Rows of all logs up to which a session started for them alone is brief (see `spark_session`)."""


def metrics_of(
    run_folders: Sequence[Path],
    spark: SparkSession | None = None,
    *,
    cache: Path | None = None,
    names: Collection[str] = TABLE_NAMES,
    fewer: Mapping[Path, Collection[str]] | None = None,
    show_progress: bool = False,
) -> MetricTables:
    """Return the metric tables of a set of runs, from the cache if it is current, else from one Spark job.

    Args:
        run_folders: folders as written by `RunWriter`, in any order.
        spark: session to use; default: the process's own, started only if something has to be computed.
        cache: folder in which results are stored, one per run; default: ``metrics`` beside the folder of all
            runs (``data/metrics`` for ``data/runs/<experiment>/<run>``).
        names: the tables to load at once; others are computed on access.
        fewer: by folder, the tables to load for its run instead of all ``names``; the others have no rows
            of that run.
        show_progress: whether to show a `progress_bar` while something is computed.

    Raises:
        RunRefused: a folder is not a complete run of this schema, or holds the same run as another folder.
        UserError: there is no run to summarise, a table name is unknown, or Spark cannot be started.
    """
    _check_names(names)
    runs = _complete_runs(run_folders)
    if not runs:
        remedy = "run the experiment first"
        raise UserError("there is no run to compute metrics of", field="run_folders", remedy=remedy)
    wanted = {run.folder: (fewer or {}).get(run.folder, names) for run in runs}
    tables = {run.run: load_tables(metrics_folder(run, cache), wanted[run.folder]) for run in runs}
    lacking = {
        run.folder: tuple(name for name in wanted[run.folder] if name not in tables[run.run])
        for run in runs
        if len(tables[run.run]) < len(wanted[run.folder])
    }
    if lacking:
        what = f"metrics of {len(lacking)} run{'s' * (len(lacking) > 1)}"
        with progress_bar(1, show_progress, what) as advance:
            for name, computed in _computed(lacking, spark, cache, partial(advance, 0)):
                tables[name] |= computed

    def compute(name: str) -> Sequence[pa.Table]:
        every = [run.folder for run in runs]
        return metrics_of(every, spark, cache=cache, names=(name,), show_progress=show_progress).part(name)

    parts = {name: [tables[run.run][name] for run in runs if name in wanted[run.folder]] for name in names}
    return MetricTables(_run_frame(runs), parts, compute)


def store_metrics(
    wanted: Mapping[Path, Collection[str]],
    *,
    cache: Path | None = None,
    advance: Callable[[float], None] = lambda share: None,
) -> int:
    """Compute and store the wanted tables of a set of run folders that are missing, in one Spark session.

    A later call of `metrics_of` needs no Spark. ``advance`` is called with the share done so far. Other
    arguments and errors are those of `metrics_of`. A session that is started here has settings for these
    runs, so call this in a process of its own. Returns the number of runs that lacked tables.
    """
    _check_names(name for names in wanted.values() for name in names)
    runs = _complete_runs(wanted)
    lacking = _lacking_by_folder(runs, wanted, cache)
    spark = None
    if lacking:
        from storm_lab.pipeline.session import spark_session

        brief = sum(run.rows for run in runs if run.folder in lacking) <= _BRIEF_ROWS
        spark = spark_session(driver_memory=heap(), brief=brief, thorough=True)
    for _ in _computed(lacking, spark, cache, advance):
        pass
    return len(lacking)


def _computed(
    lacking: Mapping[Path, tuple[str, ...]],
    spark: SparkSession | None,
    cache: Path | None,
    advance: Callable[[float], None],
) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """Compute and store the tables that some run folders lack, and yield them by the runs' names."""
    # Spark is going to read all of their bytes, too.
    runs = {run.run: run for run in _complete_runs(lacking, verify=True)}
    wanted = [(run, lacking[run.folder]) for run in runs.values()]
    for name, tables in computed_in_batches(wanted, spark, advance):
        store_tables(metrics_folder(runs[name], cache), tables)
        yield name, tables


def missing_metrics(
    wanted: Mapping[Path, Collection[str]], *, cache: Path | None = None
) -> dict[Path, tuple[str, ...]]:
    """Return what `store_metrics` would compute: folders of complete runs, and tables. Needs no Spark."""
    return _lacking_by_folder(open_runs(wanted)[0], wanted, cache)


def _lacking_by_folder(
    runs: Iterable[Run], wanted: Mapping[Path, Collection[str]], cache: Path | None
) -> dict[Path, tuple[str, ...]]:
    lacking = {run.folder: _lacking(metrics_folder(run, cache), wanted[run.folder]) for run in runs}
    return {folder: names for folder, names in lacking.items() if names}


def await_metrics(wanted: Mapping[Path, Collection[str]], finished: Callable[[], bool]) -> None:
    """Wait until the wanted tables of a set of run folders are stored, or none will follow (``finished``)."""
    left = [(metrics_folder(run, None), wanted[run.folder]) for run in open_runs(wanted)[0]]
    while not finished():
        left = [(folder, names) for folder, names in left if _lacking(folder, names)]
        if not left:
            return
        time.sleep(_POLL_INTERVAL_S)


def computation_order(wanted: Mapping[Path, Collection[str]]) -> dict[Path, int]:
    """Number the folders in the order in which `store_metrics` computes them; equal numbers go together."""
    kinds: dict[tuple[str, ...], int] = {}
    return {folder: kinds.setdefault(tuple(wanted[folder]), len(kinds)) for folder in sorted(wanted)}


def _complete_runs(folders: Iterable[Path], *, verify: bool = False) -> list[Run]:
    """Return the runs in ``folders``; ``verify`` reads every byte. `RunRefused` if one is not complete."""
    runs, rejected = open_runs(folders, verify=verify)
    if rejected:
        raise rejected[0]
    return runs


def _lacking(folder: Path, names: Collection[str]) -> tuple[str, ...]:
    stored = set(stored_names(folder))
    return tuple(name for name in names if name not in stored)


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        check_known("metric", name, TABLE_NAMES, "the pipeline", field="names")


def _run_frame(runs: Sequence[Run]) -> pd.DataFrame:
    rows = [
        {name: getattr(of, name) for name in ("experiment", "variant", "seed", "run", "storm_version")}
        | {
            "duration_s": manifest.duration_ns / 1e9,
            "warm_up_s": manifest.warm_up_ns / 1e9,
            "sample_every": of.sample_every,
            "status": str(manifest.status),
            "reason": manifest.reason,
            "parameters": json.dumps(dict(of.parameters), sort_keys=True),
        }
        for manifest, of in ((run.manifest, run.manifest.identity) for run in runs)
    ]
    return pd.DataFrame(rows).sort_values(["experiment", "variant", "seed", "run"], ignore_index=True)
