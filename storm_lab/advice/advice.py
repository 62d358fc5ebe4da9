"""Advice on a topology and its machines: the measured figures and the conclusions drawn from them.

This module plays nothing. `storm_lab.advice.advise` plays the runs and fills in the figures, all of which
come from their tuple logs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from storm_lab.experiments.claim import with_unit
from storm_lab.experiments.measurement import half_width

KEEPS_UP = 0.97
"""Share of the offered records that a setting completes if it keeps up; some are in flight at the end."""

HEADROOM_FACTOR = 1.25
"""Multiple of the load that must be kept up with for a fit; without it, queues grow with every burst."""

CLOCK_MS = 1.0
"""Step of the clocks with which Storm measures latencies; a smaller difference of means has no meaning."""

FULL = 0.9
"""Utilisation from which something is called saturated; below 1, since threads wait for each other."""

_MORE = f"{100 * (HEADROOM_FACTOR - 1):.0f} % more"

_SENSITIVITY_SHARE = 0.2
"""Share of the capacity by which an assumption may change it before the answer is said to depend on it."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the half width of its 95 % interval over seeds; NaN with one seed."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Return Student's interval of the values that are numbers."""
        found = [float(value) for value in values if not np.isnan(value)]
        mean = float(np.mean(found)) if found else math.nan
        return cls(mean, half_width(found) if len(found) > 1 else math.nan)

    def text(self, unit: str = "") -> str:
        """Return mean, half width and unit as text."""
        if np.isnan(self.mean):
            return "not measured"
        wide = "" if np.isnan(self.half) else f" ± {self.half:.2g}"
        return f"{self.mean:.4g}{wide} {unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Measured:
    """One setting under one load: offered and completed records per second, latency, and utilisation.

    ``busiest`` names the part that is busy for the largest share of its time: a node's cores, an executor, or
    another thread. ``utilisation`` is that share. ``busiest`` is empty if nothing ran. ``measured_s`` is the
    virtual time over which a run was measured. ``unsettled`` counts the seeds with which the policy
    re-assigned until the end, so that there was nothing to measure. ``has_room`` says whether
    `HEADROOM_FACTOR` times the load is kept up with, too; None if not played.
    """

    offered_per_s: float
    acked_per_s: Interval
    latency_ms: Interval
    p99_ms: Interval
    failed_per_s: float
    nodes: float
    busiest: str
    utilisation: float
    measured_s: float
    unsettled: int = 0
    has_room: bool | None = None

    @property
    def keeps_up(self) -> bool:
        """Return whether the policy settled with every seed, and the mean over them completes the load.

        A record more or less may fall into the measured time, which counts if there are only few.
        """
        least_per_s = KEEPS_UP * self.offered_per_s - 1.0 / self.measured_s
        return self.unsettled == 0 and self.acked_per_s.mean >= least_per_s

    @property
    def fits(self) -> bool:
        """Return whether the setting keeps up with its load and with `HEADROOM_FACTOR` times its load."""
        return self.keeps_up and self.has_room is True


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy with a number of workers, measured at the present load."""

    policy: str
    workers: int
    measured: Measured


def best_of(choices: Sequence[Choice]) -> Choice:
    """Return the advised choice; if nothing keeps up, the one that completes most.

    Of the choices that fit, take the one with the least latency. Of those that are less than a millisecond
    slower, or whose intervals touch its interval, take the one on fewest nodes, then with fewest workers.
    """
    able = [choice for choice in choices if choice.measured.fits] or [
        choice for choice in choices if choice.measured.keeps_up
    ]
    if not able:
        return max(choices, key=_completed)
    timed = [choice for choice in able if not np.isnan(choice.measured.latency_ms.mean)]
    alike = able
    if timed:
        quickest = min((choice.measured.latency_ms for choice in timed), key=lambda latency: latency.mean)
        alike = [choice for choice in timed if _is_alike(choice.measured.latency_ms, quickest)]
    return min(alike, key=lambda c: (c.measured.nodes, c.workers, c.measured.latency_ms.mean, c.policy))


def _completed(choice: Choice) -> tuple[bool, float]:
    measured = choice.measured
    return measured.unsettled == 0, float(np.nan_to_num(measured.acked_per_s.mean, nan=-1.0))


def _is_alike(latency: Interval, quickest: Interval) -> bool:
    slower_ms = latency.mean - quickest.mean
    return slower_ms < CLOCK_MS or slower_ms <= float(np.nansum([latency.half, quickest.half]))


@dataclass(frozen=True, slots=True)
class Fit:
    """The fewest nodes on which a load fits, and what is busiest there.

    ``nodes`` is None if the load does not fit on all nodes; ``busiest`` is then what is overloaded with
    `HEADROOM_FACTOR` times the load.
    """

    nodes: int | None
    busiest: str
    utilisation: float


@dataclass(frozen=True, slots=True)
class NodeLoss:
    """The cost of losing a node: failed records, seconds until all is completed again, latency then."""

    node: str
    failed: float
    down_s: float
    latency_after_ms: float
    recovers: bool


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The answer with one figure changed: capacity, and nodes for the present load."""

    what: str
    factor: float
    capacity_per_s: float
    nodes: int | None


