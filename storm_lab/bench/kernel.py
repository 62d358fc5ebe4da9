"""Measure the speed of the compiled kernel, for ``storm-lab bench kernel``.

The kernel is compared with SimPy and plain C, and with itself at several sizes. All engines play the same
model and count the same events (see ``_kernel_model``). They run alternately on one core each, warm. Times
are CPU times, and every speed is a median over the rounds. Before any ratio is formed, the engines must agree
on latency and utilisation; otherwise the comparison is void.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from storm_lab.bench import _kernel_c
from storm_lab.bench._kernel_model import EngineResult, Model, count_events, play_kernel, start
from storm_lab.bench._pace import measure_largest, measure_pace
from storm_lab.bench._program import output_of
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.errors import StormLabError, UserError
from storm_lab.machine.options import FiniteRange, answer, json_option

SIMPY_TARGET, C_TARGET, START_TARGET_S = 80.0, 0.7, 1.0
"""Targets of the kernel: speed relative to the SimPy program as documented, relative to C, and warm start."""
SCALE_TARGETS = {"many topologies": 3.0, "one topology": 2.0}
"""By how much events/s may fall with a thousandfold size. Many topologies share no row of the kernel's
arrays, so that hardly any row is still in a cache when it is used again.
"""

UNIT = Model(spouts=1, bolts=4, ackers=1, nodes=2, rate_per_s=1500.0, lines=1009)
"""Ten executors on two nodes; larger sizes consist of many of these side by side."""

SIZES, ONE_SIZES = (10, 100, 1000, 10_000), (20, 200, 2000)
"""Numbers of executors at which many topologies, or a single one, are measured."""

_WARM_NS = NS_PER_S // 2
_SCALE_EVENTS = 1_500_000
_SCALE_WARM_NS = 3 * NS_PER_S // 10
_SCALE_MIN_NS = _KINDS_NS = NS_PER_S // 5
_MEMORY_MARKS_S = (200.0, 400.0)
_MAX_STANDARD_ERRORS = 4.0


def compare_engines(model: Model, rounds: int, seconds: float) -> dict[str, object]:
    """Play the model alternately in kernel, C and SimPy; return speeds, ratios and common figures.

    Each turn plays ``seconds`` of virtual time in the kernel and in C, and a tenth of that in SimPy. Raises
    `StormLabError` if latency, utilisation or events per root differ by more than sampling explains, or SimPy
    is not installed.
    """
    try:
        from storm_lab.bench._kernel_simpy import play_simpy
    except ImportError as error:
        raise UserError("SimPy is not installed", remedy="pip install 'storm-lab[bench]'") from error
    until = _WARM_NS + round(seconds * NS_PER_S)
    simpy_until = _WARM_NS + round(seconds / 10 * NS_PER_S)
    turns: dict[str, list[EngineResult]] = {"kernel": [], "c": [], "simpy": []}
    reason = ""
    with tempfile.TemporaryDirectory(prefix="storm_lab-bench-") as home:
        try:
            program = _kernel_c.build(Path(home))
        except StormLabError as error:
            program, reason = None, str(error)
        play_kernel(model, _WARM_NS, 2 * _WARM_NS)
        for turn in range(rounds):
            turns["kernel"].append(play_kernel(model, _WARM_NS, until))
            if program is not None:
                turns["c"].append(_kernel_c.play_c(program, model, _WARM_NS, until))
            turns["simpy"].append(play_simpy(model, _WARM_NS, simpy_until, seed=turn))
    engines = {name: played for name, played in turns.items() if played}
    for name in engines:
        require_agreement("kernel", engines["kernel"], name, engines[name])
    speed = {name: statistics.median(p.events_per_s for p in played) for name, played in engines.items()}
    exact = [a.exact == b.exact for a, b in zip(turns["kernel"], turns["c"], strict=False)]
    return {
        "events_per_second": speed["kernel"],
        "events_per_second_c": speed.get("c"),
        "events_per_second_simpy": speed["simpy"],
        "ratio_simpy": _ratio(engines, "simpy"),
        "ratio_c": _ratio(engines, "c") if "c" in engines else None,
        "ratio_c_missing_because": reason or None,
        "kernel_equals_c_event_for_event": all(exact) if exact else None,
        "events_per_root": statistics.mean(p.events / p.roots for p in turns["kernel"]),
        "latency_ms": {name: statistics.mean(p.latency_ms for p in ps) for name, ps in engines.items()},
        "utilisation": {name: statistics.mean(p.busy for p in ps) for name, ps in engines.items()},
        "rounds": rounds,
    }


def _ratio(engines: Mapping[str, Sequence[EngineResult]], other: str) -> float:
    """Median over the rounds of the kernel's speed divided by the other engine's in the same round."""
    pairs = zip(engines["kernel"], engines[other], strict=True)
    return statistics.median(a.events_per_s / b.events_per_s for a, b in pairs)


def require_agreement(
    one: str, ones: Sequence[EngineResult], other: str, others: Sequence[EngineResult]
) -> None:
    """Check that two engines play the same model.

    Mean complete latency must agree within four standard errors, which together may be at most 3 % of it.
    Utilisation and events per root tuple must agree within 1 %. The `StormLabError` of a disagreement names
    the figure and both values.
    """
    a, b = (statistics.mean(p.latency_ms for p in ps) for ps in (ones, others))
    # Repeats of a deterministic engine are one sample, not many: its error does not shrink with them.
    error = math.hypot(*(statistics.mean(p.latency_error_ms for p in ps) for ps in (ones, others)))
    if error > 0.03 * a:
        raise StormLabError(f"latency is not known well enough to compare: {a:.4g} +- {error:.2g} ms")
    _agree("mean complete latency in ms", one, a, other, b, _MAX_STANDARD_ERRORS * error)
    a, b = (statistics.mean(p.busy for p in ps) for ps in (ones, others))
    _agree("utilisation", one, a, other, b, 0.01 * a)
    a, b = (sum(p.events for p in ps) / sum(p.roots for p in ps) for ps in (ones, others))
    _agree("events per root tuple", one, a, other, b, 0.01 * a)


def _agree(what: str, one: str, a: float, other: str, b: float, tolerance: float) -> None:
    if not abs(a - b) <= tolerance:
        raise StormLabError(f"{what} differs: {one} {a:.5g}, {other} {b:.5g}, allowed {tolerance:.2g}")


def measure_scale(models: Sequence[Model], rounds: int) -> list[dict[str, float]]:
    """Measure the kernel's speed at each size, alternating between the sizes."""
    speeds: list[list[float]] = [[] for _ in models]
    roots: list[float] = [0.0] * len(models)
    for _ in range(rounds):
        for i, model in enumerate(models):
            wanted = _SCALE_EVENTS / (35 * model.rate_per_s * model.copies)
            window = max(_SCALE_MIN_NS, round(wanted * NS_PER_S))
            plane, _topology = start(model)
            plane.run_until(_SCALE_WARM_NS)
            events, emitted = plane.events, int(plane.kernel.s[0].roots_emitted)
            began = time.process_time()
            plane.run_until(_SCALE_WARM_NS + window)
            speeds[i].append((plane.events - events) / (time.process_time() - began))
            roots[i] = (plane.events - events) / (int(plane.kernel.s[0].roots_emitted) - emitted)
    return [
        {
            "executors": model.executors,
            "nodes": model.nodes * model.copies,
            "topologies": model.copies,
            "events_per_second": statistics.median(speed),
            "events_per_root": per_root,
        }
        for model, speed, per_root in zip(models, speeds, roots, strict=True)
    ]


