"""Experiments: one declaration for the command line, the notebooks, the tests and the report.

An experiment is data plus two functions: ``runs`` turns checked parameters into the emulations to play, and
``measure`` turns the metrics of those runs into one measurement per claim. Neither knows where runs are
stored, whether they were played before, or what the verdict is. If a result follows from algorithms alone,
there are no runs, and ``measure`` gets no tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, check_parameters, read_values
from storm_lab.experiments.readings import without_runs
from storm_lab.model import Cluster, StormVersion
from storm_lab.schedulers.contract import Scheduler

if TYPE_CHECKING:
    # A trial's runs are `RunSpec`s.
    from storm_lab.experiments.trial import Trial

Describe = Callable[["RunSpec"], EmulationSpec]
"""Function that describes a run for `storm_lab.runs`, to be played by the emulator or by real Storm."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One emulation: everything its outcome depends on except the code.

    ``variant`` names the run among those of its experiment, in file-name characters (``tstorm-g1.8``).
    ``parameters`` holds only what this run depends on, so that runs shared by several settings are played
    once. ``describe`` returns the run's description; it is a function of a module, because it is called in
    another process. ``inputs`` are the digests of the files that are read, by name, and ``files`` their
    paths, which do not affect the run. ``sample_every`` = k keeps the executions of one in k root tuples.
    """

    experiment: str
    variant: str
    seed: int
    parameters: Parameters
    describe: Describe
    storm_version: StormVersion
    inputs: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    sample_every: int = 1

    def __str__(self) -> str:
        return f"{self.experiment}/{self.variant}, seed {self.seed}"

    @property
    def key(self) -> tuple[str, str, int]:
        """Key that distinguishes it from the other runs of the experiments that share it."""
        return self.experiment, self.variant, self.seed

    def described(
        self,
        cluster: Cluster,
        plans: tuple[TopologyPlan, ...],
        scheduler: Scheduler[Any],
        duration_s: float | None = None,
    ) -> EmulationSpec:
        """Describe the run up to what is special about it; by default ``duration_s`` is a parameter."""
        return EmulationSpec(
            cluster=cluster,
            version=self.storm_version,
            topologies=plans,
            scheduler=scheduler,
            duration_s=self.parameters.number("duration_s") if duration_s is None else duration_s,
            seed=self.seed,
            sample_every=self.sample_every,
        )


def _no_runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    return ()


def _no_claims(tables: Any, parameters: Parameters) -> tuple[Measurement, ...]:
    return ()


MORE_SEEDS = (10, 20, 30)
"""Numbers of seeds with which a claim is tried that an experiment's own seeds leave unsettled.

They are few, because a claim that is looked at after every seed would often appear settled by chance.
"""
MOST_SEEDS = MORE_SEEDS[-1]
"""Most seeds that are ever played."""


@dataclass(frozen=True, slots=True)
class Settling:
    """Claims that an experiment's own seeds leave unsettled, and the runs that are played with more seeds.

    If an interval over a few seeds reaches across an edge of a claim's band, it does not say on which side
    the mean is (`storm_lab.reporting.verdict`). The runs that the claim is measured from, and no others, are
    then played with the first of `MORE_SEEDS` that settles it, or the last.

    ``variants`` are patterns (``S6-*``) of those runs, and ``seeds`` the number of seeds: 1, 2, 3, ...
    ``reading`` is the reading under which the claims are unsettled, by default the experiment's own setting.
    ``metrics`` are the tables computed for the further seeds, by default all: those that the claims are
    measured from, and that the notebook shows of all seeds.
    """

    claims: tuple[str, ...]
    variants: tuple[str, ...] = ("*",)
    seeds: int = MOST_SEEDS
    reading: str = ""
    metrics: tuple[str, ...] = ()

    def parameters(self, parameters: Parameters) -> Parameters:
        """The parameters with the larger number of seeds."""
        return parameters.changed(seeds=tuple(range(1, self.seeds + 1)))

    def needs(self, variant: str) -> bool:
        """Return whether the claims are measured from this variant's runs."""
        return any(fnmatchcase(variant, pattern) for pattern in self.variants)

    def settles(self, found: Measurement) -> bool:
        """Return whether this measurement belongs to one of the claims."""
        return found.claim_id in self.claims and found.reading == self.reading


