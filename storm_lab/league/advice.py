"""Advice on a topology and its machines: what was found out, and what follows; plays nothing itself.

`storm_lab.runs.advise` plays the runs and fills these in; every figure comes out of their tuple logs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

KEEPS_UP = 0.97
"""Share of the offered lines that a setting completes if it keeps up; some are in flight at the end."""

HEADROOM = 0.8
"""Most utilisation that is called a fit: beyond it queues grow with every burst."""

FULL = 0.93
"""Utilisation from which a resource is called saturated; the emulator's threads wait for each other a bit."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the half width of its 95 % interval over seeds; NaN with one seed."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Student's interval."""
        found = np.asarray(values, dtype=float)
        found = found[~np.isnan(found)]
        if len(found) == 0:
            return cls(float("nan"), float("nan"))
        if len(found) == 1:
            return cls(float(found[0]), float("nan"))
        half = stats.t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found))
        return cls(float(found.mean()), float(half))

    def text(self, unit: str) -> str:
        """Mean, half width and unit."""
        if np.isnan(self.mean):
            return "nothing measured"
        wide = "" if np.isnan(self.half) else f" ± {self.half:.2g}"
        return f"{self.mean:.3g}{wide} {unit}"


@dataclass(frozen=True, slots=True)
class Measured:
    """One setting under one load: offered and completed lines a second, latency, and who is how busy.

    ``busiest`` is the resource with the highest utilisation: a node's cores, or an executor's one thread.
    """

    offered_per_s: float
    acked_per_s: Interval
    latency_ms: Interval
    p99_ms: Interval
    failed_per_s: float
    nodes: float
    busiest: str
    utilisation: float

    @property
    def keeps_up(self) -> bool:
        """Whether what is offered is completed."""
        return self.acked_per_s.mean >= KEEPS_UP * self.offered_per_s

    @property
    def fits(self) -> bool:
        """Whether it keeps up and leaves headroom."""
        return self.keeps_up and self.utilisation <= HEADROOM


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy with a number of workers, measured at the present load."""

    policy: str
    workers: int
    measured: Measured


@dataclass(frozen=True, slots=True)
class NodeLoss:
    """What a node's loss costs: lines failed or lost, seconds until all is completed again, latency after."""

    node: str
    failed: float
    down_s: float
    latency_after_ms: float
    recovers: bool


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What becomes of the answer when a figure is another: capacity, and nodes for the present load."""

    what: str
    factor: float
    capacity_per_s: float
    nodes: int | None


@dataclass(frozen=True)
class Advice:
    """The answer. Rates are lines a second of all spouts together.

    ``nodes`` and ``nodes_twice`` are the fewest of the machines, in their order, on which the load fits with
    headroom; None where all together are too few. ``curve`` is latency by share of ``capacity_per_s``, the
    most that was completed under overload. ``saturates`` is busiest there.
    """

    topology: str
    load_per_s: float
    choices: tuple[Choice, ...]
    nodes: int | None
    nodes_twice: int | None
    machines: int
    capacity_per_s: Interval
    saturates: str
    curve: tuple[tuple[float, Measured], ...]
    losses: tuple[NodeLoss, ...]
    sensitivity: tuple[Sensitivity, ...]
    assumed: tuple[str, ...]
    seeds: tuple[int, ...]

    @property
    def best(self) -> Choice:
        """What is advised.

        Of the choices that fit the one with the least latency; of those whose intervals touch its, the one on
        fewest nodes, then with fewest workers.
        """
        return best_of(self.choices)

    @property
    def depends(self) -> tuple[str, ...]:
        """On which figures the answer depends.

        Those with which another number of nodes is needed, or the capacity changes by more than a fifth.
        """
        found = []
        for item in self.sensitivity:
            changed = abs(item.capacity_per_s / self.capacity_per_s.mean - 1.0)
            if item.nodes != self.nodes:
                found.append(f"with {item.what} times {item.factor:g}, {_nodes(item.nodes)} would be needed")
            elif changed > 0.2:
                rate = f"{item.capacity_per_s:.3g} instead of {self.capacity_per_s.mean:.3g} lines/s"
                found.append(f"with {item.what} times {item.factor:g}, it would carry {rate}")
        return tuple(found)

    def curve_rows(self) -> list[dict[str, float]]:
        """The curve as rows of a figure's table."""
        return [
            {
                "offered_per_s": got.offered_per_s,
                "latency_ms": got.latency_ms.mean,
                "p99_ms": got.p99_ms.mean,
                "acked_per_s": got.acked_per_s.mean,
            }
            for _, got in self.curve
        ]

    def document(self) -> dict[str, Any]:
        """As JSON has it; what was not measured is null."""
        whole: dict[str, Any] = _plain(asdict(self))
        best = self.best
        return whole | {
            "advice": {"policy": best.policy, "workers": best.workers},
            "depends": [*self.depends],
        }

    def text(self) -> str:
        """A page for people."""
        return "\n".join(_page(self)) + "\n"