def many_topologies(executors: int) -> Model:
    """Return a model with this number of executors in topologies of ten, two nodes each."""
    return replace(UNIT, copies=executors // UNIT.executors)


def one_topology(executors: int) -> Model:
    """Return a model with this number of executors in one topology, equally loaded; five per node."""
    k = executors // 20
    return Model(2 * k, 8 * k, 2 * k, nodes=4 * k, rate_per_s=3000.0 * k, lines=1009)


def _slowdown(scale: Sequence[Mapping[str, float]]) -> float:
    return scale[0]["events_per_second"] / scale[-1]["events_per_second"]


def measure_starts() -> dict[str, float]:
    """Measure the seconds to import, prepare the kernel and play a virtual second, without and with a cache.

    Warm figures are the least of five, because other programs on the machine can only add to them.
    """
    with tempfile.TemporaryDirectory(prefix="storm_lab-bench-") as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        cold, cold_cpu = _in_own_process(["start"], environment)
        warm = [_in_own_process(["start"], environment) for _ in range(5)]
    return {
        "cold_start_s": cold,
        "cold_start_cpu_s": cold_cpu,
        "warm_start_s": min(wall for wall, _ in warm),
        "warm_start_cpu_s": min(cpu for _, cpu in warm),
    }


def measure_memory() -> dict[str, object]:
    """Measure resident memory after two lengths of run, with the log going to disk."""
    short, long = _in_own_process(["memory", *map(str, _MEMORY_MARKS_S)])
    return {
        "memory_mb": {f"{mark:g}_s": mb for mark, mb in zip(_MEMORY_MARKS_S, (short, long), strict=True)},
        "memory_growth": None if short is None else long / short,
    }


def _in_own_process(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Any:
    command = [sys.executable, "-m", "storm_lab.bench._kernel_parts", *arguments]
    return json.loads(output_of(command, "a part of the benchmark", environment=environment).splitlines()[-1])


def bench_kernel(rounds: int, seconds: float) -> dict[str, object]:
    """Measure all figures and print progress on stderr; the names of the fields contain the units.

    Raises `StormLabError` if the engines did not agree.
    """
    say = partial(click.echo, err=True)
    say("kernel, C and SimPy in turn")
    figures = compare_engines(Model(), rounds, seconds)
    plane, _topology = start(Model())
    plane.run_until(_WARM_NS)
    figures["events_by_kind"] = count_events(plane, _WARM_NS + _KINDS_NS).table()
    say("events per second against the number of executors")
    many = measure_scale([many_topologies(size) for size in SIZES], max(1, rounds // 2))
    one = measure_scale([one_topology(size) for size in ONE_SIZES], max(1, rounds // 2))
    figures |= {
        "scale": many,
        "scale_loss": _slowdown(many),
        "scale_one_topology": one,
        "scale_one_topology_loss": _slowdown(one),
    }
    say("cold and warm start")
    figures |= measure_starts()
    say("memory against the length of a run")
    figures |= measure_memory()
    say("virtual time against wall-clock time")
    figures["virtual_seconds_per_second"] = measure_pace(200.0)
    figures["largest_runs"] = measure_largest()
    figures["targets_missed"] = missed(figures)
    return figures


def missed(figures: Mapping[str, Any]) -> list[str]:
    """Return the targets that the figures do not reach, one line each."""
    lines = []
    if figures["ratio_simpy"] < SIMPY_TARGET:
        lines.append(f"{figures['ratio_simpy']:.0f} times SimPy, target {SIMPY_TARGET:g}")
    if figures["ratio_c"] is not None and figures["ratio_c"] < C_TARGET:
        lines.append(f"{figures['ratio_c']:.2f} of plain C, target {C_TARGET:g}")
    for name, what in (("scale_loss", "many topologies"), ("scale_one_topology_loss", "one topology")):
        if figures[name] >= SCALE_TARGETS[what]:
            lines.append(
                f"events/s fall {figures[name]:.1f}-fold with size ({what}), target < {SCALE_TARGETS[what]:g}"
            )
    if figures["warm_start_s"] >= START_TARGET_S:
        lines.append(f"warm start {figures['warm_start_s']:.2f} s, target: < {START_TARGET_S:g} s")
    return lines


def text_of(figures: Mapping[str, Any]) -> Iterable[str]:
    """Yield the figures as lines of text."""
    for name, value in figures.items():
        if name.startswith("scale") and isinstance(value, list):
            yield f"{name}:"
            for row in value:
                yield (
                    f"  {row['executors']:>6} executors  {row['nodes']:>5} nodes"
                    f"  {row['events_per_second'] / 1e6:6.2f} M events/s"
                )
        elif name == "events_by_kind":
            yield f"{name}:"
            for kind, row in value.items():
                yield f"  {kind:28} {row['per_root']:6.2f} per root  {row['per_hop']:6.3f} per hop"
        elif name == "largest_runs":
            yield f"{name}:"
            for paper, run in value.items():
                yield (
                    f"  {paper:14} {run['virtual_seconds_per_second']:8.1f} virtual s/s  {run['run']}"
                    f"  (the largest {run['known_from']})"
                )
        elif isinstance(value, float):
            yield f"{name:34} {value:.6g}"
        else:
            yield f"{name:34} {value}"


@click.command("kernel")
@json_option
@click.option(
    "--rounds", default=5, show_default=True, type=click.IntRange(2, 50), help="Turns of each engine."
)
@click.option(
    "--seconds",
    default=10.0,
    show_default=True,
    type=FiniteRange(5.0, 1000.0),
    help="Virtual seconds per turn.",
)
def bench_kernel_command(as_json: bool, rounds: int, seconds: float) -> None:
    """Measure the event kernel against SimPy and plain C, and against size."""
    figures = bench_kernel(rounds, seconds)
    answer(as_json, figures, "\n".join(text_of(figures)))
