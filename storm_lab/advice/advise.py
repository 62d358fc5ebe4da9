"""Find advice: play a topology on its machines under policies, loads, node losses and changed costs.

Each figure is read from the metric tables of the runs, which are stored with all other runs and played only
once. ``docs/advice.md`` describes the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from storm_lab.advice.advice import Advice, Choice, Fit, Measured, Sensitivity, best_of
from storm_lab.advice.bracket import Key, fewest, highest, run_together
from storm_lab.advice.measure import CURVE_S, Headroom, Measurer, Setting
from storm_lab.errors import UserError
from storm_lab.league.entrant import Entrant
from storm_lab.league.field import field
from storm_lab.league.imported_site import imported_site
from storm_lab.league.reader_site import Site
from storm_lab.league.site_variants import (
    check_advisable,
    present_load,
    with_load,
    with_message_costs,
    with_nodes,
    with_workers,
    worker_counts,
)
from storm_lab.league.stage import stage_parameters
from storm_lab.runs.execute import JOBS
from storm_lab.schedulers.baselines.given import GivenPlacement
from storm_lab.workloads.importers.imported import Imported

POLICIES = ("default", "rstorm", "tstorm")
"""Policies that are tried; T-Storm's runs on measured load, as an entrant of a league does."""

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.2)
"""Shares of the capacity at which latency is measured."""

_FACTORS = (0.5, 2.0)
"""Factors by which an assumed figure is multiplied."""

OnStep = Callable[[str], None]
ScaledSite = Callable[[float], Site]
"""Returns the site with some figure multiplied by a factor."""


def advise(imported: Imported, **options: Any) -> Advice:
    """Advise on an imported topology and say how far the advice depends on assumptions.

    ``options`` are arguments of `advise_site` besides site and others, with its errors. Raises `UserError` if
    the topology cannot be played.
    """
    found = advise_site(imported_site(imported), others=_other_costs(imported), **options)
    rates = sorted({item.component for item in imported.assumed if item.what.startswith("rate of")})
    return replace(found, assumed=tuple(map(str, imported.assumed)), assumed_rates=tuple(rates))


def advise_site(
    site: Site,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    entrants: Sequence[Entrant] | None = None,
    others: Mapping[str, ScaledSite] | None = None,
    jobs: int = JOBS,
    show_progress: bool = False,
    say: OnStep = lambda line: None,
) -> Advice:
    """Advise on a topology with its input and machines.

    Args:
        site: the topology under its present load, on all available machines.
        seeds: seeds of the settings whose intervals are shown; searches for limits use only the first.
        entrants: policies to try, as returned by `storm_lab.league.field.field`; None: `POLICIES`.
        others: uncertain figures by name, each with a function from a factor to the site with that figure
            multiplied.
        jobs: emulations at a time.
        show_progress: draw bars.
        say: called with a line for each step.

    Raises:
        UserError: there is no advice on such a site (`check_advisable`), no policy or no seed is given, or
            nothing is completed under any policy.
        StormLabError: a run fails, or there is no Java for Spark.
    """
    check_advisable(site)
    given = list(seeds) if isinstance(seeds, range) else seeds
    seeds = stage_parameters(site, {"seeds": given}).seeds
    entrants = field((), POLICIES) if entrants is None else entrants
    if not entrants:
        raise UserError("there is none to try", field="policies", remedy="give a policy or a scheduler")
    steps = _Steps(Measurer(jobs, show_progress), seeds, say)
    choices, chosen = steps.choose(site, entrants)
    best = best_of(choices)
    say("nodes for the load and for twice the load")
    fits = steps.nodes(chosen, {1.0: site, 2.0: with_load(site, 2.0)})
    say("the highest load it keeps up with")
    placed = steps.measurer.placement(chosen, seeds[0])
    fixed = Setting(chosen.site, Entrant("as-placed", GivenPlacement(placed)))
    guess = present_load(site) / max(best.measured.utilisation, 0.01)
    rate, _ = steps.highest_rates({"": fixed}, guess)[""]
    (full,) = steps.measurer.measure([_at_rate(fixed, rate)], seeds)
    capacity = full.acked_per_s
    say("latency by load")
    at = [_at_rate(fixed, share * capacity.mean) for share in SHARES]
    curve = tuple(zip(SHARES, steps.measurer.measure(at, seeds, CURVE_S), strict=True))
    say("losses of nodes")
    losses = steps.measurer.losses(chosen, placed, seeds[0])
    changes: dict[str, ScaledSite] = {
        **(others or {}),
        "costs of messages": partial(with_message_costs, site),
    }
    say(f"{', '.join(changes)}: halved and doubled")
    changed = {(what, factor): scale(factor) for what, scale in changes.items() for factor in _FACTORS}
    scaled = {kind: replace(fixed, site=with_workers(own, best.workers)) for kind, own in changed.items()}
    limits, nodes = steps.highest_rates(scaled, capacity.mean), steps.nodes(chosen, changed)
    sensitivity = [
        Sensitivity(what, factor, limits[what, factor][1].acked_per_s.mean, nodes[what, factor].nodes)
        for what, factor in changed
    ]
    return Advice(
        topology=site.plan.topology.id,
        load_per_s=present_load(site),
        choices=choices,
        fit=fits[1.0],
        fit_twice=fits[2.0],
        machines=len(site.cluster.nodes),
        capacity_per_s=capacity,
        saturates=full.busiest,
        saturated=full.utilisation,
        curve=curve,
        losses=losses,
        sensitivity=tuple(sensitivity),
        seeds=seeds,
    )


