"""Page Load and Processing together on twenty-four machines (figure 13).

Page Load is submitted first. Both ask for twelve workers, as in most versions of the authors' public code.
One version asks for none, which Storm treats as one worker; it is played as a reading.
"""

from __future__ import annotations

from dataclasses import replace

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables, measurement, per_seed, quotients
from storm_lab.experiments.trial import TRIALS, Trial, runs_of, with_trials
from storm_lab.papers.rstorm.emulab_runs import DEFAULT, RSTORM, SCHEDULERS, on_emulab
from storm_lab.papers.rstorm.layouts import YAHOO, layout
from storm_lab.papers.rstorm.recording import Layout
from storm_lab.papers.rstorm.sinks import gains, sums_of
from storm_lab.papers.rstorm.testbed import WORKERS, emulab
from storm_lab.papers.rstorm.yahoo import STREAMING, over_lines, plan

SLUG = "rstorm-multi-topology"
SHARED_MACHINES = 24
"""Machines of the run with two topologies, in two sub-clusters of twelve (section 6.5)."""

_ASKED = "workers requested from the default scheduler; not printed, {} in the authors' files"
PARAMETERS: tuple[Parameter, ...] = (
    *STREAMING,
    replace(WORKERS, name="page_load_workers", doc=_ASKED.format("12 or none")),
    replace(WORKERS, name="processing_workers", doc=_ASKED.format("12 or none (so 1)")),
    TRIALS,
)

_CHANGED = ("pl-default", "pl-gain", "pr-rstorm", "pr-default", "pr-orders", "both-higher")
_PAGE_LOAD, _PROCESSING = ("rstorm-fig13-pl-rstorm",), ("rstorm-fig13-pr-rstorm",)
TRIED: tuple[Trial, ...] = (
    Trial(
        "both1",
        "one worker for each topology",
        {"page_load_workers": 1, "processing_workers": 1},
        only=DEFAULT,
        claims=tuple(f"rstorm-fig13-{name}" for name in _CHANGED),
        reading=True,
    ),
    Trial("mixed", "one worker for Processing alone", {"processing_workers": 1}, only=DEFAULT),
    Trial(
        "six",
        "Page Load on 6 workers, other on 1",
        {"page_load_workers": 6, "processing_workers": 1},
        only=DEFAULT,
        claims=("rstorm-fig13-pl-default", "rstorm-fig13-pl-gain", "rstorm-fig13-both-higher"),
        reading=True,
        chosen_on=("rstorm-fig13-pl-default",),
    ),
    Trial("slow", "hosts of 1300 MHz", {"clock_mhz": 1300.0}, claims=_PAGE_LOAD, chosen_on=_PAGE_LOAD),
    Trial("fast", "hosts of 1550 MHz", {"clock_mhz": 1550.0}, claims=_PROCESSING, chosen_on=_PROCESSING),
    Trial("paced2000", "2000 lines/s per spout", {"lines_per_s": 2000.0}),
    Trial("walk", "0.7 us a character", {"character_us": 0.7}),
)
"""No file asks for one worker for Processing alone, or for six for Page Load."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Both topologies under each scheduler, and the trials; `UserError` if the lines cannot be read."""
    shared = parameters.without("seeds", "trials", "lines")
    settings = {name: {"scheduler": name} for name in SCHEDULERS}
    return runs_of(over_lines(SLUG, describe, parameters), settings, parameters, shared, TRIED)


def submitted(parameters: Parameters) -> tuple[Layout, ...]:
    """The layouts of a run, in order of submission."""
    workers = (parameters.integer("page_load_workers"), parameters.integer("processing_workers"))
    return tuple(layout(name, workers=asked) for name, asked in zip(YAHOO, workers, strict=True))


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    values = spec.parameters
    cluster = emulab(SHARED_MACHINES, core_mhz=values.number("clock_mhz"))
    return on_emulab(spec, cluster, *(plan(spec, made) for made in submitted(values)))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 13.

    Throughput is summed over a topology's output bolts. Page Load has one, Processing two, and no mean of the
    two comes near the printed number.
    """
    seeds, from_s = parameters.seeds, parameters.number("from_s")
    both = {
        f"{topology}/{label}": sums_of(tables, topology, scheduler, seeds, from_s)
        for topology in YAHOO
        for label, scheduler in (("default", DEFAULT), ("r-storm", RSTORM))
    }
    pl_default, pl_rstorm, pr_default, pr_rstorm = both.values()
    how = f"mean tuples per 10 s at all output bolts together from {from_s:g} s on"
    gained, orders = gains(pl_rstorm, pl_default), quotients(pr_rstorm, pr_default)
    per_s = per_seed(lambda rate: rate / 10.0, pr_default)
    gain, quotient = f"100 * (R-Storm / default - 1), {how}", f"R-Storm / default, {how}"
    return (
        measurement("rstorm-fig13-pl-rstorm", pl_rstorm, how=how),
        measurement("rstorm-fig13-pl-default", pl_default, how=how),
        measurement("rstorm-fig13-pr-rstorm", pr_rstorm, how=how),
        measurement("rstorm-fig13-pl-gain", gained, how=gain),
        measurement("rstorm-fig13-pr-default", per_s, how=f"a tenth of the {how}"),
        measurement("rstorm-fig13-pr-orders", orders, how=quotient),
        measurement("rstorm-fig13-both-higher", both, how=how),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="R-Storm",
    title="Page Load and Processing share a cluster",
    figure="Figure 13",
    parameters=PARAMETERS,
    notebook="rstorm/multi_topology.ipynb",
    metrics=("component_throughput_10s", "stays"),
    runs=runs,
    measure=with_trials(measure, TRIED, (RSTORM,)),
    chosen=TRIED,
)
