"""The settings of a sweep: all combinations of the varied values, and the runs of each."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from storm_lab.errors import UserError, check_known, unknown_name
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import (
    Parameter,
    Parameters,
    ParameterValue,
    check_parameters,
    seed_parameter,
)
from storm_lab.league.entrant import Entrant
from storm_lab.league.field import field as entrants_of
from storm_lab.league.stage import Stage, stage_runs
from storm_lab.papers.registry import experiment
from storm_lab.papers.stages import stages

MOST_SETTINGS = 10_000
"""Most settings of one sweep; more are a typing error, or should be several sweeps."""
SEEDS = "seeds"


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of the grid: the varied values, and the runs that an experiment makes of them."""

    varied: Mapping[str, ParameterValue]
    specs: tuple[RunSpec, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a sweep: an experiment, or its workload and cluster under other schedulers."""

    slug: str
    declared: tuple[Parameter, ...]
    entrants: tuple[Entrant, ...] = ()
    stages: Mapping[str, Stage] = field(default_factory=dict)

    @classmethod
    def of(cls, slug: str, schedulers: Sequence[str] = ()) -> Subject:
        """Return an experiment, or with ``schedulers`` its workload and cluster under each of them.

        A scheduler is a text as in `storm_lab.league.field.entrant_of`, the same as for a league. Raises
        `UserError` if there is no such experiment or scheduler, or the experiment takes no schedulers.
        """
        found = experiment(slug)
        if not schedulers:
            return cls(slug, found.parameters)
        offered = stages(slug)
        return cls(slug, next(iter(offered.values())).declared, entrants_of(schedulers, ()), offered)

    @property
    def has_tuples(self) -> bool:
        """Whether its runs have tuples to measure; False if only the control plane is played."""
        return experiment(self.slug).metrics != ("control",)

    def parameter(self, name: str) -> Parameter:
        """Return the declared parameter ``name``; `UserError` if there is none."""
        known = {item.name: item for item in self.declared}
        check_known("parameter", name, known, self.slug)
        return known[name]

    def runs(self, given: Mapping[str, ParameterValue]) -> tuple[RunSpec, ...]:
        """Return the runs at some values; `UserError` if a value or the combination is not allowed."""
        if self.stages:
            return tuple(
                run
                for setting, stage in self.stages.items()
                for run in stage_runs(stage, self.entrants, given, setting)
            )
        return experiment(self.slug).runs(check_parameters(self.declared, given, self.slug))


def settings_of(
    subject: Subject,
    fixed: Mapping[str, object],
    vary: Mapping[str, Sequence[object]],
    seeds: Sequence[int] | None,
    only: Sequence[str] = (),
) -> tuple[Setting, ...]:
    """Return every combination of the varied values with its runs, in the order given.

    ``only`` holds patterns (``tstorm-*``) of the variants to keep; by default all are kept. Varying the
    parameter ``seeds`` is the same as passing ``seeds``. Raises `UserError` for an unknown parameter, a value
    out of range, a parameter both fixed and varied, nothing to run, or more settings than `MOST_SETTINGS`.
    """
    if (seeds is not None) + (SEEDS in fixed) + (SEEDS in vary) > 1:
        raise UserError("is given twice", field="seeds", remedy="give it once")
    if seeds is not None:
        fixed = {**fixed, SEEDS: list(seeds)}
    elif SEEDS in vary:
        given = (each if isinstance(each, list | tuple) else [each] for each in vary[SEEDS])
        fixed = {**fixed, SEEDS: list(itertools.chain.from_iterable(given))}
    base = {name: subject.parameter(name).checked(value) for name, value in fixed.items()}
    axes: dict[str, list[ParameterValue]] = {}
    for name in [name for name in vary if name != SEEDS]:
        if name in fixed:
            remedy = "set it or vary it, not both"
            raise UserError("is both set and varied", field=f"parameter {name}", remedy=remedy)
        axes[name] = _axis(subject.parameter(name), vary[name])
    size = math.prod(map(len, axes.values()))
    if size > MOST_SETTINGS:
        remedy = f"vary fewer values: at most {MOST_SETTINGS} combinations"
        raise UserError("the sweep has too many settings", field="vary", value=size, remedy=remedy)
    points = (dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values()))
    settings = [Setting(varied, subject.runs(base | varied)) for varied in points]
    if only:
        settings = _chosen(settings, only)
    if not any(setting.specs for setting in settings):
        message = "this experiment needs no emulation, so there is nothing to sweep"
        raise UserError(message, field="experiment", value=subject.slug)
    return tuple(settings)


def parse_axis(text: str, subject: Subject) -> tuple[str, list[ParameterValue]]:
    """Parse ``name=80,100``, ``name=80:120:20`` (both ends included) or ``name=1-3``.

    Raises `UserError` for other forms, and as `Parameter.parsed`.
    """
    name, equals, values = text.partition("=")
    name = name.strip()
    if not equals:
        remedy = "write name=value,value"
        raise UserError("does not name a parameter to vary", field="vary", value=text, remedy=remedy)
    parameter = subject.parameter(name)
    found: list[ParameterValue] = []
    for piece in values.split(","):
        if not piece.strip():
            continue
        pieces = piece.split(":")
        # Python converts no integer of thousands of digits.
        span = re.fullmatch(r"(\d{1,10})-(\d{1,10})", piece.strip())
        if span and parameter.allowed.kind is int and int(span[1]) <= int(span[2]):
            pieces = [*span.groups(), "1"]
        if len(pieces) == 3 and not isinstance(parameter.default, str | bool):
            found.extend(_steps(parameter, pieces))
        else:
            found.append(parameter.parsed(piece.strip()))
    if not found:
        raise UserError("has no values", field="vary", value=text, remedy="write name=value,value")
    return name, found


def parse_seeds(text: str) -> tuple[int, ...]:
    """Parse ``1-5``, ``1,2,7`` or both as seeds, in order, each once; `UserError` for other forms."""
    try:
        return Parameters({SEEDS: seed_parameter("").parsed(text)}).seeds
    except UserError as error:
        message, remedy = f"not valid seeds: {error.message}", "write 1-5 or 1,2,7"
        raise UserError(message, field="seeds", value=text, remedy=remedy) from error


def _steps(parameter: Parameter, pieces: Sequence[str]) -> Iterable[ParameterValue]:
    def refused(message: str, remedy: str) -> UserError:
        field = f"parameter {parameter.name}"
        return UserError(message, field=field, value=":".join(pieces), remedy=remedy)

    try:
        low, high, step = (float(piece) for piece in pieces)
    except ValueError:
        low, high, step = 0.0, 0.0, 0.0
    if not step > 0 or not high >= low:
        raise refused("not a valid range", "write low:high:step")
    count = (high - low) / step
    if not count < MOST_SETTINGS:
        raise refused("has too many values", f"give fewer than {MOST_SETTINGS}")
    if abs(count - round(count)) > 1e-6:
        end = f"{low + int(count) * step:g}"
        raise refused("does not reach its end by whole steps", f"give another step, or {end} as the end")
    # Converted through text, so that 0.1:0.5:0.1 gives 0.3 and an integer remains one.
    return [parameter.parsed(f"{low + index * step:.12g}") for index in range(round(count) + 1)]


def _axis(parameter: Parameter, values: Sequence[object]) -> list[ParameterValue]:
    """Values of one axis without repetition; a list parameter takes single numbers as lists of one."""
    if isinstance(values, str) or not values:
        raise UserError("has no values", field=f"parameter {parameter.name}", value=values)
    wrapped = isinstance(parameter.default, tuple)
    checked = [
        parameter.checked([value] if wrapped and not isinstance(value, list | tuple) else value)
        for value in values
    ]
    return list(dict.fromkeys(checked))


def _chosen(settings: Sequence[Setting], only: Sequence[str]) -> list[Setting]:
    """Keep the runs whose variant matches a pattern; drop settings without any such run."""
    variants = list(dict.fromkeys(spec.variant for setting in settings for spec in setting.specs))
    for pattern in only:
        if not any(fnmatchcase(variant, pattern) for variant in variants):
            raise unknown_name("variant", pattern, variants, "the experiment", field="only")
    chosen = {variant for variant in variants if any(fnmatchcase(variant, pattern) for pattern in only)}
    kept = (
        Setting(setting.varied, tuple(spec for spec in setting.specs if spec.variant in chosen))
        for setting in settings
    )
    return [setting for setting in kept if setting.specs]
