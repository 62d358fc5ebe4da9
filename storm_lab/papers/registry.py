"""The registry of experiments: an explicit list, in the order in which they are listed and reproduced."""

from __future__ import annotations

from importlib import import_module

from storm_lab.errors import unknown_name
from storm_lab.experiments.experiment import Experiment

_MODULES: dict[str, str] = {
    "algorithms": "algorithms.algorithms",
    "tstorm-obs1-traffic": "tstorm.chain:TRAFFIC",
    "tstorm-obs2-overload": "tstorm.chain:OVERLOAD",
    "tstorm-throughput-test": "tstorm.throughput_test",
    "tstorm-word-count": "tstorm.word_count",
    "tstorm-log-stream": "tstorm.log_stream",
    "tstorm-overload-wordcount": "tstorm.overload_relief:WORD_COUNT",
    "tstorm-overload-logstream": "tstorm.overload_relief:LOG_STREAM",
    "tstorm-gamma-sweep": "tstorm.gamma_sweep",
    "tstorm-reassign-smoothing": "tstorm.reassign_smoothing",
    "rstorm-recordings": "rstorm.recordings",
    "rstorm-network-bound": "rstorm.network_bound",
    "rstorm-cpu-bound": "rstorm.cpu_bound",
    "rstorm-yahoo": "rstorm.yahoo",
    "rstorm-multi-topology": "rstorm.multi_topology",
    "rstorm-network-hierarchy": "rstorm.network_hierarchy",
    "mfstorm-wordcount": "mfstorm.grid_experiments:WORD_COUNT_GRID",
    "mfstorm-exclamation": "mfstorm.grid_experiments:EXCLAMATION_GRID",
    "mfstorm-tweet-wordcount": "mfstorm.grid_experiments:TWEET_WORD_COUNT_GRID",
    "mfstorm-tweet-exclamation": "mfstorm.grid_experiments:TWEET_EXCLAMATION_GRID",
    "mfstorm-summary": "mfstorm.summary",
    "mfstorm-beyond": "mfstorm.beyond",
    "nstorm-single-migration": "nstorm.single_migration",
    "nstorm-multi-migration": "nstorm.multi_migration",
    "nstorm-delayed-kill": "nstorm.delayed_kill",
    "nstorm-sync-cycles": "nstorm.sync_cycles",
    "nstorm-worst-case": "nstorm.worst_case",
    "twitter-machine-removal": "twitter.machine_removal",
    "twitter-zookeeper-load": "twitter.zookeeper_load",
    "twitter-max-spout-pending": "twitter.max_spout_pending",
    "twitter-overheads": "twitter.overheads",
    "twitter-semantics": "twitter.semantics",
    "twitter-scaling": "twitter.scaling",
    "live-trust": "live.trust",
}
"""Slug -> module of `storm_lab.papers`, and name in it if it is not ``EXPERIMENT``. Imported on demand."""


def experiments() -> tuple[Experiment, ...]:
    """All experiments."""
    return tuple(experiment(slug) for slug in _MODULES)


def experiment(slug: str) -> Experiment:
    """Return the experiment with this slug; `UserError` names the existing ones if there is none."""
    module, name = place_of(slug)
    found = getattr(import_module(module), name)
    if not isinstance(found, Experiment) or found.slug != slug:
        raise TypeError(f"{module}.{name} is not the experiment {slug}")
    return found


def place_of(slug: str) -> tuple[str, str]:
    """Return the module of the experiment with this slug and its name there; `UserError` as `experiment`."""
    if slug not in _MODULES:
        raise unknown_name("experiment", slug, _MODULES, "storm-lab")
    module, _, name = _MODULES[slug].partition(":")
    return f"storm_lab.papers.{module}", name or "EXPERIMENT"
