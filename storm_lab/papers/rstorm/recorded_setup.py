"""The set-up of the author's recordings, played as another reading of figures 8 and 12.

The paper's text has twelve hosts. The recordings behind it have six hosts, twelve workers under default,
spouts that flood without acks, debug logs, and other numbers of executors. Their gains give the printed
percentages when they are divided by R-Storm's own throughput. Placements are the recorded ones. Star and
Processing were not recorded, so the schedulers place them, and nothing was calibrated on them.
"""

from __future__ import annotations

from collections.abc import Sequence

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.measurement import Basis
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Samples, Tables
from storm_lab.papers.rstorm.emulab_runs import DEFAULT, RSTORM, SCHEDULERS, on_emulab, scheduler_of
from storm_lab.papers.rstorm.recording import PACKAGED, load_recordings
from storm_lab.papers.rstorm.sinks import gains_relative_to_new, rates_of
from storm_lab.papers.rstorm.streaming import topology_plan
from storm_lab.papers.rstorm.testbed import VERSION, recorded_hosts
from storm_lab.papers.rstorm.usercode import CHARACTER_US, Effort, lines_of

READING = "the recorded set-up (six hosts, twelve workers, a flood), gain divided by R-Storm's throughput"
TAG = "-recorded"
"""Suffix of the variants of this reading."""

_RECORDED_AS = {DEFAULT: "even", RSTORM: "rstorm"}


def recorded_variant(topology: str, scheduler: str) -> str:
    """Variant of a topology's run under a scheduler in this set-up."""
    return f"{topology}-{scheduler}{TAG}"


def runs(slug: str, topologies: Sequence[str], parameters: Parameters) -> tuple[RunSpec, ...]:
    """Each topology under each scheduler with every seed, with the experiment's length and clock.

    Raises:
        UserError: the recordings cannot be read.
    """
    shared = parameters.only(
        name for name in ("duration_s", "from_s", "clock_mhz", "character_us") if name in parameters
    )
    inputs, files = {"recordings": load_recordings().digest}, {"recordings": PACKAGED}
    return tuple(
        RunSpec(
            experiment=slug,
            variant=recorded_variant(topology, scheduler),
            seed=seed,
            parameters=shared.changed(topology=topology, scheduler=scheduler),
            describe=describe,
            storm_version=VERSION,
            inputs=inputs,
            files=files,
            sample_every=5000,
        )
        for topology in topologies
        for scheduler in SCHEDULERS
        for seed in parameters.seeds
    )


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    values, recordings = spec.parameters, load_recordings(spec.files["recordings"])
    recorded = recordings.topology(values.text("topology"))
    character_us = values.number("character_us") if "character_us" in values else CHARACTER_US
    plan = topology_plan(
        recorded.topology,
        recorded.definitions,
        lines_of(recordings.line_lengths),
        effort=Effort(character_us),
    )
    scheduler = values.text("scheduler")
    made = recorded.runs.get(_RECORDED_AS[scheduler])
    return on_emulab(
        spec,
        recorded_hosts(values.number("clock_mhz")),
        (plan,),
        scheduler_of(scheduler),
        placement=None if made is None else made.placement,
    )


def gains(tables: Tables, topology: str, seeds: Sequence[int], from_s: float) -> tuple[Samples, Basis]:
    """Gains in percent of R-Storm's own throughput, and their basis: fitted if the topology was recorded."""
    new, old = (
        rates_of(tables, topology, recorded_variant(topology, scheduler), seeds, from_s)
        for scheduler in (RSTORM, DEFAULT)
    )
    recorded = load_recordings().topology(topology).runs
    return gains_relative_to_new(new, old), Basis.FITTED if recorded else Basis.PREDICTED
