"""Compares measured with predicted values, scene by scene: factors of error, orderings, medians.

A measurement that is too uncertain counts nowhere, whatever the emulator predicts and whichever half its
scene belongs to: see `Compared.unusable`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, mean, median
from typing import Any, NamedTuple

from storm_lab.live.suite.measure import Measured, RunTables
from storm_lab.live.suite.scene import Half, Measure, Scene, Sitting, half_of


class Kind(NamedTuple):
    """Measures of one kind; ``goal`` for their median was set before anything was compared (None = none)."""

    title: str
    unit: str
    measures: tuple[Measure, ...]
    goal: float | None = None


FACTORS: Mapping[str, Kind] = {
    "throughput_factor": Kind("throughput", "tuples/s", (Measure.THROUGHPUT,), 1.10),
    "cpu_factor": Kind("CPU per tuple", "us/tuple", (Measure.CPU,), 1.10),
    "latency_factor": Kind("complete latency", "ms", (Measure.P50, Measure.P95), 1.25),
    "control_factor": Kind("control plane", "s", (Measure.CONTROL,)),
}
"""The medians that are taken. Spreads of service times have none: they are only in their scene's row."""

KIND_OF: Mapping[Measure, Kind] = {
    measure: kind
    for kind in (*FACTORS.values(), Kind("spread of service times", "1", (Measure.SPREAD,)))
    for measure in kind.measures
}

MISSED = 1.25
"""A value with a factor of error above this counts as missed if there is no goal for its kind."""

WIDEST = 3.0
"""A measurement whose 95 % interval spans a larger factor than this is unusable."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One measure of one scene: what real Storm did and what the emulator predicts.

    ``plays`` is what real Storm did in each play of the sitting; None where a play has no measure.
    """

    measure: Measure
    measured: Measured | None
    predicted: Measured | None
    missing: str = ""
    plays: tuple[Measured | None, ...] = ()

    @property
    def unusable(self) -> str:
        """Why the measurement counts nowhere; empty if it counts.

        Either there is none (``missing`` gives the reason), or its interval includes zero or is too wide.
        """
        if self.measured is None:
            return self.missing or "nothing was measured"
        if self.measured.low <= 0 or self.measured.high > WIDEST * self.measured.low:
            return f"its interval is wider than a factor of {WIDEST:g}"
        return ""

    @property
    def factor(self) -> float | None:
        """The larger value over the smaller (1 = equal); None if it is unusable or nothing is predicted."""
        if self.measured is None or self.predicted is None or self.unusable:
            return None
        one, other = self.measured.value, self.predicted.value
        return max(one / other, other / one) if one > 0 and other > 0 else None


@dataclass(frozen=True, slots=True)
class Row:
    """A scene with its measures, as played on one machine.

    ``threads`` is the CPU per tuple of each kind of thread in us, on real Storm (mean over plays) and in the
    emulator; empty where the scene has no such measure.
    """

    name: str
    sitting: str
    storm: str
    half: Half
    compared: tuple[Compared, ...]
    machine: str = ""
    threads: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The scene's name, preceded by that of the machine if there is one."""
        return f"{self.machine} {self.name}".strip()

    @property
    def usable(self) -> bool:
        """Whether at least one of its measurements is usable."""
        return not all(each.unusable for each in self.compared)

    def of(self, measure: Measure) -> Compared | None:
        """Return what was compared of a measure."""
        return next((each for each in self.compared if each.measure is measure), None)

    def document(self) -> dict[str, Any]:
        """Return the row as it is printed."""
        return {
            "scene": self.name,
            "machine": self.machine,
            "sitting": self.sitting,
            "storm": self.storm,
            "half": self.half.value,
            "measures": [
                {
                    "measure": each.measure.value,
                    "unit": KIND_OF[each.measure].unit,
                    "measured": rounded(each.measured),
                    "measured_low": rounded(each.measured, "low"),
                    "measured_high": rounded(each.measured, "high"),
                    "predicted": rounded(each.predicted),
                    "predicted_low": rounded(each.predicted, "low"),
                    "predicted_high": rounded(each.predicted, "high"),
                    "factor": None if each.factor is None else round(each.factor, 4),
                    "unusable": each.unusable,
                }
                for each in self.compared
            ],
        }


