"""The experiments there are: an explicit list, in the order in which they are listed and reproduced."""

from __future__ import annotations

from importlib import import_module

from storm_lab.papers.experiment import Experiment
from storm_lab.papers.parameter import unknown_name

_MODULES: tuple[str, ...] = (
    "storm_lab.papers.algorithms.algorithms",
    "storm_lab.papers.tstorm.traffic",
    "storm_lab.papers.tstorm.overload",
    "storm_lab.papers.tstorm.throughput_test",
    "storm_lab.papers.tstorm.word_count",
    "storm_lab.papers.tstorm.log_stream",
    "storm_lab.papers.tstorm.overload_wordcount",
    "storm_lab.papers.tstorm.overload_logstream",
    "storm_lab.papers.tstorm.gamma_sweep",
    "storm_lab.papers.tstorm.reassign_smoothing",
    "storm_lab.papers.rstorm.recordings",
    "storm_lab.papers.rstorm.network_bound",
    "storm_lab.papers.rstorm.cpu_bound",
    "storm_lab.papers.rstorm.yahoo",
    "storm_lab.papers.rstorm.multi_topology",
    "storm_lab.papers.rstorm.network_hierarchy",
    "storm_lab.papers.mfstorm.wordcount",
    "storm_lab.papers.mfstorm.exclamation",
    "storm_lab.papers.mfstorm.tweet_wordcount",
    "storm_lab.papers.mfstorm.tweet_exclamation",
    "storm_lab.papers.mfstorm.summary",
    "storm_lab.papers.mfstorm.beyond",
    "storm_lab.papers.nstorm.single_migration",
    "storm_lab.papers.nstorm.multi_migration",
    "storm_lab.papers.nstorm.delayed_kill",
    "storm_lab.papers.nstorm.sync_cycles",
    "storm_lab.papers.nstorm.worst_case",
    "storm_lab.papers.twitter.machine_removal",
    "storm_lab.papers.twitter.zookeeper_load",
    "storm_lab.papers.twitter.max_spout_pending",
    "storm_lab.papers.twitter.overheads",
    "storm_lab.papers.twitter.semantics",
    "storm_lab.papers.twitter.scaling",
)
"""Modules that hold one ``EXPERIMENT`` each. Imported on demand: most commands need none or one."""


def experiments() -> tuple[Experiment, ...]:
    """All experiments."""
    return tuple(_load(module) for module in _MODULES)


def experiment(slug: str) -> Experiment:
    """The experiment of that slug.

    Raises:
        UserError: there is none; lists those that exist.
    """
    known = {item.slug: item for item in experiments()}
    if slug not in known:
        raise unknown_name("experiment", slug, known, "storm-lab")
    return known[slug]


def _load(module: str) -> Experiment:
    found = import_module(module).EXPERIMENT
    if not isinstance(found, Experiment):
        raise TypeError(f"{module}.EXPERIMENT is not an Experiment")
    return found
