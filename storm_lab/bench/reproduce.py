"""``storm-lab bench reproduce``: the cost of each notebook, with nothing kept, in a scratch folder.

Runs and reports of the checkout are neither used nor changed. The user's cache is used: it holds compiled
kernels and the class-data archive.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from storm_lab.machine.options import jobs_option, json_option, print_json
from storm_lab.machine.places import DATA_VARIABLE, REPORTS_VARIABLE, variables
from storm_lab.runs.execute import JOBS
from storm_lab.runs.reproduce import Reproduced, reproduce, studies
from storm_lab.runs.study import Study

_PARTS = ("emulation_s", "spark_s", "drawing_s", "other_s")


@click.command("reproduce")
@click.argument("slugs", metavar="[EXPERIMENT]...", nargs=-1)
@click.option(
    "--alone", is_flag=True, help="Reproduce each experiment by itself, with its own Spark session."
)
@jobs_option
@json_option
def command(slugs: tuple[str, ...], alone: bool, jobs: int, as_json: bool) -> None:
    """Time every notebook: emulation, Spark, drawing."""
    figures = measure(studies(slugs), alone=alone, jobs=jobs)
    if as_json:
        print_json(figures)
        return
    head = ("experiment", *_PARTS, "total_s")
    for row in (dict(zip(head, head, strict=True)), *figures["notebooks"]):
        click.echo(f"{row['experiment']:32}" + "".join(f"{row[name]:>13}" for name in head[1:]))
    for paper, seconds in figures["papers"].items():
        click.echo(f"{paper:32}{seconds:>65}")
    click.echo(f"wall {figures['wall_s']} s, {figures['jobs']} at a time")


def measure(chosen: Sequence[Study], *, alone: bool = False, jobs: int = JOBS) -> dict[str, Any]:
    """Reproduce a selection of studies from scratch and measure where the time goes.

    ``wall_s`` is the total time. ``notebooks`` has one entry per study, in seconds of a process, of which
    ``jobs`` run at a time. ``emulation_s``: its runs. ``spark_s``: from the start of the session to the kept
    metrics (with one session for all: its share by the bytes of its logs). ``drawing_s``: the notebook's
    cells. ``other_s``: the start of the notebook's kernel and the HTML page. Runs that several studies read
    count for each of them. ``total_s`` is the wall time of the study with ``alone``, else the sum of the
    parts with the emulation divided by the number of processes. ``papers`` sums the totals. Raises
    `StormLabError` if a run or a notebook fails.
    """
    began = time.perf_counter()
    rows: list[dict[str, Any]] = []
    for group in [[study] for study in chosen] if alone else [list(chosen)]:
        start = time.perf_counter()
        with _empty_folders():
            done = reproduce(group, jobs=jobs)
        wall = time.perf_counter() - start if alone else None
        rows += [_row(each, jobs, wall) for each in done]
    papers: dict[str, float] = {}
    for row in rows:
        papers[row["paper"]] = round(papers.get(row["paper"], 0.0) + row["total_s"], 2)
    wall = round(time.perf_counter() - began, 2)
    return {"wall_s": wall, "jobs": jobs, "alone": alone, "papers": papers, "notebooks": rows}


def _row(done: Reproduced, jobs: int, wall: float | None) -> dict[str, Any]:
    cost = done.cost
    # The folder was empty, so the cost is known.
    assert cost is not None
    seconds = (cost.emulation_s, cost.metrics_s, done.cells_s, cost.notebook_s - done.cells_s)
    parts = dict(zip(_PARTS, seconds, strict=True))
    total = sum(parts.values()) - cost.emulation_s + cost.emulation_s / jobs
    return {
        "experiment": done.study.experiment.slug,
        "paper": done.study.experiment.paper,
        **{name: round(part, 2) for name, part in parts.items()},
        "total_s": round(total if wall is None else wall, 2),
    }


@contextmanager
def _empty_folders() -> Iterator[None]:
    """Direct runs, metrics and reports to a scratch folder, in this process and those that it starts."""
    with tempfile.TemporaryDirectory(prefix="storm_lab-bench-") as scratch:
        folders = {DATA_VARIABLE: f"{scratch}/data", REPORTS_VARIABLE: f"{scratch}/reports"}
        with variables(folders):
            yield