@dataclass(frozen=True, slots=True)
class Ordering:
    """Two placements, for comparing which is better on real Storm and in the emulator.

    ``agrees`` is None where real Storm's intervals overlap or a measure is missing.
    """

    measure: Measure
    one: str
    other: str
    agrees: bool | None
    machine: str = ""

    def document(self) -> dict[str, Any]:
        """Return the ordering as it is printed."""
        return asdict(self) | {"measure": self.measure.value}


@dataclass(frozen=True, slots=True)
class Trust:
    """The complete comparison: all recorded scenes."""

    recorded: tuple[Row, ...]
    orderings: tuple[Ordering, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The scenes that are compared: those with a usable measurement."""
        return tuple(row for row in self.recorded if row.usable)

    @property
    def unusable(self) -> tuple[Row, ...]:
        """The recorded scenes without a usable measurement."""
        return tuple(row for row in self.recorded if not row.usable)

    @property
    def predicted(self) -> tuple[Row, ...]:
        """The compared scenes on which nothing was calibrated."""
        return self.half(Half.PREDICTED)

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines on which scenes were recorded."""
        return tuple(dict.fromkeys(row.machine for row in self.recorded))

    def on(self, machine: str) -> Trust:
        """Return what was compared on one machine."""
        return Trust(
            tuple(row for row in self.recorded if row.machine == machine),
            tuple(each for each in self.orderings if each.machine == machine),
        )

    def half(self, half: Half) -> tuple[Row, ...]:
        """Return the compared scenes of a half."""
        return tuple(row for row in self.rows if row.half is half)

    def factor(self, name: str, half: Half = Half.PREDICTED) -> float | None:
        """Return the median factor of error over the scenes of a half; None if there are none."""
        return median_factor(name, self.half(half))

    @property
    def wrong(self) -> tuple[Ordering, ...]:
        """Pairs that the emulator puts in the opposite order."""
        return tuple(each for each in self.orderings if each.agrees is False)

    def document(self) -> dict[str, Any]:
        """Return the comparison as ``storm-lab live trust --json`` prints it."""
        found: dict[str, Any] = {"scenes": len(self.rows), "predicted_scenes": len(self.predicted)}
        for name in FACTORS:
            value = self.factor(name)
            found[name] = None if value is None else round(value, 4)
        found["orderings_wrong"] = len(self.wrong)
        found["orderings_told"] = sum(ordering.agrees is not None for ordering in self.orderings)
        found["unusable_scenes"] = len(self.unusable)
        found["unusable_measures"] = sum(bool(c.unusable) for row in self.recorded for c in row.compared)
        found["rows"] = [row.document() for row in self.rows]
        found["unusable"] = [row.document() for row in self.unusable]
        found["orderings"] = [ordering.document() for ordering in self.orderings]
        return found


def factors_of(name: str, rows: Iterable[Row]) -> list[float]:
    """Return the factors of error from which a median is taken."""
    compared = [each for row in rows for each in row.compared if each.measure in FACTORS[name].measures]
    return [factor for each in compared if (factor := each.factor) is not None]


def median_factor(name: str, rows: Iterable[Row]) -> float | None:
    """Return the median factor of error over some scenes; None if there are none."""
    found = factors_of(name, rows)
    return median(found) if found else None


def pooled(plays: Sequence[Measured | None], what: Measure) -> Measured | None:
    """Combine several plays of a scene into their mean, or for times of the control plane into their median.

    The interval contains the values of all plays and is at least as wide as the widest of their intervals.
    Such a time is measured once in each play, often depends on which of two timers is first, and may be cut
    off by the scene's end; so its median is compared, in the range of all plays.
    """
    values = [each for each in plays if each is not None]
    if len(values) < 2:
        return values[0] if values else None
    if what is Measure.CONTROL:
        times = [each.value for each in values]
        return Measured(median(times), min(times), max(times), len(times))
    mean = sum(each.value for each in values) / len(values)
    half = max(max(abs(each.value - mean), each.high - each.value, each.value - each.low) for each in values)
    return Measured(mean, mean - half, mean + half, sum(each.count for each in values))


def compare_sitting(
    sitting: Sitting,
    generation: str,
    scenes: Sequence[Scene],
    live: Sequence[RunTables],
    emulated: Sequence[RunTables],
    machine: str = "",
) -> list[Row]:
    """Compare real Storm's plays of one sitting with the emulator's, on one version and machine."""
    rows = []
    for scene in scenes:
        compared, played = [], _aligned_by_worker_age(scene, live, emulated)
        for what in scene.measures:
            plays = tuple(tables.measure(scene, what) for tables in live)
            predicted = pooled([tables.measure(played, what) for tables in emulated], what)
            # If a measure is missing, the first play's reason stands for all.
            missing = next((why for tables in live if (why := tables.missing(scene, what))), "")
            compared.append(Compared(what, pooled(plays, what), predicted, missing, plays))
        name, half = f"{scene.name}@{generation}", half_of(scene.name)
        threads = _threads(scene, live, played, emulated) if Measure.CPU in scene.measures else {}
        rows.append(Row(name, sitting.name, generation, half, tuple(compared), machine, threads))
    return rows


def _aligned_by_worker_age(scene: Scene, live: Sequence[RunTables], emulated: Sequence[RunTables]) -> Scene:
    """Return the stretch in which the emulator's workers are as old as those of real Storm in the scene.

    Real workers that start beside others that flood their host become ready later; the duration of a start is
    a matter of the control plane. The stretch is never later than the scene, at whose end its topologies are
    killed.
    """
    if not scene.fresh:
        return scene
    emulated_s = mean(tables.ready_s(scene) for tables in emulated)
    found = [tables.ready_s(scene) - emulated_s for tables in live]
    late = [seconds for seconds in found if math.isfinite(seconds)]
    return scene.earlier(max(0, round(mean(late)))) if late else scene


def _threads(
    scene: Scene, live: Sequence[RunTables], played: Scene, emulated: Sequence[RunTables]
) -> dict[str, tuple[float, float]]:
    real, predicted = (
        [shares for tables in runs if (shares := tables.cpu_by_thread(stretch))]
        for stretch, runs in ((scene, live), (played, emulated))
    )
    if not real or not predicted:
        return {}
    kinds = dict.fromkeys(kind for shares in (*real, *predicted) for kind in shares)
    return {
        kind: (fmean(each.get(kind, 0.0) for each in real), fmean(each.get(kind, 0.0) for each in predicted))
        for kind in kinds
    }


def orderings_of(
    sitting: Sitting, generation: str, rows: Mapping[str, Row], machine: str = ""
) -> list[Ordering]:
    """Return whether the emulator orders the placements of a sitting as real Storm does, on one machine.

    A machine is not equally fast on all days, so placements are compared play by play. Real Storm defines an
    order if the intervals are disjoint in each play, always in the same direction.
    """
    found = []
    for measure, *pair in sitting.orderings:
        one, other = (f"{name}@{generation}" for name in pair)
        compared = [row.of(measure) if (row := rows.get(name)) else None for name in (one, other)]
        found.append(Ordering(measure, one, other, _agrees(*compared), machine))
    return found


def _agrees(one: Compared | None, other: Compared | None) -> bool | None:
    if one is None or other is None or one.predicted is None or other.predicted is None:
        return None
    sides = {_side(*pair) for pair in zip(one.plays, other.plays, strict=True)}
    if sides not in ({1}, {-1}):
        return None
    return sides == {1 if one.predicted.value > other.predicted.value else -1}


def _side(one: Measured | None, other: Measured | None) -> int:
    """Return 1 if the first is larger in a play, -1 if the second is, and 0 if the intervals overlap."""
    if one is None or other is None:
        return 0
    return int(one.low > other.high) - int(other.low > one.high)


def rounded(measured: Measured | None, field: str = "value") -> float | None:
    """Round a field of a measurement to five digits: further digits would only differ between machines."""
    if measured is None:
        return None
    value = float(getattr(measured, field))
    return float(f"{value:.5g}") if math.isfinite(value) else None