@dataclass(frozen=True)
class _Steps:
    measurer: Measurer
    seeds: tuple[int, ...]
    say: OnStep

    def choose(self, site: Site, entrants: Sequence[Entrant]) -> tuple[tuple[Choice, ...], Setting]:
        """Measure all policies with all numbers of workers; return the choices and the best setting."""
        self.say("policies and workers")
        kinds = [(entrant, workers) for entrant in entrants for workers in worker_counts(site)]
        settings = [Setting(with_workers(site, workers), entrant) for entrant, workers in kinds]
        measured = self.measurer.with_headroom(settings, self.seeds)
        choices = tuple(
            Choice(entrant.name, workers, own.at_load)
            for (entrant, workers), own in zip(kinds, measured, strict=True)
        )
        best = best_of(choices)
        if not best.measured.acked_per_s.mean > 0.0:
            message, names = "nothing is completed under any policy", ", ".join(e.name for e in entrants)
            remedy = "check that its workers find slots and that its bolts ack"
            raise UserError(message, field="policies", value=names, remedy=remedy)
        self.say(f"best: {best.policy}, workers: {best.workers}")
        return choices, settings[choices.index(best)]

    def nodes(self, chosen: Setting, sites: Mapping[Key, Site]) -> dict[Key, Fit]:
        """Find the fewest nodes of each site on which its load fits, under the chosen policy."""
        workers = chosen.site.plan.topology.workers
        tried: dict[tuple[Key, int], Headroom] = {}

        def fit(kinds: Sequence[tuple[Key, int]]) -> list[bool]:
            settings = [
                replace(chosen, site=with_workers(with_nodes(sites[key], count), max(workers, count)))
                for key, count in kinds
            ]
            tried.update(zip(kinds, self.measurer.with_headroom(settings, self.seeds[:1]), strict=True))
            return [tried[kind].at_load.fits for kind in kinds]

        most = {key: len(site.cluster.nodes) for key, site in sites.items()}
        fits = {}
        for key, count in run_together({key: fewest(most[key]) for key in sites}, fit).items():
            last = tried[key, most[key]].beyond if count is None else tried[key, count].at_load
            fits[key] = Fit(count, last.busiest, last.utilisation)
        return fits

    def highest_rates(self, fixed: Mapping[Key, Setting], guess: float) -> dict[Key, tuple[float, Measured]]:
        """Find the highest rate that each setting keeps up with; return it and the figures there."""
        tried: dict[tuple[Key, float], Measured] = {}

        def keep_up(kinds: Sequence[tuple[Key, float]]) -> list[bool]:
            settings = [_at_rate(fixed[key], rate) for key, rate in kinds]
            tried.update(zip(kinds, self.measurer.measure(settings, self.seeds[:1]), strict=True))
            return [tried[kind].keeps_up for kind in kinds]

        rates = run_together({key: highest(guess) for key in fixed}, keep_up)
        return {key: (rate, tried[key, rate]) for key, rate in rates.items()}


def _at_rate(setting: Setting, rate_per_s: float) -> Setting:
    return replace(setting, site=with_load(setting.site, rate_per_s / present_load(setting.site)))


def _other_costs(imported: Imported) -> dict[str, ScaledSite]:
    """Return the site as a function of a factor on all costs that the import assumed; empty without any."""
    playable = imported.ready()
    guessed = {item.component for item in imported.assumed if item.what == "cost of a call"}
    if not guessed:
        return {}

    def scaled(factor: float) -> Site:
        figures = {
            name: replace(known, cost_us=known.cost_us.scaled(factor)) if name in guessed else known
            for name, known in playable.figures.items()
        }
        return imported_site(replace(imported, playable=replace(playable, figures=figures)))

    return {f"the assumed costs of {', '.join(sorted(guessed))}": scaled}
