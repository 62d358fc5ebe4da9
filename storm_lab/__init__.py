"""storm_lab: the experiments of five papers on Apache Storm, re-run without a cluster.

>>> import storm_lab as sl
>>> node = sl.Node("n1", cores=2)
>>> sl.Cluster((node,)).racks
('/default-rack',)

From a topology to a figure, in a notebook::

    import storm_lab as sl

    site = sl.example_site(50.0)  # sl.Site.of takes your own topology, code and machines
    view = sl.SchedulingView((site.plan.topology,), site.cluster, version=site.version)
    sl.make_scheduler("rstorm").schedule(view)  # the slot of every executor
    entrants = [sl.Entrant(name, sl.make_scheduler(name)) for name in ("default", "rstorm")]
    league = sl.League.of(entrants, site, {"seeds": [1, 2, 3], "duration_s": 300.0})
    rows = sl.results(league.metrics())  # plays only what was not played before
    shown = {"processing_ms": "processing time, ms", "nodes": "nodes in use"}
    sl.comparison(rows, shown, about=sl.About(seeds=3, warm_up_s=None, baseline="default"))

All public names are available here. Each is imported on first use, so that ``import storm_lab`` takes no
time.
"""

import sys
from importlib import import_module
from typing import Any

from storm_lab.version import __version__

_HOMES = {
    "storm_lab.model": (
        "Assignment", "Cluster", "Component", "Executor", "Grouping", "MeasuredLoad", "Node", "Resources",
        "Slot", "StormVersion", "Subscription", "Topology", "executors_of",
    ),
    "storm_lab.schedulers.baselines.given": ("GivenPlacement",),
    "storm_lab.schedulers": (
        "NoParameters", "Scheduler", "SchedulingResult", "SchedulingView", "TopologyStatus", "check_result",
        "make_scheduler", "scheduler_names",
    ),
    "storm_lab.workloads.usercode": ("Bolt", "Cost", "Spout"),
    "storm_lab.calibration.constants_file": ("calibrated_cost",),
    "storm_lab.emulator.control.faults": ("FaultPlan",),
    "storm_lab.emulator.control.times": ("ControlTimes", "Timers"),
    "storm_lab.emulator.cost": ("CostModel",),
    "storm_lab.emulator.source": ("SourceKind", "SourcePlan"),
    "storm_lab.errors": ("StormLabError", "UserError"),
    "storm_lab.advice.advise": ("advise",),
    "storm_lab.league.entrant": ("Entrant",),
    "storm_lab.league.example_site": ("example_site",),
    "storm_lab.league.reader_site": ("Site",),
    "storm_lab.papers.registry": ("experiment", "experiments"),
    "storm_lab.pipeline.summary": ("metrics_of",),
    "storm_lab.reporting.figures.comparison": ("comparison",),
    "storm_lab.reporting.figures.placement_map": ("placement_map",),
    "storm_lab.reporting.figures.style": ("About",),
    "storm_lab.reporting.figures.time_series": ("Panel", "time_series"),
    "storm_lab.reporting.figures.watch": ("watch",),
    "storm_lab.runs.study": ("Study",),
    "storm_lab.runs.sweep": ("sweep",),
    "storm_lab.teaching.journey": ("played",),
    "storm_lab.teaching.what_if": ("WhatIf",),
    "storm_lab.tournament.league": ("League", "league_table", "results"),
    "storm_lab.tuplelog": ("open_run",),
    "storm_lab.tuplelog.chrome_trace": ("write_chrome_trace",),
    "storm_lab.workloads.importers.importing": ("import_topology",),
}  # fmt: skip
"""Module -> its public names."""

_PLACES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_PLACES)]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_PLACES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    # The names that this file imports for itself are not part of the public interface.
    return sorted({*globals(), *__all__} - {"Any", "import_module", "sys"})


def _show_in_notebooks() -> None:
    """In a notebook, show topologies, clusters and assignments as HTML."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        # The module's name is composed at run time, so that the names of runs do not depend on the display
        # code.
        display = import_module(f"{__name__}.reporting.display")
        display.show_richly(shell.display_formatter.formatters["text/html"])


_show_in_notebooks()
