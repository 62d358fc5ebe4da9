"""What the CPU-bound runs say about the claims of R-Storm's figures 9 and 10.

Two things are open and both are measured: how many workers default had (twelve or one), and whether mean CPU
use runs over the machines in use or over all twelve. Verdicts take, for every claim of a topology, the worker
count of the authors' code: twelve, and one for the star, whose file asks for none. Only the claim that
default spreads each topology over all machines is about twelve workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from storm_lab.experiments.measurement import Basis, Measured, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measured, measurement, of_run, value_of
from storm_lab.papers.rstorm.layouts import ASKED_WORKERS, MICRO, layout
from storm_lab.papers.rstorm.sinks import UNIT, gains, rates_of
from storm_lab.papers.rstorm.testbed import MACHINES

CLAIMS = (
    "rstorm-fig9a-thr",
    "rstorm-fig10-linear-cpu",
    "rstorm-fig9b-thr",
    "rstorm-fig10-diamond-cpu",
    "rstorm-fig9c-thr",
    "rstorm-fig10-star-cpu",
    "rstorm-star-bottleneck",
    "rstorm-default-all-nodes",
    "rstorm-headline-cpu",
    "rstorm-parallelism-ceiling",
)
"""The other four, machines used and memory, follow from the scheduler alone: experiment ``algorithms``."""
METRICS = ("component_throughput_10s", "stays", "node_cpu_60s", "steady_cpu", "steady_elapsed")
"""The metric tables that the notebook and `measure` read."""

WORKER_READINGS = (MACHINES, 1)
"""Workers that the topologies may have asked the default scheduler for."""
SATURATED_PERCENT = 95.0
"""CPU use of a machine that counts as overloaded; the paper gives no number."""

IN_USE = "utilisation_used_nodes"
ALL = "utilisation_all_nodes"

PRINTED_CPU = {"linear": 69.0, "diamond": 91.0, "star": 350.0}
"""Changes of CPU use that figure 10 and section 6.3.2 print, in percent."""


class CpuTables(Protocol):
    """The metric tables that are needed here."""

    @property
    def component_throughput_10s(self) -> pd.DataFrame: ...
    @property
    def steady_cpu(self) -> pd.DataFrame: ...
    @property
    def steady_elapsed(self) -> pd.DataFrame: ...
    @property
    def node_cpu_60s(self) -> pd.DataFrame: ...
    @property
    def stays(self) -> pd.DataFrame: ...


def default_setting(topology: str, workers: int | None = None) -> str:
    """Name of a topology's run under default; by default with the workers that the authors' code asks for."""
    return f"{topology}-default-w{ASKED_WORKERS[topology] if workers is None else workers}"


def rstorm_setting(topology: str) -> str:
    """Name of a topology's run under R-Storm."""
    return f"{topology}-rstorm"