@dataclass(frozen=True, slots=True)
class Experiment:
    """A paper's experiment.

    ``slug`` is its name on the command line and in the ledger of claims; ``figure`` says which figure or
    table of the paper shows it. ``notebook`` is the path of its notebook inside ``notebooks/``. ``measure``
    gets the parameters and the metric tables of all runs (`storm_lab.experiments.readings.Tables`; None if
    there are no runs); without it no claim is answered. ``metrics`` are the tables that ``measure`` and the
    notebook read. ``reads`` are further files and folders of the checkout that the notebook reads.
    ``settling`` names the claims that the default seeds leave unsettled, ``chosen`` the trials whose values
    were chosen on claims.
    """

    slug: str
    paper: str
    title: str
    figure: str
    parameters: tuple[Parameter, ...]
    notebook: str
    metrics: tuple[str, ...] = ()
    runs: Callable[[Parameters], tuple[RunSpec, ...]] = _no_runs
    # Any: tables, or None if there are no runs.
    measure: Callable[[Any, Parameters], tuple[Measurement, ...]] = _no_claims
    reads: tuple[str, ...] = ()
    settling: tuple[Settling, ...] = ()
    chosen: tuple[Trial, ...] = ()

    def planned(self, parameters: Parameters) -> tuple[RunSpec, ...]:
        """Return the runs, for the defaults also those that settle claims; `UserError`: unreadable input."""
        specs = {spec.key: spec for spec in self.runs(parameters)}
        for _, spec in self._settled(parameters):
            specs.setdefault(spec.key, spec)
        return tuple(specs.values())

    def tables_of_runs(self, parameters: Parameters) -> dict[tuple[str, str, int], tuple[str, ...]]:
        """Return the metric tables to compute of each run by its key; `UserError` as in `planned`."""
        wanted = {spec.key: set(self.metrics) for spec in self.runs(parameters)}
        for settling, spec in self._settled(parameters):
            wanted.setdefault(spec.key, set()).update(settling.metrics or self.metrics)
        return {key: tuple(name for name in self.metrics if name in names) for key, names in wanted.items()}

    def _settled(self, parameters: Parameters) -> Iterator[tuple[Settling, RunSpec]]:
        for settling in self._settling(parameters):
            for spec in self.runs(settling.parameters(parameters)):
                if settling.needs(spec.variant):
                    yield settling, spec

    def measurements(self, tables: Any, parameters: Parameters) -> tuple[Measurement, ...]:
        """Return one measurement per claim and reading, from the metrics of the planned runs.

        Raises `UserError` if a claim is measured from a table that the runs with more seeds do not have.
        """
        own = self.measure(tables, parameters)
        found = {(each.claim_id, each.reading): each for each in own}
        for settling in self._settling(parameters):
            if settling.metrics:
                self._check_metrics(settling, own, tables, parameters)
            for each in self.measure(tables, settling.parameters(parameters)):
                if settling.settles(each):
                    found[each.claim_id, each.reading] = each
        return tuple(found.values())

    def _check_metrics(
        self, settling: Settling, own: Sequence[Measurement], tables: Any, parameters: Parameters
    ) -> None:
        """Refuse a settling whose claims also depend on tables that it does not name.

        Without these tables, the claims must not change over the experiment's seeds, for which every table
        exists. For the further seeds the missing tables would go unnoticed.
        """
        fewer = self.measure(without_runs(tables, settling.needs, ("runs", *settling.metrics)), parameters)
        if list(filter(settling.settles, fewer)) != list(filter(settling.settles, own)):
            raise UserError(
                "claims are settled from other tables, too",
                field="Settling.metrics",
                value=settling.metrics,
                remedy=f"name all that {', '.join(settling.claims)} are measured from",
            )

    def _settling(self, parameters: Parameters) -> tuple[Settling, ...]:
        return self.settling if parameters == self.checked() else ()

    @property
    def claims(self) -> tuple[str, ...]:
        """Ids of the claims that it answers, in ledger order."""
        owned = load_claims().of_experiment(self.slug)
        return tuple(claim.id for claim in owned if not claim.untestable)

    def checked(self, given: Mapping[str, object] | None = None) -> Parameters:
        """All parameters, with those ``given``; `UserError`: unknown name, wrong type or out of range."""
        return check_parameters(self.parameters, given or {}, self.slug)

    def parsed(self, texts: tuple[str, ...]) -> Parameters:
        """All parameters, with ``name=value`` texts; `UserError` as `checked`, or for another form."""
        return self.checked(read_values(self.parameters, texts, self.slug))
