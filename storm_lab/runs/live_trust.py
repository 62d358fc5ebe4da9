"""How far to trust the emulator: compares recorded runs of real Storm with emulations of their sittings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pandas as pd

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.live.releases import Release, find_release
from storm_lab.live.suite.build import SUITE_COST, as_played
from storm_lab.live.suite.compare import Ordering, Row, Trust, compare_sitting, orderings_of
from storm_lab.live.suite.measure import RunTables
from storm_lab.live.suite.scene import Measure, Scene, Sitting
from storm_lab.live.suite.sittings import SITTINGS
from storm_lab.machine.facts import usable_cores
from storm_lab.model.machines import LIVE
from storm_lab.runs.live_constants import read_costs
from storm_lab.runs.live_play import EXPERIMENT, records_folder
from storm_lab.runs.play import play_aside
from storm_lab.runs.pool import Advance, Pool
from storm_lab.tuplelog import Run, RunRefused, open_run

SEEDS = (1, 2, 3)
"""Seeds with which the emulator plays each sitting."""
TIMES = 3
"""How many times as many seeds a sitting has whose scenes are single times of the control plane."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded run with its sitting, and its machine as named by its folder, if any."""

    run: Run
    sitting: Sitting
    release: Release
    mhz: float
    machine: str = ""

    @property
    def label(self) -> str:
        """Name of the release that was played."""
        return self.release.label

    @property
    def start_cpu_s(self) -> float | None:
        """CPU time in s that starting a worker's JVM took: the median; None if none started."""
        starts = start_cpu_s(self.run)
        return median(starts) if starts else None

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """The scenes of its sitting."""
        return self.sitting.scenes(self.release.storm)

    def describe(self) -> EmulationSpec:
        """Description of what was played, for the version and clock that it was played on."""
        return self.sitting.describe(self.release.storm, self.mhz)

    def tables(self) -> RunTables:
        """The tables of the run."""
        return RunTables(self.run, self.describe())


def start_cpu_s(run: Run) -> list[float]:
    """Return the CPU of each worker's JVM from its start until it was ready, in s, over all of its threads.

    Of the window in which it became ready, the part before that time counts.
    """
    control = run.table("control", ("time_ns", "action", "detail")).to_pandas()
    cpu = run.table("cpu", ("start_ns", "end_ns", "worker", "cpu_ms")).to_pandas()
    ready = control[control["action"] == "worker-ready"]
    worker = ready["detail"].str.extract(r'"worker":\s*(\d+)')[0].dropna().astype(int)
    found = []
    for index, number in worker.items():
        own, up_ns = cpu[cpu["worker"] == number], ready.loc[index, "time_ns"]
        began, ended = own["start_ns"].to_numpy(float), own["end_ns"].to_numpy(float)
        before = np.clip((up_ns - began) / np.maximum(1.0, ended - began), 0.0, 1.0)
        used_s = float((own["cpu_ms"].to_numpy(float) * before).sum()) / 1e3
        if used_s > 0:
            found.append(used_s)
    return found


def with_measured_jvm_start(cost: CostModel, plays: Sequence[Recorded]) -> CostModel:
    """Return the costs with the JVM start cost of these plays: the mean of their medians.

    It depends on Java and the machine, and differs from day to day far more than anything else: 2.3 to 2.8 s
    on some days, 3.8 to 4.4 on others, when a tuple takes a sixth more.
    """
    taken = [(play.start_cpu_s, play.mhz) for play in plays]
    found = [took_s * mhz * LIVE / cost.reference_mhz for took_s, mhz in taken if took_s is not None]
    return replace(cost, jvm_start_cpu_s=fmean(found)) if found else cost


def recorded_runs(home: Path) -> list[Recorded]:
    """Read the recorded runs in a folder, or in its folders of several machines, ordered by sitting.

    Raises `UserError` if there is none, one is damaged, or a sitting's description has changed since.
    """
    found = []
    manifests = [*home.glob("*/manifest.json"), *home.glob("*/*/manifest.json")]
    for folder in sorted(path.parent for path in manifests):
        try:
            run = open_run(folder)
        except RunRefused as refusal:
            remedy = "run storm-lab live record"
            raise UserError(str(refusal), field="record", value=str(folder), remedy=remedy) from refusal
        found.append(_recorded(run, "" if folder.parent == home else folder.parent.name))
    if not found:
        remedy = "run storm-lab live record"
        raise UserError("there are no recorded runs", field="folder", value=str(home), remedy=remedy)
    order = list(SITTINGS)

    def place(each: Recorded) -> tuple[str, int, str, str]:
        return each.machine, order.index(each.sitting.name), each.label, each.run.manifest.run

    return sorted(found, key=place)


def _recorded(run: Run, machine: str) -> Recorded:
    identity = run.manifest.identity
    if identity.experiment != EXPERIMENT or identity.variant not in SITTINGS:
        message = "not a recorded run of the suite"
        raise UserError(message, field="record", value=str(run.folder), remedy="move it away")
    sitting, mhz = SITTINGS[identity.variant], float(identity.parameters["mhz"] or 0.0)
    release = find_release(identity.storm_version)
    spec = sitting.describe(release.storm, mhz)
    digests = {plan.topology.id: plan.trace.digest for plan in spec.topologies}
    length_differs = abs(run.manifest.duration_ns / 1e9 - spec.duration_s) > 1.0
    code_differs = bool(identity.parameters.get("c1_only", False)) != sitting.c1_only
    if digests != dict(identity.inputs) or length_differs or code_differs:
        message = "the sitting's description has changed since this was recorded"
        raise UserError(message, field="record", value=str(run.folder), remedy="run storm-lab live record")
    return Recorded(run, sitting, release, mhz, machine)


