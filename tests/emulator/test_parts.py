"""Parts of a cluster that exchange nothing are played one after the other; each does what it does anyway."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scene import MS, Tape

from storm_lab.bench._kernel_model import COST, Model, _topology, _trace, placed
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.events import parts
from storm_lab.emulator.events.parts import Parts
from storm_lab.emulator.setup.dataplane import DataPlane
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.model import Cluster, Executor, Node, Slot, StormVersion
from storm_lab.model.version import V0_8_2, V1_0_0, V2_0_0
from tests.emulator.uncompiled import printed

MODEL = Model(spouts=1, bolts=4, ackers=1, nodes=2, rate_per_s=900.0, copies=6, lines=101)
APART = (0, 2, 4, 6, 8, 10)
CHAINED = (0, 1, 3, 4, 6, 7)
"""First of each topology's two nodes: here a topology begins where the one before it ends."""

Log = dict[str, list[tuple[Any, ...]]]


class Play:
    """Topologies that run, each on two nodes; every execution is logged."""

    def __init__(
        self, first_nodes: Sequence[int] = APART, version: StormVersion = V1_0_0, cost: CostModel = COST
    ) -> None:
        self.tape = Tape()
        trace, source = _trace(MODEL), SourcePlan(SourceKind.RATE, rate_per_s=MODEL.rate_per_s)
        topologies = [_topology(MODEL, i) for i in range(MODEL.copies)]
        plans = [TopologyPlan(topology, trace, {"spout": source}) for topology in topologies]
        cluster = Cluster(tuple(Node(f"node{i}", cores=4, memory_mb=65536.0) for i in range(12)))
        self.plane = DataPlane(cluster, version, cost, plans, seed=1, recorder=self.tape)
        for topology, first in zip(topologies, first_nodes, strict=True):
            self.start(topology.id, placed(MODEL, topology, first))

    def start(self, topology: str, slots: Mapping[Slot, Sequence[Executor]]) -> list[int]:
        """Start a topology's workers, which know each other; returns their numbers."""
        workers = [self.plane.start_worker(slot, topology, group) for slot, group in slots.items()]
        view = {e: worker for worker, group in zip(workers, slots.values(), strict=True) for e in group}
        for worker in workers:
            self.plane.connect(worker, view)
            self.plane.activate(worker, True)
        return workers

    def until(self, *stops_ms: int) -> Play:
        for stop in stops_ms:
            self.plane.run_until(stop * MS)
        return self

    @property
    def parts(self) -> int:
        return int(self.plane.kernel.s[0].parts)

    def log(self) -> Log:
        """Every table's rows, sorted, without the numbers of roots."""
        self.plane.finish()
        tables = {}
        for table, chunks in self.tape.rows.items():
            columns = [self.tape.column(table, name).tolist() for name in chunks[0] if name != "root_id"]
            tables[table] = sorted(zip(*columns, strict=True))
        return tables

    def digest(self) -> str:
        """Of all rows as they stand in the log, and of what the tasks have drawn."""
        self.plane.finish()
        sums = hashlib.sha256(self.plane.kernel.task["rng"].tobytes())
        for table in sorted(self.tape.rows):
            for name in sorted(self.tape.rows[table][0]):
                sums.update(repr(self.tape.column(table, name).tolist()).encode())
        return sums.hexdigest()


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few parts are enough to be played one after the other."""
    monkeypatch.setattr(parts, "LEAST_PARTS", 2)


@pytest.mark.parametrize(
    ("first_nodes", "count", "version"),
    [(APART, 6, V0_8_2), (APART, 6, V1_0_0), (APART, 6, V2_0_0), (CHAINED, 3, V1_0_0)],
)
def test_each_part_does_the_same_as_when_all_is_one(
    first_nodes: tuple[int, ...], count: int, version: StormVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Play(first_nodes, version).until(500)
    monkeypatch.setattr(parts, "LEAST_PARTS", 2)
    several = Play(first_nodes, version).until(500)
    # What belongs to no topology is a part, too.
    assert (one.parts, several.parts) == (0, count + 1)
    together, apart = one.log(), several.log()
    assert len(together["executions"]) > 4000
    assert apart == together
    numbers = [play.tape.column("roots", "root_id") for play in (one, several)]
    assert not np.array_equal(*numbers)
    assert np.array_equal(*map(np.sort, numbers))


@pytest.mark.usefixtures("divided")
def test_shared_uplinks_and_large_parts_are_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Play(cost=replace(COST, uplink_mbps=100.0)).until(50).parts == 0
    monkeypatch.setattr(parts, "_LARGEST_PART", 10)
    assert Play().until(50).parts == 0


@pytest.mark.usefixtures("divided")
def test_a_root_keeps_its_number_in_all_tables() -> None:
    play = Play().until(500)
    play.plane.finish()
    topology_of = dict(
        zip(*(play.tape.column("roots", name).tolist() for name in ("root_id", "topology")), strict=True)
    )
    executions = [play.tape.column("executions", name).tolist() for name in ("root_id", "topology")]
    assert all(topology_of[number] == topology for number, topology in zip(*executions, strict=True))


@pytest.mark.usefixtures("divided")
def test_stops_between_cut_windows_and_change_nothing() -> None:
    whole = Play().until(500)
    assert whole.plane.kernel.s[0].window > 7 * MS
    assert Play().until(*range(7, 500, 7), 500).log() == whole.log()


@pytest.mark.usefixtures("divided")
def test_a_full_log_within_a_window_changes_nothing() -> None:
    whole, cut = Play(), Play()
    # Emptied at every fourth row or so: one turn of a spout may write 1024, and four are kept free.
    cut.plane.kernel.s[0].root_rows_most = 4 * 1024 + 4
    cut.plane.kernel.s[0].execution_rows_most = 8
    assert cut.until(500).digest() == whole.until(500).digest()
    assert len(cut.tape.rows["executions"]) > 100 * len(whole.tape.rows["executions"])


@pytest.mark.usefixtures("divided")
def test_an_observer_sees_every_event_and_changes_nothing() -> None:
    whole, watched = Play().until(100), Play()
    before, seen = watched.plane.events, []
    watched.plane.observe(lambda k: seen.append(int(k.event["time"][0])))
    assert watched.until(100).digest() == whole.digest()
    assert len(seen) == watched.plane.events - before
    assert seen != sorted(seen)


def played_with_changes() -> tuple[list[int], Log]:
    """A worker moves to another topology's node, a link is cut for a while, a node and a load change; the
    numbers of parts in between, and the log.
    """
    play = Play()
    seen = [play.until(100).parts]
    slots = placed(MODEL, _topology(MODEL, 0), 0)
    for worker in (0, 1):
        play.plane.stop_worker(worker)
    seen.append(play.until(150).parts)
    first, second = slots
    play.start("bench0", {first: slots[first], Slot("node3", 6701): slots[second]})
    play.plane.set_link("node4", "node5", cut=True)
    seen.append(play.until(200).parts)
    play.plane.set_node_speed("node6", 0.5)
    play.plane.set_load("bench4", "spout", 300.0)
    play.plane.set_link("node4", "node5", cut=False)
    seen.append(play.until(400).parts)
    return seen, play.log()


def test_workers_links_and_loads_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    none, together = played_with_changes()
    monkeypatch.setattr(parts, "LEAST_PARTS", 2)
    several, apart = played_with_changes()
    assert (none, several) == ([0, 0, 0, 0], [7, 7, 6, 6])
    assert apart == together


@pytest.mark.usefixtures("divided")
def test_an_event_of_another_part_in_the_heap_is_an_error() -> None:
    play = Play().until(50)
    k = play.plane.kernel
    housekeeping = int(k.s[0].timers) + 2 * int(k.worker[0].housekeeping_thread) + 1
    assert k.slot[housekeeping].part == 1
    k.slot[housekeeping].part = 2
    with pytest.raises(RuntimeError, match="another part"):
        play.until(200)


def digest_after(stop_ms: int) -> str:
    return Play().until(stop_ms).digest()


@pytest.mark.usefixtures("divided")
def test_parts_are_the_same_without_the_compiler() -> None:
    always = "from storm_lab.emulator.events import parts; parts.LEAST_PARTS = 2"
    assert printed(__name__, "t.digest_after(60)", always) == digest_after(60)


def test_nodes_are_joined_by_every_topology_that_has_been_there() -> None:
    cluster = Parts(nodes=6, topologies=4)
    cluster.join(0, 0)
    cluster.join(1, 0)
    cluster.join(2, 1)
    cluster.join(3, 2)
    apart = cluster.table().tolist()
    assert apart == [1, 1, 2, 3, 0, 0, 1, 2, 3, 0]
    cluster.join(3, 1)
    assert cluster.table().tolist() == [1, 1, 2, 2, 0, 0, 1, 2, 2, 0]
