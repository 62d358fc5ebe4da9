"""Trials: single deviations from an experiment's setting, played to see how much an answer depends on it.

A trial is not a reading of the paper and no verdict rests on it. It is played with one seed, and its runs are
named after it: the setting's own name, a hyphen, and the trial's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from storm_lab.experiments.parameter import Parameter, Parameters, ParameterValue
from storm_lab.papers.rstorm.emulab_runs import DEFAULT

TRIALS = Parameter(
    "trials",
    True,
    "also play the single deviations that the notebook's sensitivity plot shows, with one seed each",
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A deviation: its name in file-name characters, what it means to a reader, and the values it sets.

    ``default_only``: it changes nothing for R-Storm, which is not played again.
    """

    name: str
    label: str
    changes: Mapping[str, ParameterValue] = field(default_factory=dict)
    default_only: bool = False


def variant_of(setting: str, trial: Trial | None = None) -> str:
    """Variant of a setting's run, as it is or under a trial."""
    return setting if trial is None else f"{setting}-{trial.name}"


def concerns(trial: Trial | None, scheduler: str) -> bool:
    """Whether a run under this scheduler is part of the trial."""
    return trial is None or not trial.default_only or scheduler == DEFAULT


def played(
    parameters: Parameters, shared: Parameters, trials: Sequence[Trial]
) -> Iterator[tuple[Trial | None, Parameters, tuple[int, ...]]]:
    """The setting itself with all seeds, then the trials that deviate from it with the first.

    Args:
        parameters: the experiment's, with ``seeds`` and ``trials``.
        shared: those that every run depends on.
        trials: what may be tried; one that sets nothing anew is left out.
    """
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    yield None, shared, seeds
    for trial in trials if parameters.flag("trials") else ():
        if any(shared[name] != value for name, value in trial.changes.items()):
            yield trial, shared.changed(**trial.changes), seeds[:1]