def best_of(choices: Sequence[Choice]) -> Choice:
    """As `Advice.best`; where nothing keeps up, the one that completes most."""
    able = [choice for choice in choices if choice.measured.fits] or [
        choice for choice in choices if choice.measured.keeps_up
    ]
    if not able:
        return max(choices, key=lambda choice: choice.measured.acked_per_s.mean)
    quickest = min(able, key=lambda choice: choice.measured.latency_ms.mean)
    limit = quickest.measured.latency_ms.mean + _wide(quickest)
    alike = [choice for choice in able if choice.measured.latency_ms.mean - _wide(choice) <= limit]
    return min(alike, key=lambda c: (c.measured.nodes, c.workers, c.measured.latency_ms.mean, c.policy))


def _wide(choice: Choice) -> float:
    half = choice.measured.latency_ms.half
    return 0.0 if np.isnan(half) else half


def _nodes(count: int | None) -> str:
    return "more machines than there are" if count is None else f"{count} node{'s' if count != 1 else ''}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _page(found: Advice) -> list[str]:
    best = found.best
    lines = [
        f"{found.topology}: {found.load_per_s:g} lines/s on {found.machines} machines",
        "",
        f"Take the policy {best.policy} with {best.workers} worker{'s' if best.workers != 1 else ''}: "
        f"{best.measured.latency_ms.text('ms')} on {best.measured.nodes:g} nodes, "
        f"99 of 100 lines within {best.measured.p99_ms.text('ms')}.",
        f"The load fits on {_nodes(found.nodes)}, twice the load on {_nodes(found.nodes_twice)} "
        f"(nothing above {100 * HEADROOM:.0f} % of its time).",
        f"First to saturate: {found.saturates}, at {found.capacity_per_s.text('lines/s')}.",
        "",
        "policy           workers  latency ms        nodes  busiest",
    ]
    for choice in sorted(found.choices, key=lambda c: c.measured.latency_ms.mean):
        got = choice.measured
        busy = f"{100 * got.utilisation:.0f} % {got.busiest}" + ("" if got.keeps_up else ", falls behind")
        lines.append(
            f"{choice.policy:16} {choice.workers:7}  {got.latency_ms.text(''):16}  {got.nodes:5.3g}  {busy}"
        )
    lines += ["", "share of capacity  lines/s  latency ms        99th percentile   completed"]
    for share, got in found.curve:
        lines.append(
            f"{100 * share:15.0f} %  {got.offered_per_s:8.4g}  {got.latency_ms.text(''):16}  "
            f"{got.p99_ms.text(''):16}  {100 * got.acked_per_s.mean / got.offered_per_s:.0f} %"
        )
    lines.append("")
    for loss in found.losses:
        after = (
            f"latency then {loss.latency_after_ms:.3g} ms" if loss.recovers else "it does not keep up then"
        )
        lines.append(
            f"Loss of {loss.node}: {loss.failed:.0f} lines fail, "
            f"{loss.down_s:.0f} s without full service; {after}."
        )
    seeds = f"Intervals are of 95 % over {len(found.seeds)} seeds."
    lines += ["", seeds if len(found.seeds) > 1 else "One seed, so no intervals."]
    for item in found.sensitivity:
        lines.append(
            f"If {item.what} were times {item.factor:g}: "
            f"{item.capacity_per_s:.4g} lines/s, {_nodes(item.nodes)}."
        )
    lines += [f"The answer depends on an assumption: {text}." for text in found.depends]
    if not found.depends and found.sensitivity:
        lines.append("None of these changes the number of nodes, or the capacity by more than a fifth.")
    if found.assumed:
        lines += ["", "Assumed, for nobody said:", *(f"  {text}" for text in found.assumed)]
    return lines
