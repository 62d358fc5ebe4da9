"""Yahoo's two production topologies under R-Storm and default, each alone on twelve machines (figure 12).

Neither the bolts' code nor the advertising data was published. As in the authors' public code, bolts shorten,
filter, pass on and lengthen lines that spouts emit without pause, so what a filter drops and how long a line
remains determine the load behind it. That code repeats eight log lines; those here are new but as long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Describe, Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables
from storm_lab.experiments.trial import TRIALS, Trial, runs_of
from storm_lab.papers.rstorm import recorded_setup
from storm_lab.papers.rstorm.emulab_runs import DEFAULT, SCHEDULERS, on_emulab, topology_plan
from storm_lab.papers.rstorm.layouts import YAHOO, layout
from storm_lab.papers.rstorm.recording import Layout
from storm_lab.papers.rstorm.testbed import CHARACTER, CLOCK, MACHINES, SEEDS, VERSION, WORKERS, emulab
from storm_lab.papers.rstorm.usercode import Effort
from storm_lab.workloads.text import Text, read_text

SLUG = "rstorm-yahoo"

EVENTS = "events"

_LINES = (
    "GET /finance/quotes 200 1843",
    "2014-12-02T08:15:07 page=/sport/tables ad=40817 slot=top user=9f3c view=1",
    "2014-12-02T08:15:09 page=/news/world/story-18442 ref=/news ad=51290 "
    "slot=side user=1b77e0 campaign=winter click=1 ms=1840",
    "ad=40817 slot=top impression=1",
    "logout",
    "beacon user=9f3c71 dwell=112.4s",
    "view /mail",
    "click ad=51290 cost=0.4",
)

STREAMING: tuple[Parameter, ...] = (
    SEEDS,
    Parameter(
        "duration_s", 100.0, "virtual length of a run; the paper's took 15 minutes", within=(30, 900, "s")
    ),
    Parameter("from_s", 80.0, "time from which throughput is averaged", within=(10, 800, "s")),
    CLOCK,
    Parameter(
        "lines",
        EVENTS,
        "what the spouts emit: eight event lines as long as those of the authors' code, or the path of a "
        "text file, such as an access log",
        choices=(EVENTS,),
        is_file=True,
    ),
    Parameter(
        "lines_per_s",
        0.0,
        "most lines per second for each spout executor; 0: a spout never runs empty. Not printed; 1000 to "
        "10000 would give the printed throughput",
        within=(0, 10000, "1/s"),
    ),
    CHARACTER,
)
"""Parameters of Yahoo's topologies, alone or together."""
PARAMETERS: tuple[Parameter, ...] = (*STREAMING, WORKERS, TRIALS)

TRIED: tuple[Trial, ...] = (
    Trial("paced2000", "2000 lines/s per spout", {"lines_per_s": 2000.0}),
    Trial("walk", "0.7 us a character", {"character_us": 0.7}),
    Trial("heavy", "2 us a character", {"character_us": 2.0}),
    Trial("fast", "hosts of 2000 MHz", {"clock_mhz": 2000.0}),
    Trial("six", "six machines, two workers each", {"machines": 6}),
    Trial("workers1", "default has one worker", {"workers": 1}, only=DEFAULT),
)
"""Trials. Six machines are those of the recordings; the paper has twelve."""


def event_lines(choice: str) -> Text:
    """The lines of ``events`` or of a text file, without blank ones; `UserError` if unreadable or empty."""
    if choice == EVENTS:
        return Text(EVENTS, _LINES)
    text = read_text(Path(choice), name=choice, field="lines")
    return Text(text.name, tuple(line for line in text.lines if line.strip()))


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Each topology and scheduler, here and as recorded, and trials; `UserError`: unreadable lines."""
    shared = parameters.without("seeds", "trials", "lines").changed(machines=MACHINES)
    settings = {f"{t}-{s}": {"topology": t, "scheduler": s} for t in YAHOO for s in SCHEDULERS}
    make = over_lines(SLUG, describe, parameters)
    return runs_of(make, settings, parameters, shared, TRIED) + recorded_setup.runs(SLUG, YAHOO, parameters)


def over_lines(slug: str, describe: Describe, parameters: Parameters) -> Callable[..., RunSpec]:
    """What makes a run over the parameter ``lines``; `UserError` if they cannot be read."""
    files = {"lines": parameters.text("lines")}
    inputs = {"lines": event_lines(files["lines"]).digest}
    # Nothing is acked, and counters yield the throughput, so a few logged executions are enough.
    make = partial(RunSpec, slug, describe=describe, storm_version=VERSION, sample_every=5000)
    return partial(make, inputs=inputs, files=files)


def plan(spec: RunSpec, made: Layout) -> TopologyPlan:
    """Topology, trace and sources of a run over lines."""
    return topology_plan(
        made.topology,
        made.definitions,
        event_lines(spec.files["lines"]).lines,
        effort=Effort(character_us=spec.parameters.number("character_us")),
        lines_per_s=spec.parameters.number("lines_per_s"),
    )


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    values = spec.parameters
    made = layout(values.text("topology"), workers=values.integer("workers"))
    cluster = emulab(values.integer("machines"), core_mhz=values.number("clock_mhz"))
    return on_emulab(spec, cluster, plan(spec, made))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the gains of the two panels, here and in the recorded set-up."""
    claims = dict(zip(YAHOO, ("rstorm-fig12a-pageload", "rstorm-fig12b-processing"), strict=True))
    return tuple(recorded_setup.measure_gains(tables, parameters, claims))


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="R-Storm",
    title="Yahoo's topologies: Page Load and Processing",
    figure="Figure 12",
    parameters=PARAMETERS,
    notebook="rstorm/yahoo.ipynb",
    metrics=("component_throughput_10s", "steady_cpu", "steady"),
    runs=runs,
    measure=measure,
)
