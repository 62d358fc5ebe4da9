"""Trials: single deviations from an experiment's setting, which show how much a result depends on it.

A trial is played with one seed, or with every seed if it is a reading of what the paper leaves open. Its runs
are named after the setting, a hyphen, and the trial. Verdicts under a trial are reported beside the claims
that it explains and never replace their own verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, ParameterValue, number_text
from storm_lab.experiments.readings import Measure, Tables, under_reading

TRIALS = Parameter(
    "trials",
    True,
    "also play the single deviations that the notebook's sensitivity plot shows, with one seed each",
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A deviation: its name in file-name characters, its label for readers, and the values it sets.

    ``only``: the one scheduler or setting whose runs it changes; other runs are not played again. ``claims``:
    the claims that it explains. ``reading``: whether it is another reading of the paper, played with every
    seed; without ``claims`` it explains all. ``chosen_on``: the claims whose printed values were used to
    choose it, so that results for them are no prediction. ``indifferent``: parameters whose other values give
    the same result, so that no claim can have chosen them. ``requested``: whether a parameter of its own asks
    for it, regardless of ``trials``.
    """

    name: str
    label: str
    changes: Mapping[str, ParameterValue] = field(default_factory=dict)
    only: str = ""
    claims: tuple[str, ...] = ()
    reading: bool = False
    chosen_on: tuple[str, ...] = ()
    indifferent: tuple[str, ...] = ()
    requested: bool = False

    def basis(self, found: Measurement) -> Basis | None:
        """Basis of a measurement under this trial; None leaves it to the ledger."""
        return Basis.FITTED if found.claim_id in self.chosen_on else found.basis


def variant_of(setting: str, trial: Trial | None = None) -> str:
    """Variant of a setting's run, in its own form or under a trial."""
    return setting if trial is None else f"{setting}-{trial.name}"


def tried(
    parameters: Parameters,
    name: str,
    trial_name: str,
    label: str,
    *,
    listed: str = "",
    claims: Sequence[str] = (),
    only: str = "",
    also: Mapping[str, ParameterValue] | None = None,
) -> tuple[Trial, ...]:
    """Trials with other values of a parameter, without repetition.

    ``trial_name`` and ``label`` contain ``{}`` for the value, as in ``c{}``. The values are those of the
    parameter ``listed``, by default ``<name>_tried``. ``also`` holds what every trial changes besides; with
    it the usual value is tried, too. The other arguments are as in `Trial`. A claim that is reproduced with
    one of several values is no prediction.
    """
    usual = parameters.get(name)
    found = []
    for value in dict.fromkeys(parameters.numbers(listed or f"{name}_tried")):
        if also or value != usual:
            changes = {**(also or {}), name: int(value) if isinstance(usual, int) else value}
            shown, own = number_text(value), tuple(claims)
            names = trial_name.format(shown), label.format(shown)
            found.append(Trial(*names, changes, only, own, chosen_on=own, requested=True))
    return tuple(found)


def played(
    parameters: Parameters, shared: Parameters, trials: Sequence[Trial]
) -> Iterator[tuple[Trial | None, Parameters, tuple[int, ...]]]:
    """Yield the setting (None) and each trial that deviates from it, with their parameters and seeds.

    ``parameters`` are the experiment's, with ``trials`` if trials can be left out, and ``shared`` those that
    every run depends on. Trials that change no value are left out.
    """
    yield None, shared, parameters.seeds
    for trial in trials:
        wanted = trial.reading or trial.requested or parameters.flag(TRIALS.name)
        if wanted and any(shared.get(name) != value for name, value in trial.changes.items()):
            seeds = parameters.seeds if trial.reading else parameters.seeds[:1]
            yield trial, shared.changed(**trial.changes), seeds


def runs_of(
    make: Callable[..., RunSpec],
    settings: Mapping[str, Mapping[str, ParameterValue]],
    parameters: Parameters,
    shared: Parameters,
    trials: Sequence[Trial],
) -> tuple[RunSpec, ...]:
    """Runs of each setting with all seeds, then under each trial that affects it, with the trial's seeds.

    ``make`` makes a run from ``variant``, ``seed`` and ``parameters``. ``settings`` maps variants to the
    values that distinguish them. The other arguments are as in `played`.
    """
    return tuple(
        make(variant=variant_of(setting, trial), seed=seed, parameters=values.changed(**own))
        for trial, values, seeds in played(parameters, shared, trials)
        for setting, own in settings.items()
        if trial is None or trial.only in ("", setting, own.get("scheduler"))
        for seed in seeds
    )


def under_trials(
    play: Callable[[Parameters], Iterable[RunSpec]], parameters: Parameters, trials: Sequence[Trial]
) -> Iterator[RunSpec]:
    """Runs that ``play`` makes from the parameters under each played trial, with the trial's seeds."""
    for trial, values, seeds in played(parameters, parameters, trials):
        if trial is not None:
            for spec in play(values.changed(seeds=seeds)):
                yield replace(spec, variant=variant_of(spec.variant, trial))


def with_trials(
    measure: Measure,
    trials: Sequence[Trial] | Callable[[Parameters], Sequence[Trial]],
    others: Sequence[str] = (),
) -> Measure:
    """Combine ``measure`` with itself under trials (`explained`), which may depend on the parameters."""

    def both(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
        own = trials(parameters) if callable(trials) else trials
        return (*measure(tables, parameters), *explained(measure, tables, parameters, own, others))

    return both


def explained(
    measure: Measure,
    tables: Tables,
    parameters: Parameters,
    trials: Sequence[Trial],
    others: Sequence[str] = (),
) -> tuple[Measurement, ...]:
    """Results of ``measure`` under each trial that was played, for the claims that the trial explains.

    Results of another reading are left out. ``others`` are the variants that a trial of one scheduler or
    setting does not change.
    """
    explanations: list[Measurement] = []
    for trial in trials:
        tag = f"-{trial.name}"
        if (trial.claims or trial.reading) and tables.runs["variant"].str.endswith(tag).any():
            found = measure(
                under_reading(tables, tag, others if trial.only else ()),
                parameters if trial.reading else parameters.with_first_seed(),
            )
            explanations += [
                replace(each, reading=trial.label, basis=trial.basis(each))
                for each in found
                if not each.reading and (not trial.claims or each.claim_id in trial.claims)
            ]
    return tuple(explanations)
