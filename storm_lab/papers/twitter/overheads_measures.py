"""Measures at 300 thousand messages per second, for the claims of section 3.3.2.

A setting keeps up if two conditions hold in its last minute. At least 99 % of the arriving messages are
finished: acked if there is acking, otherwise executed by the last component. And no more than twelve cores of
a machine are busy, at which the paper considers a machine full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Samples, Tables, by_label, measurement, of_run, per_seed
from storm_lab.papers.twitter.testbed import CORES

ACKS_OFF = "storm-no-acks"
ACKS_ON = "storm-acks"
ORIGINAL = "original"
TRIED = {ACKS_OFF: "machines_off", ACKS_ON: "machines_on", ORIGINAL: "machines_original"}
"""By program, the parameter with the numbers of machines on which it is tried."""

SETTLED_S = 180.0
"""Readings begin here: code is warm, and the backlog from the start of the workers is processed."""
MINUTE_S = 60.0
"""The last minute of a run is read."""
KEEPS_UP = 0.99
PHYSICAL_PERCENT = 100.0 * CORES
"""CPU of a machine as the paper counts it: twelve cores."""

_HOW_KEEPS_UP = (
    "fewest machines on which 99 % of the messages are finished in the last minute, with no more than twelve "
    "busy cores per machine; one machine fewer was tried, too"
)

_READ = ("thousand/s", "CPU % a machine")


def on_machines(program: str, count: int) -> str:
    """Variant of the runs of a program on ``count`` machines."""
    return f"{program}-{count}m"


def done_per_s(tables: Tables, parameters: Parameters, program: str, variant: str, seed: int) -> float:
    """Messages finished per second in the last minute."""
    k = parameters.integer("bundle")
    if program == ACKS_ON:
        rows = of_run(tables.throughput_60s, variant, seed)
        return float(rows.loc[rows["t_s"] >= SETTLED_S, "acked_per_s"].mean()) * k
    rows = of_run(tables.component_throughput_60s, variant, seed)
    last, column = ("second", "executed_per_s") if program == ORIGINAL else ("spout", "emitted_per_s")
    rows = rows[(rows["component"] == last) & (rows["t_s"] >= SETTLED_S)]
    return float(rows[column].mean()) * k if len(rows) else 0.0


def cpu_percent(tables: Tables, variant: str, seed: int) -> float | None:
    """CPU of a machine in the last minute (100 % is a core), averaged over the machines in use.

    None for a run that was not played.
    """
    rows = of_run(tables.node_cpu_60s, variant, seed)
    used = rows.loc[rows["t_s"] >= SETTLED_S, "cores_used"]
    return 100.0 * float(used.mean()) if len(used) else None


def machines_needed(
    tables: Tables, parameters: Parameters, program: str, tried: Sequence[int], seed: int
) -> int | None:
    """Smallest number of machines tried that keeps up.

    None if none does, or if one machine fewer was not tried: it may keep up, too.
    """
    wanted = KEEPS_UP * parameters.number("messages_per_s")
    for count in sorted(set(tried)):
        variant = on_machines(program, count)
        if done_per_s(tables, parameters, program, variant, seed) < wanted:
            continue
        used = cpu_percent(tables, variant, seed)
        if used is not None and used <= PHYSICAL_PERCENT:
            return count if count - 1 in (0, *tried) else None
    return None


def by_machines(tables: Tables, parameters: Parameters) -> pd.DataFrame:
    """Every run in its last minute.

    Columns: program, machines, seed, thousand/s (messages finished), CPU % a machine (100 is a core).
    """
    rows = []
    for program, name in TRIED.items():
        for count in sorted(set(parameters.integers(name))):
            variant = on_machines(program, count)
            for seed in dict.fromkeys(parameters.seeds):
                rate = done_per_s(tables, parameters, program, variant, seed) / 1000
                rows.append((program, count, seed, rate, cpu_percent(tables, variant, seed)))
    return pd.DataFrame(rows, columns=["program", "machines", "seed", *_READ])


def spread_over_seeds(found: pd.DataFrame) -> str:
    """Mean, minimum and maximum of `by_machines` over the seeds, as a text table."""
    groups = found.groupby(["program", "machines"], sort=False)[list(_READ)]
    return groups.agg(["mean", "min", "max"]).round(0).to_string()


def java_percent(parameters: Parameters) -> float:
    """CPU of the plain loop (100 % is a core), which consists of its reads only."""
    return parameters.number("messages_per_s") * parameters.number("read_us") / 1e6 * 100


def _needed(tables: Tables, parameters: Parameters, program: str) -> list[int | None]:
    tried = parameters.integers(TRIED[program])
    return [machines_needed(tables, parameters, program, tried, seed) for seed in parameters.seeds]


def measure_original(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claim about the original topology, from its runs alone."""
    needed = _needed(tables, parameters, ORIGINAL)
    return (measurement("twitter-ovh-orig-10", needed, unit="machines", how=_HOW_KEEPS_UP),)


def measured(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of section 3.3.2."""
    seeds = parameters.seeds
    java = java_percent(parameters)

    def total_cpu(program: str, counts: Sequence[int | None]) -> Samples:
        """CPU of all machines, in % of a core, on the smallest number that keeps up."""
        of_one = per_seed(
            lambda count, seed: cpu_percent(tables, on_machines(program, count), seed), counts, seeds
        )
        return per_seed(lambda count, used: count * used, counts, of_one)

    off: Samples = [cpu_percent(tables, on_machines(ACKS_OFF, 1), seed) for seed in seeds]
    needed_on = _needed(tables, parameters, ACKS_ON)
    cost = per_seed(
        lambda plain, acked: (acked - plain) / plain,
        total_cpu(ACKS_OFF, _needed(tables, parameters, ACKS_OFF)),
        total_cpu(ACKS_ON, needed_on),
    )
    last = "CPU of a machine in the last minute"
    needed_by_java = [float(math.ceil(java / PHYSICAL_PERCENT))]
    rounded = "CPU of the reads over twelve cores, rounded up"
    product = "messages times the CPU of a read, which is this number over the messages"
    both: dict[str, Samples] = {"storm-no-acks": off, "plain-java": [java]}
    one_machine = f"{last}, one machine"
    acked = [cpu_percent(tables, on_machines(ACKS_ON, 3), seed) for seed in seeds]
    added = "CPU of all machines on the fewest that keep up, less that without acking, over the latter"
    return (
        *measure_original(tables, parameters),
        measurement("twitter-ovh-java-machines", needed_by_java, unit="machines", how=rounded),
        measurement("twitter-ovh-java-cpu", [java], unit="% of a core", how=product),
        measurement("twitter-ovh-storm-noack-cpu", off, unit="% of a core", how=one_machine),
        by_label("twitter-ovh-noack-le-java", both, unit="% of a core", how=one_machine),
        measurement("twitter-ovh-ack-machines", needed_on, unit="machines", how=_HOW_KEEPS_UP),
        measurement("twitter-ovh-ack-cpu", acked, unit="% of a core", how=f"{last}, three machines"),
        measurement("twitter-ovh-ack-3x", cost, unit="ratio", how=added),
    )
