"""Playing runs as a Spark job: one task per run, on whatever machines the session uses.

The process that plays a run also writes it. So all machines must share the folder of runs, and the same
version of the package must be installed on each. Both are checked for every run.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pandas as pd

from storm_lab.errors import explained
from storm_lab.league.entrant import Entrant
from storm_lab.machine.places import project_root
from storm_lab.machine.process_end import signal_handled
from storm_lab.machine.progress import progress_bar
from storm_lab.runs.digest import identity_of
from storm_lab.runs.execute import PlannedRun, is_complete_run, play
from storm_lab.tuplelog.writer import remove_leftovers

if TYPE_CHECKING:
    # PySpark is slow to import, and most calls do not need it.
    from pyspark.sql import SparkSession

_POLL_SECONDS = 0.5
"""Seconds between two polls for complete runs."""

_GRACE_S, _QUIET_S = 15.0, 2.5
"""Seconds to wait for cancelled tasks, at most and after the last incomplete run was seen: Spark kills their
processes after two, and until then a task may begin another run.
"""


def play_on_spark(
    runs: Sequence[PlannedRun], spark: SparkSession, show_progress: bool
) -> list[tuple[PlannedRun, str]]:
    """Play runs, one Spark task each, and return those that failed, with the reason.

    A run fails, too, if it does not appear in its folder here, or if its machine has other code. On
    `KeyboardInterrupt` the incomplete runs of the job's tasks on this machine are removed.
    """
    with _watched([run.folder for run in runs], show_progress):
        reasons = _job(runs, spark)
    for run in runs:
        if not reasons[run.identity.run] and not is_complete_run(run.folder):
            home = run.folder.parents[1]
            reasons[run.identity.run] = (
                f"run {run.spec} was played, but is missing from {home}: all machines must share this folder"
            )
    return [(run, reasons[run.identity.run]) for run in runs if reasons[run.identity.run]]


def spark_that_finds(entrants: Sequence[Entrant]) -> SparkSession:
    """Session of the environment; processes that it starts here can import the reader's schedulers."""
    from storm_lab.pipeline.session import spark_session

    modules = [sys.modules[type(entrant.scheduler).__module__] for entrant in entrants]
    files = [Path(module.__file__) for module in modules if module.__file__]
    own = [str(file.parent) for file in files if not file.is_relative_to(project_root() / "storm_lab")]
    known = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*own, *known.split(os.pathsep)]))
    return spark_session()


def _job(runs: Sequence[PlannedRun], spark: SparkSession) -> dict[str, str]:
    """Play the runs; return for each its error, or an empty text."""
    names = [run.identity.run for run in runs]
    rows = pd.DataFrame({"run": names, "task": [pickle.dumps(run) for run in runs]})
    # Distributed one by one from a single partition, so that each run is a task.
    frame = spark.createDataFrame(rows).coalesce(1).repartition(len(runs))
    interruptions: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        """Note Ctrl-C, which Spark reports as an error of a cancelled job."""
        interruptions.append(number)
        if callable(before):
            before(number, frame)

    with signal_handled(signal.SIGINT, note) if callable(before) else nullcontext():
        try:
            answers = frame.mapInPandas(_played, "run string, error string").toArrow().to_pydict()
        except BaseException:
            with suppress(Exception):
                spark.sparkContext.cancelAllJobs()
            with suppress(Exception):
                spark.interruptAll()
            _remove_incomplete(runs)
            if interruptions:
                raise KeyboardInterrupt from None
            raise
    return dict(zip(answers["run"], answers["error"], strict=True))


def _remove_incomplete(runs: Sequence[PlannedRun]) -> None:
    """Remove the incomplete runs of cancelled tasks, whose processes Spark kills before they can do so."""
    now = time.monotonic()
    end, quiet_from = now + _GRACE_S, now
    while now <= min(end, quiet_from + _QUIET_S):
        if sum(remove_leftovers(run.folder) for run in runs):
            quiet_from = now
        time.sleep(0.1)
        now = time.monotonic()


def _played(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Function of a Spark task: plays the runs of its partition on a machine of the cluster."""
    for batch in batches:
        errors = [_error(pickle.loads(task)) for task in batch["task"]]
        yield pd.DataFrame({"run": batch["run"], "error": errors})


def _error(run: PlannedRun) -> str:
    if identity_of(run.spec).run != run.identity.run:
        return f"run {run.spec}: the machine that should play it has different code or libraries"
    try:
        play(run)
    except Exception as error:
        if (told := explained(error)) is None:
            raise
        return str(told)
    return ""


@contextmanager
def _watched(folders: Sequence[Path], show: bool) -> Iterator[None]:
    """Show a bar over the runs that are complete, while the block lasts."""
    ended = threading.Event()
    with progress_bar(len(folders), show) as advance:

        def poll() -> None:
            while not ended.wait(_POLL_SECONDS):
                for number, folder in enumerate(folders):
                    if folder.exists():
                        advance(number, 1.0)

        watcher = threading.Thread(target=poll, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()
