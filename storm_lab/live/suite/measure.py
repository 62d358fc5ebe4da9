"""Computes a scene's measures from the tuple log of either runtime: windows, percentiles, times.

Windows of a live run in which other load on the machine starved the hosts are left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.measurement import half_width
from storm_lab.live.suite.scene import Effect, Measure, Scene
from storm_lab.model import Topology, executors_of
from storm_lab.tuplelog import Run
from storm_lab.tuplelog.schema import LIVE

_NS = 1e9
_WINDOW_NS = 1_000_000_000
LEAST_WINDOWS = 3
"""With fewer unstarved windows than this a scene has no measure."""
_LEAST_ROOTS = 20
_LATE_S = 5.0
"""If workers become ready after their stretch has begun, it counts from this long after them."""
_BUSY_PART = 0.85
"""From this part of its cores on a machine is full, and hosts that use as much have what they are due."""
_THROTTLED_PART = 0.25
"""A host that was throttled in at least this part of its quota's periods has had all that it is due."""
_WAITING = 2.0
"""If more of the workers' threads waited for a core and the machine was full, the hosts starved."""
_NOT_COUNTED = ("compiler", "recorder")
"""Threads whose CPU is not counted per tuple: the JVM's compiler, and the recorder of the measurements."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured value with its 95 % interval and the number of windows, tuples or times it is based on."""

    value: float
    low: float
    high: float
    count: int


