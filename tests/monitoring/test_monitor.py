"""What the monitors write about executors that stop, move or end, and their moving average."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from storm_lab.emulator.plane import WindowSample
from storm_lab.errors import UserError
from storm_lab.model import Assignment, Cluster, Executor, Node, Slot, executors_of
from storm_lab.model.version import V2_0_0
from storm_lab.monitoring.database import LoadDatabase, WindowLoad
from storm_lab.monitoring.monitor import LoadMonitor, MovingAverages
from tests.schedulers.clusters import chain

NS = 1_000_000_000
CHAIN = chain("t", [1, 1])
FIRST, LAST = executors_of(CHAIN, V2_0_0)
SLOTS = {1: Slot("n1", 6700), 2: Slot("n1", 6701), 3: Slot("n2", 6700)}
"""By worker."""


class Monitored:
    """A monitor with windows of 10 s and an alpha of 0.5, on nodes of 2000 MHz."""

    def __init__(self) -> None:
        self.database = LoadDatabase()
        self.nimbus = SimpleNamespace(topologies={"t": CHAIN}, submitted={"t": CHAIN}, present=Assignment())
        control: Any = SimpleNamespace(
            cluster=Cluster((Node("n1"), Node("n2"))),
            version=V2_0_0,
            nimbus=self.nimbus,
            fleet=SimpleNamespace(by_id=lambda worker: SimpleNamespace(slot=SLOTS[worker])),
        )
        sampler: Any = SimpleNamespace(listen=lambda listener: None)
        self._monitor = LoadMonitor(control, sampler, self.database, 0.5)
        self._monitor.after_window(self._keep)
        self._windows = 0

    def _keep(self, load: WindowLoad) -> None:
        self.window = load

    def take(self, seconds: dict[tuple[int, Executor], float], tuples: int = 0) -> WindowLoad:
        """Take a window: seconds of CPU by worker and executor, and tuples from the first to the second."""
        start = 10 * NS * self._windows
        self._windows += 1
        self._monitor.take(
            WindowSample(
                start_ns=start,
                end_ns=start + 10 * NS,
                executor_cpu_ns={key: int(value * NS) for key, value in seconds.items()},
                traffic={("t", FIRST.start, LAST.start): tuples} if tuples else {},
                queued=dict.fromkeys(seconds, 7),
                failed={},
            )
        )
        return self.window


@pytest.fixture
def monitored() -> Monitored:
    return Monitored()


def test_an_executor_whose_worker_restarts_keeps_its_average_as_its_traffic_does(
    monitored: Monitored,
) -> None:
    monitored.take({(1, FIRST): 1.0, (2, LAST): 2.0}, tuples=100)
    second = monitored.take({(1, FIRST): 1.0}).executors[LAST]
    assert (second.slot, second.mhz_sample, second.mhz_average, second.queued) == (SLOTS[2], 0.0, 200.0, 0)
    load = monitored.database.load()
    assert load is not None
    assert load.cpu_mhz == {FIRST: 200.0, LAST: 200.0}
    assert load.traffic == {(FIRST, LAST): 5.0}


def test_an_executor_that_has_moved_is_in_the_slot_of_its_newest_worker(monitored: Monitored) -> None:
    monitored.take({(1, FIRST): 1.0})
    both = monitored.take({(1, FIRST): 0.5, (3, FIRST): 1.5})
    assert (both.executors[FIRST].slot, both.executors[FIRST].mhz_sample) == (SLOTS[3], 400.0)
    assert (both.nodes["n1"][0], both.nodes["n2"][0]) == (100.0, 300.0)
    assert monitored.take({}).executors[FIRST].slot == SLOTS[3]


def test_an_executor_that_has_moved_to_an_older_worker_is_in_the_slot_that_is_assigned_to_it(
    monitored: Monitored,
) -> None:
    monitored.take({(3, FIRST): 1.0})
    monitored.nimbus.present = Assignment({FIRST: SLOTS[1]})
    assert monitored.take({(3, FIRST): 1.0}).executors[FIRST].slot == SLOTS[3]
    both = monitored.take({(1, FIRST): 0.5, (3, FIRST): 1.5})
    assert (both.executors[FIRST].slot, both.executors[FIRST].mhz_sample) == (SLOTS[1], 400.0)
    assert monitored.take({(1, FIRST): 1.0}).executors[FIRST].slot == SLOTS[1]


def test_nothing_stays_of_a_killed_topology_once_its_workers_have_ended(monitored: Monitored) -> None:
    monitored.take({(1, FIRST): 1.0, (2, LAST): 2.0}, tuples=100)
    monitored.nimbus.topologies.clear()
    assert monitored.take({(1, FIRST): 1.0}).executors.keys() == {FIRST, LAST}
    ended = monitored.take({})
    assert (ended.executors, ended.traffic) == ({}, {})


def test_the_average_starts_with_the_first_sample_and_weighs_the_past_with_alpha() -> None:
    averages: MovingAverages[str] = MovingAverages(0.25)
    found = []
    for sample in (100.0, 0.0, 50.0):
        averages.add({"a": sample})
        found.append(averages.values["a"])
    assert found == [100.0, 25.0, 43.75]


def test_the_average_of_a_key_without_new_samples_decays() -> None:
    averages: MovingAverages[str] = MovingAverages(0.5)
    averages.add({"a": 8.0})
    averages.add({})
    averages.add({"b": 1.0})
    assert averages.values == {"a": 2.0, "b": 1.0}


@pytest.mark.parametrize("alpha", [-0.1, 1.0, 2.0])
def test_a_weight_outside_its_range_is_refused(alpha: float) -> None:
    with pytest.raises(UserError, match="alpha"):
        MovingAverages(alpha)