@dataclass(frozen=True)
class Advice:
    """The complete answer. Rates are records per second of all spouts together.

    ``fit`` and ``fit_twice`` give the fewest machines, taken in their order, on which the load and twice the
    load fit with room for bursts. ``capacity_per_s`` is the rate completed at the highest load that is kept
    up with. At that load, ``saturates`` is busiest, for ``saturated`` of its time. ``curve`` is latency by
    share of the capacity. ``assumed_rates`` are spouts whose rate was not given.
    """

    topology: str
    load_per_s: float
    choices: tuple[Choice, ...]
    fit: Fit
    fit_twice: Fit
    machines: int
    capacity_per_s: Interval
    saturates: str
    saturated: float
    curve: tuple[tuple[float, Measured], ...]
    losses: tuple[NodeLoss, ...]
    sensitivity: tuple[Sensitivity, ...]
    seeds: tuple[int, ...]
    assumed: tuple[str, ...] = ()
    assumed_rates: tuple[str, ...] = ()

    @property
    def best(self) -> Choice:
        """The advised choice; see `best_of`."""
        return best_of(self.choices)

    @property
    def depends(self) -> tuple[str, ...]:
        """The figures on which the answer depends.

        These are the ones that change the number of nodes, or the capacity by more than a fifth, and assumed
        rates, because they are the load.
        """
        found = []
        if self.assumed_rates:
            names = ", ".join(self.assumed_rates)
            found.append(f"the rate of {names} was not given, so load and number of nodes are guesses")
        for item in self.sensitivity:
            changed = abs(item.capacity_per_s / self.capacity_per_s.mean - 1.0)
            if item.nodes != self.fit.nodes:
                found.append(f"with {item.what} times {item.factor:g}, {_nodes(item.nodes)} would be needed")
            elif changed > _SENSITIVITY_SHARE:
                rate = f"{item.capacity_per_s:.3g} instead of {self.capacity_per_s.mean:.3g} records/s"
                found.append(f"with {item.what} times {item.factor:g}, the limit would be {rate}")
        return tuple(found)

    def curve_rows(self) -> list[dict[str, float]]:
        """Return the curve as rows of a figure's table."""
        means = ("latency_ms", "p99_ms", "acked_per_s")
        return [
            {"offered_per_s": got.offered_per_s} | {name: getattr(got, name).mean for name in means}
            for _, got in self.curve
        ]

    def document(self) -> dict[str, Any]:
        """Return the answer as a JSON document; values that were not measured are null."""
        # A JSON round trip replaces NaN, which JSON does not have, by None.
        document: dict[str, Any] = json.loads(json.dumps(asdict(self)), parse_constant=lambda name: None)
        advised = {"policy": self.best.policy, "workers": self.best.workers}
        return document | {"advice": advised, "depends": [*self.depends]}

    def text(self) -> str:
        """Return the answer as a page of text."""
        return "\n".join(_page(self)) + "\n"


def _nodes(count: int | None) -> str:
    return "more machines than there are" if count is None else with_unit(str(count), "nodes")