class RunTables:
    """The tables of one run of either runtime, read once; ``spec`` is what was played."""

    def __init__(self, run: Run, spec: EmulationSpec) -> None:
        self.run = run
        self.spec = spec
        self.live = run.manifest.identity.runtime == LIVE
        self._topologies = {plan.topology.id: plan.topology for plan in spec.topologies}

    def _frame(self, table: str, *columns: str) -> pd.DataFrame:
        frame: pd.DataFrame = self.run.table(table, columns).to_pandas()
        return frame.astype(dict.fromkeys(frame.columns[frame.dtypes == "category"], str))

    @cached_property
    def _counts(self) -> pd.DataFrame:
        rows = self._frame("counts", "start_ns", "end_ns", "topology", "component", "executed")
        sinks = {(name, sink) for name, topology in self._topologies.items() for sink in sinks_of(topology)}
        is_sink = [pair in sinks for pair in zip(rows["topology"], rows["component"], strict=True)]
        return rows[is_sink]

    @cached_property
    def _cpu(self) -> pd.DataFrame:
        return self._frame("cpu", "start_ns", "end_ns", "topology", "worker", "thread", "cpu_ms")

    @cached_property
    def _counted_cpu(self) -> pd.DataFrame:
        return self._cpu[~self._cpu["thread"].isin(_NOT_COUNTED)]

    def compiler_seconds(self, executions: int) -> list[float]:
        """Return the CPU of compilers in each worker since its topology's first tuple, in s.

        Only for topologies whose sinks have executed at least ``executions`` tuples.
        """
        rows = self._cpu[self._cpu["thread"] == "compiler"]
        found: list[float] = []
        for topology, counts in self._counts[self._counts["executed"] > 0].groupby("topology"):
            if counts["executed"].sum() >= executions:
                own = rows[(rows["topology"] == topology) & (rows["start_ns"] >= counts["start_ns"].min())]
                found += list(own.groupby("worker")["cpu_ms"].sum() / 1e3)
        return found

    def housekeeping_shares(self, scenes: Iterable[Scene], *, alone: bool = False) -> list[float]:
        """Return the cores that the housekeeping threads of a worker use, in each of some scenes.

        With ``alone``, only for topologies in one worker, which has no connections to others.
        """
        rows = self._cpu[self._cpu["thread"] == "housekeeping"]
        found = []
        for scene in scenes:
            usable, own = self._usable_windows(scene), _of(scene, rows)
            workers = own["worker"].nunique()
            if len(usable) >= self._least(scene) and (workers == 1 or (workers and not alone)):
                used = _by_window(own, "cpu_ms", usable).mean() / 1e3
                found.append(float(used) / workers)
        return found

    @cached_property
    def _roots(self) -> pd.DataFrame:
        rows = self._frame("roots", "topology", "emit_ns", "complete_ns", "outcome")
        rows = rows[rows["outcome"] == "acked"]
        # Until the spout receives the ack. Storm's own complete latency ends at the acker from 1.0 on.
        return rows.assign(latency_ns=rows["complete_ns"] - rows["emit_ns"])

    @cached_property
    def _executions(self) -> pd.DataFrame:
        return self._frame("executions", "topology", "component", "start_ns", "end_ns")

    @cached_property
    def _control(self) -> pd.DataFrame:
        return self._frame("control", "time_ns", "action", "subject", "detail")

    @cached_property
    def _ready(self) -> Mapping[str, float]:
        """By topology, when its last executor was first ready, in s; infinite if it never was."""
        rows = self._frame("placements", "start_ns", "topology", "component", "start_task")
        first = rows.groupby(["topology", "start_task"])["start_ns"].min()
        found = {}
        for name, topology in self._topologies.items():
            own = first[name] if name in first.index.get_level_values(0) else pd.Series(dtype=float)
            complete = len(own) == len(executors_of(topology, self.spec.version))
            found[name] = float(own.max()) / _NS if complete else math.inf
        return found

    def measure(self, scene: Scene, what: Measure) -> Measured | None:
        """Return a measure of a scene; None if nothing arrived or there are too few unstarved windows."""
        if what is Measure.CONTROL:
            return self._time(scene)
        usable = self._usable_windows(scene)
        if len(usable) < self._least(scene):
            return None
        match what:
            case Measure.THROUGHPUT:
                return _mean(_by_window(_of(scene, self._counts), "executed", usable))
            case Measure.CPU:
                return self._cpu_per_tuple(scene, usable)
            case Measure.P50 | Measure.P95:
                rows, part = _of(scene, self._roots), 0.5 if what is Measure.P50 else 0.95
                return _quantile(rows["latency_ns"] / 1e6, rows["emit_ns"], usable, part)
            case _:
                return self._spread(scene, usable)

    def cpu_by_thread(self, scene: Scene) -> dict[str, float]:
        """Return the CPU per tuple of each kind of thread, in us; empty if the scene has no such measure.

        The use of network threads is counted for the receive thread, as in the log of a live run.
        """
        if (total := self.measure(scene, Measure.CPU)) is None:
            return {}
        usable, rows = self._usable_windows(scene), _of(scene, self._counted_cpu)
        kinds = rows["thread"].replace("network", "receive")
        groups = rows.groupby(kinds)
        used = {str(kind): float(_by_window(own, "cpu_ms", usable).sum()) for kind, own in groups}
        return {kind: total.value * each / sum(used.values()) for kind, each in used.items()}

    def missing(self, scene: Scene, what: Measure) -> str:
        """Return why there is no such measure; empty if there is one."""
        if self.measure(scene, what) is not None:
            return ""
        if what is Measure.CONTROL:
            return "the effect was not observed"
        if len(self._unstarved_windows(scene)) < self._least(scene):
            return f"fewer than {LEAST_WINDOWS} seconds in which no host was starved of CPU"
        if len(self._usable_windows(scene)) < self._least(scene):
            return "its workers were ready too late"
        return "too few tuples"

    @staticmethod
    def _least(scene: Scene) -> int:
        return min(LEAST_WINDOWS, math.floor(scene.to_s - scene.from_s))

    def ready_s(self, scene: Scene) -> float:
        """Return when all executors of its topologies had been ready once, in s; infinite if never."""
        return max(self._ready[name] for name in scene.topologies)

    def _usable_windows(self, scene: Scene) -> NDArray[np.int64]:
        """Return the unstarved windows of a scene, starting some time after its workers are ready."""
        usable = self._unstarved_windows(scene)
        ready_s = self.ready_s(scene)
        return usable[usable >= ready_s + _LATE_S] if ready_s > scene.from_s else usable

    def _unstarved_windows(self, scene: Scene) -> NDArray[np.int64]:
        """Return the windows of a scene in which every host had what it was due; in the emulator, all.

        Where the use of hosts is not counted (plain processes on loopback), all count, too.
        """
        inside = np.arange(round(scene.from_s), round(scene.to_s), dtype=np.int64)
        facts = self.run.manifest.conditions
        if not self.live or not facts["windows"]["hosts"]:
            return inside
        windows, hosts = facts["windows"], facts["windows"]["hosts"].values()
        used, throttled, waiting = (
            np.array([host[name] for host in hosts]) for name in ("used_cores", "throttled", "waiting")
        )
        limited = any(quota is not None for quota in facts["quota_cores"].values())
        pinned = any(facts.get("own_cores", {}).values())
        # Hosts that are limited or pinned are due the machine together; otherwise each is due all of it.
        used = used.sum(axis=0) if limited or pinned else used.max(axis=0)
        waiting = np.where(throttled < _THROTTLED_PART, waiting, 0.0).sum(axis=0)
        full = _BUSY_PART * float(facts["cores"])
        starved = (np.asarray(windows["busy_cores"]) >= full) & (used < full) & (waiting > _WAITING)
        at = np.floor(np.asarray(windows["end_s"]) - 0.5).astype(np.int64)
        return inside[~np.isin(inside, at[starved])]

    def _cpu_per_tuple(self, scene: Scene, usable: NDArray[np.int64]) -> Measured | None:
        executed = _by_window(_of(scene, self._counts), "executed", usable)
        used = _by_window(_of(scene, self._counted_cpu), "cpu_ms", usable) * 1000.0
        if not executed.sum() or not used.sum():
            return None
        ratio = float(used.sum() / executed.sum())
        # The scatter of the ratio: the residuals of the windows, relative to the mean number of tuples.
        half = _half_width((used - ratio * executed) / executed.mean())
        return Measured(ratio, ratio - half, ratio + half, len(usable))

    def _spread(self, scene: Scene, usable: NDArray[np.int64]) -> Measured | None:
        rows = _of(scene, self._executions)
        rows = rows[rows["component"] == scene.component]
        took = rows["end_ns"] - rows["start_ns"]
        middle, high = (_quantile(took, rows["start_ns"], usable, part) for part in (0.5, 0.95))
        if middle is None or high is None or middle.value <= 0:
            return None
        unit = middle.value
        return Measured(high.value / unit, high.low / unit, high.high / unit, high.count)

    def _time(self, scene: Scene) -> Measured | None:
        times = {Effect.RELAUNCH: self._relaunch, Effect.RESUME: self._longest_pause}
        seconds = times.get(scene.effect or Effect.READY, self._start)(scene)
        return None if seconds is None else Measured(seconds, seconds, seconds, 1)

    def _start(self, scene: Scene) -> float | None:
        control = self._control
        submitted = control[(control["action"] == "submit") & (control["subject"] == scene.topology)]
        rows = self._roots[self._roots["topology"] == scene.topology]
        if submitted.empty or rows.empty:
            return None
        first = submitted.iloc[0]
        begun = float(first["time_ns"]) + 1e6 * float(json.loads(first["detail"] or "{}").get("took_ms", 0.0))
        return (float(rows["complete_ns"].min()) - begun) / _NS

    def _relaunch(self, scene: Scene) -> float | None:
        rows = self._control[self._control["subject"] == scene.slot]
        killed = rows[(rows["action"] == "kill-worker") & (rows["time_ns"] >= scene.from_s * _NS)]
        if killed.empty:
            return None
        at = float(killed["time_ns"].min())
        begun = rows[(rows["action"] == "start-worker") & (rows["time_ns"] > at)]
        return None if begun.empty else (float(begun["time_ns"].min()) - at) / _NS

    def _longest_pause(self, scene: Scene) -> float | None:
        sinks = sinks_of(self._topologies[scene.topology])
        rows = self._executions
        rows = rows[(rows["topology"] == scene.topology) & rows["component"].isin(sinks)]
        times = np.sort(rows["start_ns"].to_numpy(float)) / _NS
        times = times[(times >= scene.from_s - 1.0) & (times < scene.to_s)]
        if not len(times) or times[0] > scene.from_s:
            return None
        gaps = np.diff(np.append(times, scene.to_s))
        # A pause to the end of the scene counts as that long, although it might have lasted longer.
        return float(gaps.max())


