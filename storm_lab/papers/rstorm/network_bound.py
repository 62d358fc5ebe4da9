"""R-Storm's network-bound micro-benchmarks (figure 8): topologies that compute next to nothing.

The paper says that the network limits them, but prints neither tuple sizes nor rates. As in the authors'
public code, spouts emit a word of five bytes without pause and without acking; on these machines CPU limits
such a flood under any scheduler. Distance can only slow down a topology that waits for its tuples, so limited
windows of root tuples in flight are played, too; the smallest is the purest network-bound case.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec, Settling
from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables
from storm_lab.experiments.trial import TRIALS, Trial, runs_of
from storm_lab.papers.rstorm import recorded_setup
from storm_lab.papers.rstorm.emulab_runs import DEFAULT, SCHEDULERS, on_emulab, topology_plan
from storm_lab.papers.rstorm.layouts import MICRO, layout
from storm_lab.papers.rstorm.recording import Layout
from storm_lab.papers.rstorm.testbed import CLOCK, MACHINES, SEEDS, VERSION, WORKERS, emulab
from storm_lab.papers.rstorm.usercode import WORD

SLUG = "rstorm-network-bound"

PARAMETERS: tuple[Parameter, ...] = (
    SEEDS,
    Parameter(
        "duration_s", 80.0, "virtual length of a run; the paper's took 15 minutes", within=(30, 900, "s")
    ),
    Parameter("from_s", 60.0, "time from which throughput is averaged", within=(10, 800, "s")),
    CLOCK,
    Parameter(
        "window",
        0,
        "root tuples in flight per spout task (topology.max.spout.pending); not printed. 0: no limit and no "
        "acking, as in the authors' public code",
        within=(0, 1000),
    ),
    Parameter(
        "ackers",
        MACHINES,
        "ackers of runs with a window; Storm's default is one for each requested worker",
        within=(1, 24),
    ),
    Parameter(
        "tuple_bytes",
        5,
        "characters of the emitted word; not printed, 5 in the authors' code",
        within=(5, 1024, "B"),
    ),
    WORKERS,
    TRIALS,
)

TRIED: tuple[Trial, ...] = (
    Trial("window1", "window of 1", {"window": 1}),
    Trial("window4", "window of 4", {"window": 4}),
    Trial("ackers1", "window of 1, one acker", {"window": 1, "ackers": 1}),
    Trial("kilobyte", "tuples of 1 KB", {"tuple_bytes": 1024}),
    Trial("fast", "hosts of 3000 MHz", {"clock_mhz": 3000.0}),
    Trial("workers1", "default has one worker", {"workers": 1}, only=DEFAULT),
    Trial("six", "six machines", {"machines": 6}),
)
"""Trials. Six machines are those of the recordings; the paper has twelve."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Each topology under each scheduler, here and in the recorded set-up; the trials with the first seed."""
    shared = parameters.without("seeds", "trials").changed(machines=MACHINES)
    settings = {f"{t}-{s}": {"topology": t, "scheduler": s} for t in MICRO for s in SCHEDULERS}
    make = partial(RunSpec, SLUG, describe=describe, storm_version=VERSION, sample_every=5000)
    return runs_of(make, settings, parameters, shared, TRIED) + recorded_setup.runs(SLUG, MICRO, parameters)


def windowed(parameters: Parameters) -> Layout:
    """The layout of a run, with its window and ackers if it has a window."""
    made = layout(parameters.text("topology"), workers=parameters.integer("workers"))
    window = parameters.integer("window")
    if window == 0:
        return made
    ackers = parameters.integer("ackers")
    return replace(made, topology=replace(made.topology, ackers=ackers, max_spout_pending=window))


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    made = windowed(spec.parameters)
    word = (WORD * 205)[: spec.parameters.integer("tuple_bytes")]
    plan = topology_plan(
        made.topology, made.definitions, (), word=word, timed=spec.parameters.integer("window") > 0
    )
    cluster = emulab(spec.parameters.integer("machines"), core_mhz=spec.parameters.number("clock_mhz"))
    return on_emulab(spec, cluster, plan)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the gains of the three panels and their range, here and in the recorded set-up."""
    claims = {t: f"rstorm-fig8{panel}-{t}" for panel, t in zip("abc", MICRO, strict=True)}
    found = recorded_setup.measure_gains(tables, parameters, claims)
    here, recorded = (
        Measurement(
            "rstorm-headline-thr",
            tuple(replace(each.values[0], label=t) for t, each in zip(MICRO, panels, strict=True)),
            unit="%",
            how=panels[0].how,
        )
        for panels in (found[::2], found[1::2])
    )
    return (*found, here, replace(recorded, reading=recorded_setup.READING, basis=Basis.FITTED))


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="R-Storm",
    title="Network-bound micro-benchmarks: linear, diamond and star",
    figure="Figure 8",
    parameters=PARAMETERS,
    notebook="rstorm/network_bound.ipynb",
    metrics=("component_throughput_10s", "steady_traffic_share", "steady_cpu", "steady"),
    runs=runs,
    measure=measure,
    settling=(
        Settling(("rstorm-fig8a-linear",), ("linear-*-recorded",), 10, recorded_setup.READING),
        Settling(("rstorm-headline-thr",), ("*-recorded",), 20, recorded_setup.READING),
    ),
)