def _page(found: Advice) -> list[str]:
    seeds = len(found.seeds)
    lines = [
        f"{found.topology}: {found.load_per_s:g} records/s on {found.machines} machines",
        "",
        *_answer(found),
        "",
        *_choice_rows(found.choices),
        "",
        *_curve_rows(found.curve),
        "",
        *(_loss_line(loss) for loss in found.losses),
        "",
        f"Intervals: 95 % over {seeds} seeds." if seeds > 1 else "One seed, so no intervals.",
    ]
    for item in found.sensitivity:
        answer = f"{item.capacity_per_s:.4g} records/s, {_nodes(item.nodes)}"
        lines.append(f"With {item.what} times {item.factor:g}: {answer}.")
    lines += [f"The answer depends on an assumption: {text}." for text in found.depends]
    if not found.depends:
        lines.append("None of these changes the number of nodes, or the capacity by more than a fifth.")
    if found.assumed:
        lines += ["", "Assumed, because no file says:", *(f"  {text}" for text in found.assumed)]
    return lines


def _answer(found: Advice) -> list[str]:
    best, got = found.best, found.best.measured
    if got.fits:
        first = "Take"
    elif got.keeps_up:
        first = f"None keeps up with {_MORE} load, as bursts need; take"
    else:
        first = "None keeps up; the most is completed with"
    workers, where = with_unit(str(best.workers), "workers"), with_unit(f"{got.nodes:.3g}", "nodes")
    lines = [
        f"{first} the policy {best.policy} and {workers}: {got.latency_ms.text('ms')} on {where}, "
        f"99 % of the records within {got.p99_ms.text('ms')}.",
        _fit_line("The load", found.fit, found.machines),
        _fit_line("Twice the load", found.fit_twice, found.machines),
    ]
    at = found.capacity_per_s.text("records/s")
    if found.saturated >= FULL:
        lines.append(f"First to saturate: {found.saturates}, at {at}.")
    else:
        lines.append(
            f"The limit is {at}, where nothing is saturated: {_busy(found.saturates, found.saturated)}. "
            "Pending limits, links or timeouts hold it back."
        )
    return lines


def _fit_line(what: str, fit: Fit, machines: int) -> str:
    busy = _busy(fit.busiest, fit.utilisation)
    if fit.nodes is not None:
        return f"{what} fits on {_nodes(fit.nodes)}, where {busy}."
    refused = f"{what} does not fit on all {machines} machines"
    if not fit.busiest:
        return f"{refused}: the policy finds no place for it."
    if fit.utilisation < FULL:
        remedy = "pending limits, links or timeouts hold it back"
    elif fit.busiest.startswith("the cores"):
        remedy = "more or faster machines help"
    else:
        remedy = "more executors help"
    return f"{refused}: with {_MORE}, the headroom that bursts need, {busy}; {remedy}."


def _busy(name: str, utilisation: float) -> str:
    verb = "are" if name.startswith("the cores") else "is"
    return f"{name} {verb} busy {100 * utilisation:.0f} % of the time"


def _choice_rows(choices: Sequence[Choice]) -> list[str]:
    rows = [f"{'policy':16} {'workers':>7}  {'latency, ms':18} {'nodes':>5}  busiest"]
    for choice in sorted(choices, key=lambda c: np.nan_to_num(c.measured.latency_ms.mean, nan=np.inf)):
        got = choice.measured
        busy = f"{100 * got.utilisation:.0f} % {got.busiest}" if got.busiest else "nothing ran"
        if got.unsettled:
            busy += f", does not settle with {with_unit(str(got.unsettled), 'seeds')}"
        elif not got.keeps_up:
            busy += ", falls behind"
        rows.append(
            f"{choice.policy:16} {choice.workers:7}  {got.latency_ms.text():18} {got.nodes:5.3g}  {busy}"
        )
    return rows


def _curve_rows(curve: Sequence[tuple[float, Measured]]) -> list[str]:
    rows = [f"{'capacity':>8}  {'records/s':>9}  {'latency, ms':18} {'99th percentile':18} completed"]
    for share, got in curve:
        latencies = f"{got.latency_ms.text():18} {got.p99_ms.text():18}"
        completed = 100 * got.acked_per_s.mean / got.offered_per_s
        rows.append(f"{100 * share:6.0f} %  {got.offered_per_s:9.4g}  {latencies} {completed:.0f} %")
    return rows


def _loss_line(loss: NodeLoss) -> str:
    after = f"latency then {loss.latency_after_ms:.3g} ms" if loss.recovers else "it does not keep up then"
    cost = f"{loss.failed:.0f} records fail, {loss.down_s:.0f} s without full service"
    return f"Loss of {loss.node}: {cost}; {after}."
