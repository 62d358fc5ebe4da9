"""The set-up of the author's recordings, played as another reading of figures 8 and 12.

The paper's text has twelve hosts. The recordings have six, twelve workers under default, spouts that flood
without acks, debug logs, and other numbers of executors; their gains, divided by R-Storm's own throughput,
give the printed percentages. Placements are the recorded ones. Star and Processing were not recorded: the
schedulers place them, and nothing was calibrated on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Tables, measurement
from storm_lab.experiments.trial import runs_of
from storm_lab.papers.rstorm.emulab_runs import DEFAULT, RSTORM, SCHEDULERS, on_emulab, topology_plan
from storm_lab.papers.rstorm.recording import PACKAGED, load_recordings
from storm_lab.papers.rstorm.sinks import gains, gains_relative_to_new, rates_of
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
    """Each topology under each scheduler with every seed; `UserError` if the recordings cannot be read."""
    shared = parameters.only({"duration_s", "from_s", "clock_mhz", "character_us"} & parameters.keys())
    settings = {
        recorded_variant(t, s): {"topology": t, "scheduler": s} for t in topologies for s in SCHEDULERS
    }
    inputs, files = {"recordings": load_recordings().digest}, {"recordings": PACKAGED}
    make = partial(RunSpec, slug, describe=describe, storm_version=VERSION, sample_every=5000)
    return runs_of(partial(make, inputs=inputs, files=files), settings, parameters, shared, ())


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    values, recordings = spec.parameters, load_recordings(spec.files["recordings"])
    recorded = recordings.topology(values.text("topology"))
    effort = Effort(values.number("character_us") if "character_us" in values else CHARACTER_US)
    lines = lines_of(recordings.line_lengths)
    plan = topology_plan(recorded.topology, recorded.definitions, lines, effort=effort)
    made = recorded.runs.get(_RECORDED_AS[values.text("scheduler")])
    described = on_emulab(spec, recorded_hosts(values.number("clock_mhz")), plan)
    return replace(described, placement=None if made is None else made.placement)


def measure_gains(tables: Tables, parameters: Parameters, claims: Mapping[str, str]) -> list[Measurement]:
    """Measure the claim on each topology's gain, in the paper's set-up and in the recorded one.

    A recorded topology's gain is fitted in the latter, because the calibration used the recorded runs.
    """
    seeds, from_s = parameters.seeds, parameters.number("from_s")
    window = f"mean tuples per 10 s at the output bolts from {from_s:g} s on"
    found: list[Measurement] = []
    for topology, claim in claims.items():
        new, old, recorded_new, recorded_old = (
            rates_of(tables, topology, f"{topology}-{scheduler}{tag}", seeds, from_s)
            for tag in ("", TAG)
            for scheduler in (RSTORM, DEFAULT)
        )
        how = f"100 * (R-Storm / default - 1), {window}"
        found.append(measurement(claim, gains(new, old), how=how))
        relative = gains_relative_to_new(recorded_new, recorded_old)
        other = measurement(claim, relative, how=f"100 * (1 - default / R-Storm), {window}")
        basis = Basis.FITTED if load_recordings().topology(topology).runs else Basis.PREDICTED
        found.append(replace(other, reading=READING, basis=basis))
    return found
