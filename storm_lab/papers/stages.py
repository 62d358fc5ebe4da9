"""The stages that the papers offer to schedulers of the reader's: by experiment, then by setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module

from storm_lab.errors import unknown_name
from storm_lab.league.stage import Stage
from storm_lab.papers.experiment_stage import ExperimentStage
from storm_lab.papers.mfstorm.grid import cells
from storm_lab.papers.mfstorm.placement import DEFAULT
from storm_lab.papers.mfstorm.starter import EXCLAMATION, TWEET_EXCLAMATION, TWEET_WORD_COUNT, WORD_COUNT
from storm_lab.papers.registry import experiment

_SCENARIOS = ("S1", "S2", "S3")
"""Scenarios of MF-Storm that the default scheduler plays; the others differ in slots that stay empty."""

_KINDS = {
    "mfstorm-wordcount": WORD_COUNT,
    "mfstorm-exclamation": EXCLAMATION,
    "mfstorm-tweet-wordcount": TWEET_WORD_COUNT,
    "mfstorm-tweet-exclamation": TWEET_EXCLAMATION,
}
"""MF-Storm's experiments and the topologies of their grids."""

_RUNS: Mapping[str, Mapping[str, str]] = {
    "tstorm-throughput-test": {"": "storm-default"},
    "tstorm-log-stream": {"": "storm-default"},
    "rstorm-network-bound": {name: f"{name}-default" for name in ("linear", "diamond", "star")},
    "rstorm-cpu-bound": {name: f"{name}-default-w12" for name in ("linear", "diamond", "star")},
    "rstorm-yahoo": {name: f"{name}-default" for name in ("page-load", "processing")},
    "rstorm-multi-topology": {"": "default"},
    **{slug: {name: f"{name}-default" for name in _SCENARIOS} for slug in _KINDS},
    "nstorm-single-migration": {"": "storm-star-m1"},
    "nstorm-multi-migration": {"": "nstorm-10-3-m4"},
    "twitter-semantics": {"": "log"},
}
"""Experiment -> setting -> the run under the default scheduler in whose place entrants are put."""

_OWN = {"tstorm-word-count": "tstorm.word_count_stage"}
"""Experiments with a stage of their own -> its module."""

PAPERS = (
    "tstorm-throughput-test",
    "tstorm-word-count",
    "tstorm-log-stream",
    "rstorm-network-bound/linear",
    "rstorm-network-bound/diamond",
    "rstorm-network-bound/star",
    "rstorm-cpu-bound/linear",
    "rstorm-cpu-bound/diamond",
    "rstorm-cpu-bound/star",
    "rstorm-yahoo/page-load",
    "rstorm-yahoo/processing",
    "rstorm-multi-topology",
    "mfstorm-wordcount/S1",
    "mfstorm-exclamation/S1",
    "mfstorm-tweet-wordcount/S1",
    "mfstorm-tweet-exclamation/S1",
    "nstorm-single-migration",
    "twitter-semantics",
)
"""Every topology of the papers on its machines, once: experiment, and setting where there are several."""


def stage_slugs() -> tuple[str, ...]:
    """The experiments that offer stages."""
    return (*_OWN, *_RUNS)


def stages(slug: str) -> Mapping[str, Stage]:
    """The stages of an experiment by setting; none where it compares fixed schedulers."""
    if slug in _OWN:
        found: Stage = import_module(f"storm_lab.papers.{_OWN[slug]}").STAGE
        return {"": found}
    own = experiment(slug)
    runs = own.runs
    if slug in _KINDS:
        # Not the whole grid, which asks the slower schedulers whether they refuse.
        runs = partial(cells, slug, _KINDS[slug], scenarios=_SCENARIOS, schedulers=(DEFAULT,))
    return {
        setting: ExperimentStage(slug, own.parameters, runs, variant)
        for setting, variant in _RUNS.get(slug, {}).items()
    }


def paper_stage(name: str) -> Stage:
    """A stage of `PAPERS`, without the faults and moves of its experiment.

    Raises:
        UserError: there is none of that name.
    """
    slug, _, setting = name.partition("/")
    found = stages(slug) if slug in stage_slugs() else {}
    if setting not in found:
        raise unknown_name("stage", name, PAPERS, "the papers' suite")
    stage = found[setting]
    return replace(stage, calm=True) if isinstance(stage, ExperimentStage) else stage
