"""Exact scaling: which metrics stay the same when k tuples are played as one, and where this ends.

There are two kinds of runs of the topology that counts client events. *Windows*: the log fills, and the first
``window_s`` real seconds at full load are played with bundles of k, that is for k times as long. k = 1 is the
full scale, tuple by tuple. Code is compiled from the start. *Removals*: three of sixteen machines fail while
bundles of k flow. Here tuples are slowed down but the control plane is not.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Describe, Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters, number_text, seed_parameter
from storm_lab.experiments.readings import Tables, of_run
from storm_lab.papers.twitter import event_counting
from storm_lab.papers.twitter.testbed import MACHINES, VERSION, machine_failures

SLUG = "twitter-scaling"

AT_S = 300.0
"""Removals: time at which machines fail; by then, tuples lost at the start have been replayed."""
REMOVAL_S = 660.0
PARAMETERS: tuple[Parameter, ...] = (
    seed_parameter(
        "one emulation of every window per seed; the full scale and removals use the first seed only"
    ),
    Parameter("bundles", (30, 300), "sizes of the bundles in windows", within=(2, 1000)),
    Parameter("full_scale", True, "also play the window tuple by tuple; a second of it takes about five"),
    Parameter("window_s", 1.5, "real length of a window", within=(0.5, 60, "s")),
    Parameter("removal_bundles", (100, 300, 900), "sizes of the bundles in removals", within=(20, 1000)),
    Parameter(
        "timeouts_s",
        (30.0, 120.0),
        "message timeouts to try in removals; the shorter one with the middle bundle only",
        within=(30, 600, "s"),
    ),
    *(parameter for parameter in event_counting.TOPOLOGY_PARAMETERS if parameter.name != "message_timeout_s"),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Windows and removals."""
    shared = parameters.only(name for name in event_counting.TOPOLOGY_NAMES if name in parameters)
    seeds, first = parameters.seeds, parameters.seeds[:1]
    timeouts = tuple(sorted(set(parameters.numbers("timeouts_s"))))
    windows = shared.changed(window_s=parameters.number("window_s"), message_timeout_s=timeouts[-1])
    sizes = [
        (size, delays, seeds if delays else first)
        for size in dict.fromkeys(parameters.integers("bundles"))
        for delays in (True, False)
    ]
    if parameters.flag("full_scale"):
        sizes.append((1, True, first))
    settings: list[tuple[str, Parameters, Describe, tuple[int, ...]]] = [
        (window_variant(size, delays), windows.changed(bundle=size, delays=delays), describe_window, played)
        for size, delays, played in sizes
    ]
    removals = sorted(set(parameters.integers("removal_bundles")))
    for size in removals:
        for timeout in timeouts:
            if timeout == timeouts[-1] or size == removals[len(removals) // 2]:
                values = shared.changed(bundle=size, message_timeout_s=timeout)
                settings.append((removal_variant(size, timeout), values, describe_removal, first))
    return tuple(
        RunSpec(SLUG, variant, seed, values, describe, VERSION, sample_every=1000)
        for variant, values, describe, played in settings
        for seed in played
    )


def describe_window(spec: RunSpec) -> EmulationSpec:
    """Describe one window on sixteen machines with compiled code, as warm-up does not scale with k."""
    k, window_s = spec.parameters.integer("bundle"), spec.parameters.number("window_s")
    described = event_counting.counting(
        spec,
        event_counting.load_ramp(),
        duration_s=event_counting.FULL_FROM_S + k * window_s,
        warm_up_s=event_counting.FULL_FROM_S + k * window_s / 3,
        # CPU of the window is kept separate from that of the start.
        window_s=event_counting.FULL_FROM_S,
        ramped=True,
    )
    return replace(described, cost=replace(described.cost, warm_up_factor=1.0))


def describe_removal(spec: RunSpec) -> EmulationSpec:
    """Describe one removal: sixteen machines, then thirteen."""
    failures = machine_failures(AT_S, *MACHINES[:2])
    return event_counting.counting(spec, failures, duration_s=REMOVAL_S, warm_up_s=AT_S)


def window_variant(bundle: int, delays: bool) -> str:
    """Variant of the windows with bundles of this size; ``delays`` as in the emulator's `Bundle`."""
    return f"window-k{bundle}" + ("" if delays else "-costs-only")


def removal_variant(bundle: int, timeout_s: float) -> str:
    """Variant of the removals with bundles of this size and this message timeout."""
    return f"removal-k{bundle}-t{number_text(timeout_s)}"


def window_row(tables: Tables, variant: str, seed: int, bundle: int, window_s: float) -> dict[str, float]:
    """Metrics of the last two thirds of a window in units of tuples; ``in_flight`` by Little's law."""
    start = event_counting.FULL_FROM_S + bundle * window_s / 3
    end = event_counting.FULL_FROM_S + bundle * window_s
    latency = of_run(tables.steady_latency, variant, seed).iloc[0]
    tuples = float(latency["tuples"]) * bundle
    per_s = tuples / (end - start)
    used = of_run(tables.node_cpu_60s, variant, seed)
    cores = float(used[used["t_s"] >= event_counting.FULL_FROM_S].groupby("t_s")["cores_used"].sum().mean())
    return {
        "million_a_min": per_s * 60 / 1e6,
        "mean_ms": float(latency["complete_mean_ms"]) / bundle,
        "p50_ms": float(latency["complete_p50_ms"]) / bundle,
        "p99_ms": float(latency["complete_p99_ms"]) / bundle,
        "in_flight": per_s * float(latency["complete_mean_ms"]) / bundle / 1e3,
        "cpu_ms_a_tuple": cores / per_s * 1e3,
        "failed": float(of_run(tables.failures_60s, variant, seed)["failed"].sum()),
    }


def removal_series(tables: Tables, variant: str, seed: int, bundle: int) -> pd.DataFrame:
    """A removal in bins of 10 s: ``throughput`` (million tuples per minute) and ``latency`` (ms)."""
    rates, means = (of_run(table, variant, seed) for table in (tables.throughput_10s, tables.latency_10s))
    return event_counting.series(rates, means, bundle)


def outage_s(removal: pd.DataFrame) -> float:
    """Seconds from the removal until throughput stays above 90 % of the mean of the last two minutes."""
    level = float(removal["throughput"].iloc[-12:].mean())
    after = removal[removal.index >= AT_S]["throughput"]
    low = after[after < 0.9 * level]
    return float(low.index[-1]) + 10.0 - AT_S if len(low) else 0.0


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="Storm@Twitter",
    title="Bundles of tuples: what is invariant, and where that ends",
    figure="none: the full scale of section 3.4",
    parameters=PARAMETERS,
    notebook="twitter/scaling.ipynb",
    metrics=("latency_10s", "steady_latency", "throughput_10s", "failures_60s", "node_cpu_60s"),
    runs=runs,
)
"""Answers no claims; shows how far the runs of machine removal can be trusted."""
