"""Play with the settings of a small site: each change schedules and plays it again within a second or two.

A policy that reads measured load gets that of a first short play under Storm's default scheduler.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd
from IPython.display import display
from matplotlib.figure import Figure

from storm_lab.league.example_site import example_site
from storm_lab.league.field import RUNS_ON_MEASURED_LOAD
from storm_lab.league.reader_site import Site
from storm_lab.model import MeasuredLoad, executors_of
from storm_lab.reporting.figures.placement_map import placement_map
from storm_lab.reporting.figures.style import LINES, About, foot, head, house_style, new_figure
from storm_lab.runs.play import play_aside
from storm_lab.schedulers import SchedulingView, make_scheduler
from storm_lab.schedulers.ask import ask
from storm_lab.schedulers.baselines.given import GivenPlacement
from storm_lab.schedulers.contract import Scheduler
from storm_lab.tuplelog import Run

POLICIES = ("default", "even", "rstorm", "tstorm", "random", "optimal")
_LOADS: dict[str, MeasuredLoad] = {}
"""Measured loads by the digest of the site."""

_PLAY_S, _WARM_UP_S = 40.0, 20.0
"""Virtual length of a play, and the time from which its latency counts."""


@dataclass(frozen=True)
class Turn:
    """The result of one position of the knobs: complete latencies, rates, and the placement."""

    latencies_ms: np.ndarray
    offered_per_s: float
    acked_per_s: float
    placements: pd.DataFrame
    nodes: tuple[str, ...]
    message: str


class WhatIf:
    """The knobs of the example site."""

    def turn(
        self,
        policy: str = "tstorm",
        gamma: float = 1.7,
        nodes: int = 3,
        workers: int = 3,
        lines_per_s: float = 50.0,
    ) -> Turn:
        """Schedule and play one position of the knobs.

        Raises `UserError` if there is no such policy, or a value does not fit.
        """
        site = example_site(lines_per_s, nodes=nodes, workers=workers)
        scheduler = make_scheduler(policy, [f"gamma={gamma}"] if policy == "tstorm" else [])
        load = _default_load(site) if RUNS_ON_MEASURED_LOAD.get(policy) else None
        view = SchedulingView((site.plan.topology,), site.cluster, version=site.version, load=load)
        answer = ask(scheduler, view)
        status = answer.status[site.plan.topology.id]
        if not status.scheduled:
            return Turn(np.empty(0), lines_per_s, 0.0, pd.DataFrame(), (), status.message)
        with tempfile.TemporaryDirectory(prefix="storm_lab-") as scratch:
            run = _play(site, GivenPlacement(answer.assignment), Path(scratch))
            return _read_turn(run, site, lines_per_s, status.message)

    def figures(self, turn: Turn) -> list[Figure]:
        """Draw the placement of the executors and the distribution of latency."""
        if not turn.nodes:
            return []
        return [placement_map(turn.placements, turn.nodes, about=About(seeds=1)), _latency(turn)]

    def knobs(self) -> Any:
        """Return the knobs as a widget for JupyterLab."""

        def show(**knobs: Any) -> None:
            turn = self.turn(**knobs)
            print(turn.message)
            for figure in self.figures(turn):
                display(figure)  # type: ignore[no-untyped-call]

        slow = {"continuous_update": False}
        return widgets.interactive(
            show,
            policy=widgets.Dropdown(options=POLICIES, value="tstorm"),
            gamma=widgets.FloatSlider(1.7, min=1.0, max=5.0, step=0.1, **slow),
            nodes=widgets.IntSlider(3, min=1, max=8, **slow),
            workers=widgets.IntSlider(3, min=1, max=12, **slow),
            lines_per_s=widgets.FloatSlider(50.0, min=5.0, max=500.0, step=5.0, **slow),
        )


def _play(site: Site, scheduler: Scheduler[Any], scratch: Path) -> Run:
    spec = replace(
        site.spec(_PLAY_S), scheduler=scheduler, window_s=10.0, sample_every=1000, warm_up_s=_WARM_UP_S
    )
    return play_aside(spec, "what-if", scheduler.name, scratch / "run")


def _read_turn(run: Run, site: Site, offered: float, message: str) -> Turn:
    roots = run.table("roots", ["emit_ns", "complete_ns", "outcome", "latency_ns"]).to_pandas()
    acked = roots[(roots["outcome"].astype(str) == "acked") & (roots["complete_ns"] >= _WARM_UP_S * 1e9)]
    placements = run.table("placements").to_pandas()
    placements = placements[placements["end_ns"].isna()]
    return Turn(
        (acked["latency_ns"] / 1e6).to_numpy(dtype=float),
        offered,
        len(acked) / (_PLAY_S - _WARM_UP_S),
        placements.astype({"component": str, "node": str}),
        tuple(node.id for node in site.cluster.nodes),
        message,
    )


def _default_load(site: Site) -> MeasuredLoad:
    """Return the load of each executor under Storm's default scheduler; equal sites are played once."""
    if site.digest not in _LOADS:
        with tempfile.TemporaryDirectory(prefix="storm_lab-") as scratch:
            run = _play(site, make_scheduler("default"), Path(scratch))
            _LOADS[site.digest] = _measured_load(run, site)
    return _LOADS[site.digest]


def _measured_load(run: Run, site: Site) -> MeasuredLoad:
    """Return the mean load after the warm-up."""
    tables = (run.table(name).to_pandas() for name in ("cpu", "traffic"))
    cpu, traffic = (table[table["start_ns"] >= _WARM_UP_S * 1e9] for table in tables)
    measured_s = _PLAY_S - _WARM_UP_S
    executors = executors_of(site.plan.topology, site.version)
    executor_of = {task: executor for executor in executors for task in executor.tasks}
    clock = {node.id: node.core_mhz for node in site.cluster.nodes}
    nodes = cpu["node"].astype(str)
    mhz = cpu["cpu_ms"] / 1e3 / measured_s * nodes.map(clock)
    sources, targets = (traffic[name].map(executor_of) for name in ("source_task", "target_task"))
    rates = (traffic["tuples"].groupby([sources, targets]).sum() / measured_s).to_dict()
    return MeasuredLoad(
        mhz.groupby(cpu["task"].map(executor_of)).sum().to_dict(),
        {(source, target): rate for (source, target), rate in rates.items() if source != target},
        mhz.groupby(nodes).sum().to_dict(),
    )


def _latency(turn: Turn) -> Figure:
    with house_style():
        figure = new_figure(2.6)
        axes = figure.subplots()
        found = np.sort(turn.latencies_ms)
        if len(found):
            axes.step(found, 100 * np.arange(1, len(found) + 1) / len(found), color=LINES[0])
            mean, p99 = float(np.mean(found)), float(np.percentile(found, 99))
            marks = {
                f"mean {_short(mean)} ms": axes.axvline(mean, color=LINES[1], linestyle="--"),
                f"99th percentile {_short(p99)} ms": axes.axvline(p99, color=LINES[2], linestyle=":"),
            }
            head(figure, "", marks, len(marks))
        axes.set(xlabel="complete latency, ms", ylabel="lines within this latency, %")
        axes.set(xlim=(0, None), ylim=(0, 101))
        rates = f"{turn.acked_per_s:.3g} of {turn.offered_per_s:.3g} lines/s completed"
        foot(figure, f"{rates}, from {_WARM_UP_S:g} s to {_PLAY_S:g} s of one run")
    return figure


def _short(value: float) -> str:
    """Return three digits, without powers of ten."""
    return f"{float(f'{value:.3g}'):g}"