def measure(tables: CpuTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of figures 9 and 10 that need runs."""
    seeds, from_s = tuple(dict.fromkeys(parameters.integers("seeds"))), parameters.number("from_s")
    window = f"from {from_s:g} s on"
    throughput = {t: throughput_change(tables, t, seeds, from_s) for t in MICRO}
    cpu = {t: cpu_change(tables, t, seeds, ALL if t == "star" else IN_USE) for t in MICRO}
    how_cpu = f"100 * (R-Storm / default - 1), mean CPU use {window}; "
    in_use, of_all = "machines in use, default with 12 workers", "all 12 machines, default with 1 worker"
    found = [
        measurement(
            f"rstorm-fig9{panel}-thr",
            throughput[topology],
            unit="%",
            how=f"100 * (R-Storm / default - 1), mean tuples per 10 s at the output bolts {window}",
        )
        for panel, topology in (("a", "linear"), ("b", "diamond"))
    ]
    found += [
        measurement(
            f"rstorm-fig10-{t}-cpu", cpu[t], unit="%", how=how_cpu + (of_all if t == "star" else in_use)
        )
        for t in MICRO
    ]
    found += [
        Measurement(
            "rstorm-fig9c-thr",
            (
                measured(rates_of(tables, "star", default_setting("star"), seeds, from_s), label="default"),
                measured(rates_of(tables, "star", rstorm_setting("star"), seeds, from_s), label="r-storm"),
            ),
            UNIT,
            f"mean tuples per 10 s at the output bolts {window}; default with 1 worker",
        ),
        _bottleneck(tables, seeds, from_s),
        Measurement(
            "rstorm-default-all-nodes",
            tuple(measured(machines(tables, default_setting(t, MACHINES), seeds), label=t) for t in MICRO),
            "machines",
            "machines with an executor, default with 12 workers",
            Basis.ARITHMETIC,
        ),
        Measurement(
            "rstorm-headline-cpu",
            tuple(measured(cpu[t], label=t) for t in MICRO),
            "%",
            f"{how_cpu}linear and diamond: {in_use}; star: {of_all}",
        ),
        _ceiling(tables, throughput, seeds, window),
    ]
    return tuple(found)


def throughput_change(
    tables: CpuTables, topology: str, seeds: Sequence[int], from_s: float, workers: int | None = None
) -> list[float | None]:
    """Gain of R-Storm at the sinks, in percent of default's."""
    return gains(
        rates_of(tables, topology, rstorm_setting(topology), seeds, from_s),
        rates_of(tables, topology, default_setting(topology, workers), seeds, from_s),
    )


def cpu_change(
    tables: CpuTables, topology: str, seeds: Sequence[int], column: str, workers: int | None = None
) -> list[float | None]:
    """Change of mean CPU use from default to R-Storm, in percent; ``column`` is `IN_USE` or `ALL`."""
    return gains(
        value_of(tables.steady_cpu, column, rstorm_setting(topology), seeds),
        value_of(tables.steady_cpu, column, default_setting(topology, workers), seeds),
    )


def machines(tables: CpuTables, setting: str, seeds: Sequence[int]) -> list[float | None]:
    """Machines with an executor, seed by seed."""
    used: list[float | None] = []
    for seed in seeds:
        rows = of_run(tables.stays, setting, seed)
        used.append(float(rows["node"].nunique()) if len(rows) else None)
    return used


def latency(tables: CpuTables, topology: str, setting: str, seeds: Sequence[int]) -> list[float | None]:
    """Mean time from a root tuple's emit to the end of its execution at a sink, in ms."""
    rows = tables.steady_elapsed
    rows = rows[(rows["topology"] == topology) & rows["component"].isin(layout(topology).sinks)]
    means: list[float | None] = []
    for seed in seeds:
        own = of_run(rows, setting, seed)
        tuples = int(own["tuples"].sum())
        means.append(float((own["end_mean_ms"] * own["tuples"]).sum()) / tuples if tuples else None)
    return means


def machine_use(tables: CpuTables, setting: str, seed: int, from_s: float) -> pd.Series[float]:
    """CPU use of every machine in percent, mean of the whole minutes from ``from_s`` on."""
    rows = of_run(tables.node_cpu_60s, setting, seed)
    return 100.0 * rows[rows["t_s"] >= from_s].groupby("node")["utilisation"].mean()


def _bottleneck(tables: CpuTables, seeds: Sequence[int], from_s: float) -> Measurement:
    setting = default_setting("star")
    use = [machine_use(tables, setting, seed, from_s) for seed in seeds]
    played = [one for one in use if len(one)]
    return Measurement(
        "rstorm-star-bottleneck",
        (
            measured([float(one.max()) for one in played], label="busiest"),
            measured([float((one >= SATURATED_PERCENT).sum()) for one in played], label="saturated"),
        ),
        "mixed",
        f"CPU use of machines in minutes from {from_s:g} s on, default with 1 worker; "
        f"saturated: {SATURATED_PERCENT:g} % or more",
    )


def _ceiling(
    tables: CpuTables, throughput: dict[str, list[float | None]], seeds: Sequence[int], window: str
) -> Measurement:
    """Of linear and diamond, the one that speaks more against the claim."""
    gains_of_all = [
        measured([None if v is None else 100.0 * (1.0 / (1.0 + v / 100.0) - 1.0) for v in throughput[t]])
        for t in ("linear", "diamond")
    ]
    quotients = [
        measured(
            [
                None if a is None or not b else a / b
                for a, b in zip(
                    latency(tables, t, default_setting(t), seeds),
                    latency(tables, t, rstorm_setting(t), seeds),
                    strict=True,
                )
            ]
        )
        for t in ("linear", "diamond")
    ]
    furthest = max(gains_of_all, key=lambda m: float("inf") if m.value is None else abs(m.value))
    least = min(quotients, key=lambda m: float("-inf") if m.value is None else m.value)
    return Measurement(
        "rstorm-parallelism-ceiling",
        (_labelled(furthest, "throughput-change"), _labelled(least, "latency-quotient")),
        "mixed",
        f"default on 12 machines against R-Storm on 6 and 7 {window}: throughput at the output bolts in %, "
        "and time from a root tuple's emit to its execution there as a quotient; "
        "the worse of linear and diamond",
    )


def _labelled(value: Measured, label: str) -> Measured:
    return Measured(value.value, value.low, value.high, label)
