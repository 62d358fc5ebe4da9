"""Settings have the effects that they have in Storm; those that a version does not have are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.times import timers_of
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.emulation import Emulation
from storm_lab.emulator.queue_sizes import QueueSizes
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.spec import check_spec
from storm_lab.errors import UserError
from storm_lab.model import StormVersion, settings
from storm_lab.model.version import V0_8_2, V0_9_7, V1_0_0, V2_8_8
from tests.control.real_world import TOPOLOGY, play, spec
from tests.emulator.scene import MS, SATURATED, SECOND, Scene, apart, nodes, rate, start_chain, together


def overloaded(version: StormVersion, place: Any = together, spouts: int = 1, **given: Any) -> Scene:
    """Half a second of a saturated spout and a bolt that takes a millisecond a tuple."""
    scene = start_chain((spouts, 1), MS, SATURATED, nodes(2), place, given=given, version=version)
    scene.plane.run_until(SECOND // 2)
    return scene


def longest_receive_queue(scene: Scene) -> int:
    k = scene.plane.kernel
    main = k.executor["main_thread"][k.component["is_spout"][k.executor["component"]] == 0]
    return int(max(k.thread["places"][main]))


@pytest.mark.parametrize(
    ("version", "size", "places"),
    [(V0_8_2, 16, 16), (V0_9_7, 16, 16), (V2_8_8, 16, 16), (V2_8_8, 20, 32)],
    ids=str,
)
def test_the_receive_buffer_size_sets_the_places_of_a_receive_queue(
    version: StormVersion, size: int, places: int
) -> None:
    scene = overloaded(version, **{settings.RECEIVE_BUFFER: size})
    assert longest_receive_queue(scene) == places
    # With the default size the queue grows longer.
    assert longest_receive_queue(overloaded(version)) > places


@pytest.mark.parametrize("version", [V0_8_2, V0_9_7], ids=str)
def test_up_to_0_10_a_place_of_a_queue_holds_all_that_is_handed_over_at_once(version: StormVersion) -> None:
    k = overloaded(version, **{settings.RECEIVE_BUFFER: 16}).plane.kernel
    main = k.executor["main_thread"][k.component["is_spout"][k.executor["component"]] == 0]
    tuples = k.thread["length"][main] + k.thread["held"][main]
    assert max(k.thread["places"][main]) == 16
    assert max(tuples) > 2 * 16


def test_send_and_transfer_buffer_sizes_set_the_places_of_their_queues() -> None:
    given = {settings.SEND_BUFFER: 4, settings.TRANSFER_BUFFER: 2}
    assert QueueSizes.of(V0_9_7, given) == QueueSizes(main=1024, send=4, transfer=2)
    assert QueueSizes.of(V1_0_0, given) == QueueSizes(main=8192, send=4, transfer=16)
    assert QueueSizes.of(V2_8_8, {settings.TRANSFER_BUFFER: 7}) == QueueSizes(32768, 1, 7)
    # A spout that finds its send queue full sleeps.
    ahead = overloaded(V0_8_2, apart).plane.kernel
    held = overloaded(V0_8_2, apart, **{settings.SEND_BUFFER: 4}).plane.kernel
    assert 3 * max(held.task["emitted"]) < max(ahead.task["emitted"])
    assert most_to_send(**{settings.TRANSFER_BUFFER: 2}) == 2
    assert most_to_send() > 2


def most_to_send(**given: Any) -> int:
    """Largest number of places seen in use in the transfer queue of the spouts' worker."""
    plane = overloaded(V0_8_2, apart, spouts=8, **given).plane
    worker = plane.kernel.worker[plane.kernel.worker["node"] == 0][0]
    most = 0
    for step in range(500):
        plane.run_until(SECOND // 2 + 37_000 * step)
        most = max(most, int(plane.kernel.thread[worker.transfer_thread].places))
    return most


def enqueued(batch: int | None) -> list[int]:
    """Instants at which the last sixteen of 64 tuples that arrive together are put into the bolt's queue."""
    given = {} if batch is None else {settings.RECEIVER_BATCH: batch}
    scene = start_chain(
        (1, 1),
        0,
        SourcePlan(
            SourceKind.TRACE,
            arrivals_ns=np.zeros(64, np.int64),
            arrival_period_ns=100 * SECOND,
            anchored=False,
        ),
        nodes(2),
        apart,
        given=given,
    )
    scene.play(SECOND)
    times = scene.tape.column("executions", "enqueue_ns")
    return [int(t) for t in np.sort(times)[-16:]]


def test_a_receive_thread_hands_over_as_many_tuples_at_once_as_its_buffer_size_says() -> None:
    alone, default, wide = enqueued(1), enqueued(None), enqueued(16)
    assert len(set(alone)) == 16
    assert len(set(default)) < 16
    assert len(set(wide)) <= len(set(default)) < len(set(alone))


def found(version: StormVersion, **given: Any) -> list[int]:
    scene = start_chain((1, 1), 0, rate(3.0), given=given, version=version, ideal=True)
    scene.play(2 * SECOND)
    return [int(t) for t in np.sort(scene.tape.column("executions", "enqueue_ns"))]


def test_an_idle_spout_sleeps_as_long_as_its_wait_strategy_says() -> None:
    # Lines come at 0, 333, 667, 1000 ms, ...; each is found at the next turn.
    assert found(V0_9_7, **{settings.SPOUT_SLEEP_MS: 250})[:5] == [
        0,
        500 * MS,
        750 * MS,
        1000 * MS,
        1500 * MS,
    ]


def test_an_idle_spout_of_2_x_sleeps_as_long_as_its_last_wait_level_says() -> None:
    sleepy = found(V2_8_8, **{settings.SPOUT_SLEEP_2_MS: 250})
    assert sleepy == found(V0_9_7, **{settings.SPOUT_SLEEP_MS: 250})


def test_an_idle_bolt_of_2_x_parks_and_sleeps_as_the_clusters_settings_say() -> None:
    def waits(**given: int) -> tuple[float, float]:
        """Longest wait of a tuple in the bolt's queue and CPU of all executors, both in ms."""
        scene = start_chain((1, 1), 0, rate(3.0), version=V2_8_8, cost=CostModel(), settings=given)
        scene.plane.run_until(10 * SECOND)
        cpu = sum(scene.plane.sample().executor_cpu_ns.values())
        scene.plane.finish()
        return float(scene.tape.spans("enqueue_ns", "start_ns").max()) / MS, cpu / MS

    parks, coarse = settings.BOLT_PARKS, settings.BOLT_SLEEP_MS
    (usual, cpu), (never, little) = waits(), waits(**{parks: 0})
    assert usual < 1.5
    assert little < cpu
    assert 1.5 < waits(**{coarse: 40})[0] < 41
    # The bolt never leaves the fine polls: 333 ms are 6,000 parks.
    assert waits(**{parks: 10_000, coarse: 40})[0] < 0.2
    assert never < 1.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({settings.PRODUCER_BATCH: 20_000}, r"producer\.batch\.size = 20000: .* half of its queue"),
        ({settings.NETTY_HIGH: 1000}, r"low\.watermark = 8388608: .*give at most 1000"),
    ],
    ids=str,
)
def test_sizes_with_which_workers_do_not_start_are_refused_before_a_run(
    given: dict[str, int], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        check_spec(replace(spec(version=V2_8_8), settings=given))


def test_every_timer_has_its_setting() -> None:
    for number, (key, (timer, _)) in enumerate(settings.TIMERS.items()):
        made = timers_of(V0_9_7, {key: 7.5 + number})
        assert made == replace(timers_of(V0_9_7), **{timer: 7.5 + number})  # type: ignore[arg-type]
    assert timers_of(V2_8_8, {"supervisor.monitor.frequency.secs": 1}) == replace(
        timers_of(V2_8_8), slot_running_s=1.0
    )


def test_supervisor_periods_decide_when_a_dead_worker_is_replaced() -> None:
    slot = {"node": "node01", "port": 6700}
    kill = FaultPlan.of_rows([{"fault": "kill-worker", "at_s": 30, **slot}])

    def replaced_s(**given: float) -> float:
        run = replace(spec(duration_s=75.0, faults=kill), timers=None, settings=given)
        starts = [
            d.time_ns / SECOND
            for d in play(run).outcome.decisions
            if d.action == "start-worker" and d.subject == "node01:6700"
        ]
        return starts[1] - 30.0

    # The last heartbeat is up to 1 s older than the kill and times out after 30 s; checks are 3 s apart.
    assert 29.0 <= replaced_s() <= 34.0
    assert 4.0 <= replaced_s(**{"supervisor.worker.timeout.secs": 5}) <= 9.0
    brisk = {"supervisor.worker.timeout.secs": 5, "supervisor.monitor.frequency.secs": 0.01}
    assert replaced_s(**brisk) == pytest.approx(5.0, abs=1.02)


def test_the_clusters_settings_are_defaults_of_its_topologies() -> None:
    (plan,) = spec().topologies
    own = replace(plan, topology=replace(TOPOLOGY, settings={settings.SEND_BUFFER: 8}))
    given = {settings.SEND_BUFFER: 2, settings.RECEIVE_BUFFER: 64}
    run = Emulation(replace(spec(), topologies=(own,), settings=given))
    assert run.spec.topologies[0].topology.settings == {settings.SEND_BUFFER: 8, settings.RECEIVE_BUFFER: 64}


@pytest.mark.parametrize(
    ("version", "given", "message"),
    [
        (V2_8_8, {settings.SEND_BUFFER: 8}, "that Storm 2.8.8 does not have; .* exists before 2.0.0"),
        (V0_9_7, {settings.BACK_PRESSURE: True}, "exists from 1.0.0 on and before 2.0.0"),
        (V0_9_7, {settings.RECEIVE_BUFFER: 100}, "= 100: topology 'tree' needs a power of two.*give 128"),
        (V0_9_7, {settings.MESSAGE_TIMEOUTS: False}, "switched off, which the emulator does not support"),
    ],
    ids=str,
)
def test_a_setting_that_the_version_does_not_have_is_refused(
    version: StormVersion, given: dict[str, Any], message: str
) -> None:
    run = spec(version=version)
    (plan,) = run.topologies
    with pytest.raises(UserError, match=message):
        Emulation(replace(run, topologies=(replace(plan, topology=replace(TOPOLOGY, settings=given)),)))


def test_buffer_sizes_need_not_be_powers_of_two_from_2_0_on() -> None:
    run = spec(version=V2_8_8)
    (plan,) = run.topologies
    wide = replace(TOPOLOGY, settings={settings.RECEIVE_BUFFER: 100})
    Emulation(replace(run, topologies=(replace(plan, topology=wide),)))
