"""Compare the data plane without overheads with the closed forms of queueing theory.

Sojourn times come from the tuple log: from entry into the receive queue to the end of execute.
"""

from __future__ import annotations

import numpy as np
import pytest

from storm_lab.emulator.source import SourceKind, SourcePlan
from tests.emulator.scene import MS, SECOND, Scene, constant_work, nodes, poisson, start_chain

COUNT = 60_000
MEAN = 2 * MS


def check_sojourn(scene: Scene, expected_ms: float, component: str = "bolt0") -> None:
    """Compare the mean with its 99.9 % interval from 20 batch means (Student's t, 19 degrees of freedom)."""
    rows = scene.tape.column("executions", "component") == component
    sojourn_ms = scene.tape.spans("enqueue_ns", "end_ns")[rows] / MS
    means = [batch.mean() for batch in np.array_split(sojourn_ms, 20)]
    assert abs(np.mean(means) - expected_ms) <= 3.88 * np.std(means, ddof=1) / np.sqrt(20)


def run_queue(costs, load: float, executors=None, cores: int = 4) -> Scene:
    rate = load * SECOND / MEAN
    scene = start_chain(
        executors or (1,) * (len(costs) + 1), costs, poisson(rate, COUNT), nodes(1, cores=cores), ideal=True
    )
    scene.play(int(COUNT / rate * SECOND))
    return scene


def exponential(seed: int):
    return np.random.default_rng(seed).exponential(MEAN, COUNT).astype(np.int64)


def test_one_bolt_with_poisson_input_and_exponential_work_is_mm1() -> None:
    scene = run_queue([exponential(3)], load=0.7)
    check_sojourn(scene, 2 / (1 - 0.7))


def test_one_bolt_with_constant_work_is_md1() -> None:
    scene = run_queue([constant_work(MEAN, COUNT)], load=0.7)
    check_sojourn(scene, 2 + 2 * 0.7 / (2 * (1 - 0.7)))


def test_two_bolts_in_a_row_are_a_tandem_of_mm1() -> None:
    scene = run_queue([exponential(3), exponential(4)], load=0.6)
    for component in ("bolt0", "bolt1"):
        check_sojourn(scene, 2 / (1 - 0.6), component)


def test_littles_law_holds_for_every_bolt() -> None:
    scene = run_queue([exponential(3), exponential(4)], load=0.6)
    tape, end = scene.tape, scene.plane.now_ns
    component = tape.column("executions", "component")
    for name in ("bolt0", "bolt1"):
        rows = component == name
        enter = tape.column("executions", "enqueue_ns")[rows]
        leave = tape.column("executions", "end_ns")[rows]
        # Time average of the number inside, by integrating its steps.
        times = np.concatenate([enter, leave])
        steps = np.concatenate([np.ones(len(enter)), -np.ones(len(leave))])
        order = np.argsort(times, kind="stable")
        inside = np.cumsum(steps[order])[:-1] @ np.diff(times[order]) / end
        assert inside == pytest.approx(len(enter) / end * (leave - enter).mean(), rel=1e-3)


def test_many_threads_on_one_core_share_it_as_mg1_processor_sharing() -> None:
    """With an executor for every tuple, a core is M/M/1 processor sharing: mean sojourn E[S] / (1 - load)."""
    scene = run_queue([exponential(3)], load=0.6, executors=(1, 400), cores=1)
    check_sojourn(scene, 2 / (1 - 0.6))


def test_processor_sharing_is_insensitive_to_the_distribution_of_work() -> None:
    rng = np.random.default_rng(5)
    draws = np.where(rng.random(COUNT) < 0.9, 1 * MS, 11 * MS).astype(np.int64)
    scene = run_queue([draws], load=0.6, executors=(1, 400), cores=1)
    check_sojourn(scene, 2 / (1 - 0.6))


def test_many_threads_on_three_cores_have_the_mean_sojourn_time_of_mm3() -> None:
    """Fair sharing of c cores keeps the number in system of M/M/c (work is exponential): Erlang's C holds."""
    scene = run_queue([exponential(3)], load=3 * 0.7, executors=(1, 400), cores=3)
    a, c = 3 * 0.7, 3
    tail = a**c / (1 * 2 * 3) * c / (c - a)
    waiting = tail / (sum(a**i / f for i, f in ((0, 1), (1, 1), (2, 2))) + tail)
    expected = 2 + waiting * 2 / (c - a)
    check_sojourn(scene, expected)


def test_a_closed_loop_of_calls_has_the_throughput_of_mean_value_analysis() -> None:
    """Two exponential stations and N callers without think time: throughput is N / (N + 1) / E[S]."""
    calls = 4
    scene = start_chain(
        (1, 1, 1),
        [exponential(3), exponential(4)],
        SourcePlan(SourceKind.CLOSED_LOOP, calls=calls),
        nodes(1, cores=8),
        ackers=1,
        ideal=True,
    )
    scene.play(60 * SECOND)
    done = (scene.tape.column("roots", "outcome") == "acked").sum() / 60
    assert done == pytest.approx(calls / (calls + 1) * SECOND / MEAN, rel=0.03)


def test_utilisation_equals_offered_load() -> None:
    scene = run_queue([exponential(3), exponential(4)], load=0.6)
    cpu = scene.tape.column("cpu", "cpu_ms").sum()
    executed = sum(chunk["executed"].sum() for chunk in scene.tape.rows["counts"])
    assert cpu / 1000 == pytest.approx(2 * 0.6 * scene.plane.now_ns / SECOND, rel=0.02)
    assert executed == pytest.approx(2 * COUNT, rel=5e-3)
