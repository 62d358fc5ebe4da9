"""Figures: one per file, each a function from tidy metric tables to a matplotlib figure.

Tables are pandas frames with one row per observation. Columns that most of them share: ``variant`` (what was
run, such as a scheduler with its parameters), ``seed``, ``topology`` and ``t_s`` (start of the time bin in
seconds). Every figure has an ``about`` line at its foot (seeds, baseline, discarded warm-up), and its
``title`` above, nothing if empty. A table that lacks a column, or has no row to draw, is a `UserError`.
"""

from storm_lab.reporting.figures.comparison import comparison
from storm_lab.reporting.figures.dependence import Scale, dependence
from storm_lab.reporting.figures.grouped_bars import grouped_bars
from storm_lab.reporting.figures.latency_distribution import latency_distribution
from storm_lab.reporting.figures.migration_gantt import migration_gantt
from storm_lab.reporting.figures.nodes_by_gamma import nodes_by_gamma
from storm_lab.reporting.figures.placement_map import placement_map
from storm_lab.reporting.figures.printed import Mark, Printed, draw_printed, printed
from storm_lab.reporting.figures.saved import read_figure, save_figure
from storm_lab.reporting.figures.style import About, house_style, in_force
from storm_lab.reporting.figures.time_panels import Quantity, time_panels
from storm_lab.reporting.figures.time_series import Event, EventKind, Panel, time_series
from storm_lab.reporting.figures.trade_off import trade_off

__all__ = [
    "About",
    "Event",
    "EventKind",
    "Mark",
    "Panel",
    "Printed",
    "Quantity",
    "Scale",
    "comparison",
    "dependence",
    "draw_printed",
    "grouped_bars",
    "house_style",
    "in_force",
    "latency_distribution",
    "migration_gantt",
    "nodes_by_gamma",
    "placement_map",
    "printed",
    "read_figure",
    "save_figure",
    "time_panels",
    "time_series",
    "trade_off",
]
