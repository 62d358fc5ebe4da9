"""Run folders that are refused: named for the report, so that nobody takes what is missing for measured."""

from __future__ import annotations

from pathlib import Path

from storm_lab.reporting.report import DamagedRun
from storm_lab.tuplelog.reader import find_runs, open_runs


def damaged_runs(root: Path) -> tuple[DamagedRun, ...]:
    """Every folder under ``root`` that is no whole run, or a second copy of one.

    ``root`` is the folder of all runs (``data/runs``). Every byte of every log is read and compared with the
    sum in its manifest: three seconds of processor time for 1,500 runs.
    """
    runs, refused = find_runs(root)
    refused += open_runs((run.folder for run in runs), verify=True)[1]
    refused.sort(key=lambda each: each.folder)
    return tuple(
        DamagedRun(each.folder.parent.name, each.folder.name, f"{each.problem} ({each.detail})")
        for each in refused
    )