Costs = Mapping[str, Mapping[str, CostModel]]
"""Cost models by machine and generation of Storm."""


def costs_of(recorded: Iterable[Recorded], home: Path, given: Path | None = None) -> Costs:
    """Cost models by machine, from a given file or those beside the runs; `UserError` if one is unusable."""
    return {name: read_costs(home / name, given) for name in dict.fromkeys(each.machine for each in recorded)}


@contextmanager
def emulated(play: Recorded, seed: int, cost: CostModel) -> Iterator[RunTables]:
    """Emulate what was recorded and yield the tables."""
    spec = replace(as_played(play.describe(), cost), seed=seed)
    with tempfile.TemporaryDirectory(prefix="storm-lab-") as scratch:
        yield RunTables(play_aside(spec, EXPERIMENT, play.sitting.name, Path(scratch) / "run"), spec)


Repeats = tuple[Sequence[Recorded], CostModel]
"""The plays of one sitting on one machine, and the costs with which it is emulated."""


def compare(
    recorded: Sequence[Recorded],
    costs: Costs,
    *,
    seeds: Sequence[int] = SEEDS,
    advance: Callable[[int, float], None] = lambda number, share: None,
) -> Trust:
    """Compare all recorded runs with emulations, in the order of `recorded_runs`; one process per core.

    ``costs`` are by machine; without any, the cost model's own constants apply. ``advance`` is called with
    the number of each emulated sitting, from 0 on, and the share of it that is done. Raises `StormLabError`
    if an emulation fails.
    """
    tasks = []
    for (machine, *_), group in groupby(recorded, key=play_of):
        members = list(group)
        known, generation = costs.get(machine, {}), members[0].release.generation
        cost = known.get(members[0].sitting.code_of(generation), known.get(generation)) or SUITE_COST
        tasks.append((members, with_measured_jvm_start(cost, members)))
    pool: Pool[Repeats, list[Row]] = Pool(usable_cores(), partial(_rows_of, tuple(seeds)), name=_name_of)
    found = pool.do(tasks, advance)
    orderings: list[Ordering] = []
    for number, (members, _) in enumerate(tasks):
        first, rows = members[0], {row.name: row for row in found[number]}
        orderings += orderings_of(first.sitting, first.label, rows, first.machine)
    return Trust(tuple(row for number in range(len(tasks)) for row in found[number]), tuple(orderings))


def seeds_for(scenes: Iterable[Scene], seeds: Sequence[int]) -> list[int]:
    """Seeds of a sitting with these scenes: those given and, if all scenes are single times, further ones."""
    times_only = all(set(scene.measures) == {Measure.CONTROL} for scene in scenes)
    return [seed + number * max(seeds) for number in range(TIMES if times_only else 1) for seed in seeds]


def _rows_of(seeds: Sequence[int], repeats: Repeats, advance: Advance) -> list[Row]:
    """Emulate a sitting with all of its seeds and compare its scenes with the recorded ones."""
    members, cost = repeats
    first = members[0]
    seeds = seeds_for(first.scenes, seeds)
    with ExitStack() as plays:
        played = []
        for done, seed in enumerate(seeds):
            advance(done / len(seeds))
            played.append(plays.enter_context(emulated(first, seed, cost)))
        live = [each.tables() for each in members]
        return compare_sitting(first.sitting, first.label, first.scenes, live, played, first.machine)


def _name_of(repeats: Repeats) -> str:
    return "sitting " + " ".join(part for part in play_of(repeats[0][0]) if part)


def play_of(recorded: Recorded) -> tuple[str, str, str]:
    """Key of the repeats that share one emulation: machine, sitting and release of Storm."""
    return recorded.machine, recorded.sitting.name, recorded.label


def trust_of(seeds: Sequence[int]) -> Trust:
    """Compare the project's recorded runs, with the constants stored beside them; `UserError` if unusable."""
    folder = records_folder()
    recorded = recorded_runs(folder)
    return compare(recorded, costs_of(recorded, folder), seeds=seeds)


def machine_words(recorded: Sequence[Recorded]) -> str:
    """Text that names the machine of the recorded runs, or all machines if there are several."""
    facts = [each.run.manifest.conditions for each in recorded]
    return " and ".join(dict.fromkeys(f"{each['cores']} cores of {each['processor']}" for each in facts))


def conditions_table(recorded: Sequence[Recorded]) -> pd.DataFrame:
    """Machine and load of each recorded run, one row per run."""
    return pd.DataFrame(
        {"sitting": each.sitting.name}
        | {title: each.run.manifest.conditions[name] for title, name in _CONDITIONS.items()}
        for each in recorded
    )


_CONDITIONS = {
    "Storm": "storm",
    "processor": "processor",
    "cores": "cores",
    "Storm's cores": "storm_cores",
    "busy cores": "busy_cores",
    "load average": "load_average",
}
"""Columns of `conditions_table`, and their keys in a manifest."""