def sinks_of(topology: Topology) -> list[str]:
    """Return the bolts without consumers."""
    return [bolt.id for bolt in topology.bolts if not topology.consumers(bolt.id)]


def _of(scene: Scene, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a scene's topologies."""
    return rows[rows["topology"].isin(scene.topologies)]


def _by_window(rows: pd.DataFrame, column: str, usable: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a column's sum per second for each of these seconds; longer windows count evenly."""
    start, end = (rows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    seconds = np.maximum(1, np.round((end - start) / _WINDOW_NS).astype(np.int64))
    per_s = rows[column].to_numpy(float) / np.maximum(1, end - start) * _NS
    # A live window begins shortly after the full second.
    first = np.round(start / _WINDOW_NS).astype(np.int64)
    step = np.arange(seconds.sum()) - np.repeat(np.cumsum(seconds) - seconds, seconds)
    found = pd.Series(np.repeat(per_s, seconds)).groupby(np.repeat(first, seconds) + step).sum()
    return np.asarray(found.reindex(usable, fill_value=0.0), float)


def _mean(values: NDArray[np.float64]) -> Measured | None:
    if not values.sum():
        return None
    mean, half = float(values.mean()), _half_width(values)
    return Measured(mean, mean - half, mean + half, len(values))


def _half_width(values: NDArray[np.float64]) -> float:
    return half_width(values.tolist()) if len(values) > 1 else math.inf


def _quantile(
    times: pd.Series, since_ns: pd.Series, usable: NDArray[np.int64], part: float
) -> Measured | None:
    """Return a quantile of the times that began in usable windows; None if there are too few.

    Its interval is given by the quantiles of single windows.
    """
    window = (since_ns // _WINDOW_NS).to_numpy(np.int64)
    kept = np.isin(window, usable)
    window, values = window[kept], times.to_numpy(float)[kept]
    if len(values) < _LEAST_ROOTS:
        return None
    value = float(np.quantile(values, part))
    half = _half_width(np.array([np.quantile(values[window == each], part) for each in np.unique(window)]))
    return Measured(value, max(0.0, value - half), value + half, len(values))
