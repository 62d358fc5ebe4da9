"""Trials: single deviations from an experiment's setting, played to see how much an answer depends on it.

A trial is played with one seed, and its runs are named after it: the setting's own name, a hyphen, and the
trial's. One that is a reading of what the paper leaves open is played with every seed. Verdicts under a trial
stand beside the claims that it explains, and never replace their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, ParameterValue
from storm_lab.experiments.readings import Tables, beside

TRIALS = Parameter(
    "trials",
    True,
    "also play the single deviations that the notebook's sensitivity plot shows, with one seed each",
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A deviation: its name in file-name characters, what it means to a reader, and the values it sets.

    ``only``: the one scheduler whose runs it changes; those of others are not played again. ``claims``: those
    that it explains. ``reading``: it is another reading of the paper, and played with every seed. ``fitted``:
    it was chosen with the results in view, so that what comes out under it is no prediction.
    """

    name: str
    label: str
    changes: Mapping[str, ParameterValue] = field(default_factory=dict)
    only: str = ""
    claims: tuple[str, ...] = ()
    reading: bool = False
    fitted: bool = False


def variant_of(setting: str, trial: Trial | None = None) -> str:
    """Variant of a setting's run, as it is or under a trial."""
    return setting if trial is None else f"{setting}-{trial.name}"


def concerns(trial: Trial | None, scheduler: str) -> bool:
    """Whether a run under this scheduler is part of the trial."""
    return trial is None or trial.only in ("", scheduler)


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
    for trial in trials:
        if (trial.reading or parameters.flag("trials")) and any(
            shared[name] != value for name, value in trial.changes.items()
        ):
            yield trial, shared.changed(**trial.changes), seeds if trial.reading else seeds[:1]


def explained(
    measure: Callable[[Tables, Parameters], tuple[Measurement, ...]],
    tables: Tables,
    parameters: Parameters,
    trials: Sequence[Trial],
    others: Sequence[str] = (),
) -> tuple[Measurement, ...]:
    """What ``measure`` finds under each trial that was played, for the claims that the trial explains.

    ``others`` are the variants that a trial of one scheduler's runs leaves as they are.
    """
    first = parameters.changed(seeds=parameters.integers("seeds")[:1])
    return tuple(
        replace(found, basis=Basis.FITTED) if trial.fitted else found
        for trial in trials
        if trial.claims
        for found in beside(
            measure,
            tables,
            parameters if trial.reading else first,
            f"-{trial.name}",
            trial.label,
            claims=trial.claims,
            keep=others if trial.only else (),
        )
    )
