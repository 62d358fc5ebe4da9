"""Costs of calls to user code vary around their mean, and the framework's code warms up with calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.setup.costs import lognormal
from tests.emulator.scene import MS, PLAIN, SATURATED, SECOND, US, Scene, nodes, rate, start_chain
from tests.emulator.uncompiled import printed

QUIET = replace(PLAIN, idle_jvm_share=0.0)
VARIED = replace(QUIET, service_cv=0.35)
COLD = replace(QUIET, warm_up_factor=3.0, warm_up_calls=200.0, compile_s=0.0)


def played(cost: CostModel, seconds: float, per_s: float = 100.0) -> Scene:
    """A spout and a bolt of 1 ms in one worker."""
    scene = start_chain((1, 1), 1 * MS, rate(per_s), cost=cost)
    scene.play(round(seconds * SECOND))
    return scene


def times(scene: Scene) -> list[int]:
    """Durations of all executions in ns, in order."""
    return [int(taken) for taken in scene.tape.spans("start_ns", "end_ns")]


def cpu_ms(scene: Scene, thread: str = "") -> float:
    """CPU time of all threads, or of one kind of thread, in ms."""
    used = scene.tape.column("cpu", "cpu_ms")
    return float(used[scene.tape.column("cpu", "thread") == thread].sum() if thread else used.sum())


def test_the_lognormal_table_has_mean_one_and_the_requested_spread() -> None:
    for cv in (0.0, 0.2, 0.35, 1.0):
        table = lognormal(cv) / 65536
        assert table.mean() == 1.0
        assert table.std() == pytest.approx(cv, rel=0.02, abs=1e-4)
        assert np.median(table) == pytest.approx(1 / np.sqrt(1 + cv * cv), rel=2e-3)


def test_executions_vary_by_the_given_coefficient_around_the_same_mean() -> None:
    user = np.array(times(played(VARIED, 20))) - 4 * US
    assert len(user) > 1900
    assert user.mean() == pytest.approx(1 * MS, rel=0.03)
    assert user.std() / user.mean() == pytest.approx(0.35, abs=0.03)


def test_without_spread_every_execution_costs_the_same() -> None:
    assert set(times(played(QUIET, 1))) == {1 * MS + 4 * US}


def test_a_task_draws_the_same_costs_without_the_compiler() -> None:
    assert printed(__name__, "t.times(t.played(t.VARIED, 0.2))") == str(times(played(VARIED, 0.2)))


def test_the_excess_cost_of_cold_framework_code_halves_as_it_is_compiled() -> None:
    # 10 calls/s of the spout and 10 of the bolt. Dispatch costs 4 us warm, and 12 us cold.
    framework = [(value - 1 * MS) / (4 * US) for value in times(played(COLD, 46, per_s=10.0))]
    assert framework[0] == pytest.approx(3.0)
    # 20 calls a second. Half of the compilation is due evenly over the first 700 calls, so a seventh of it
    # after 200. Each seventh linearly halves the rest of the excess of 2, less the 1/128 left after all.
    assert framework[51] == pytest.approx(1 + 2 * (96 - 1) / 127, abs=0.03)
    assert framework[101] == pytest.approx(1 + 2 * (64 - 1) / 127, abs=0.03)
    assert framework[201] == pytest.approx(1 + 2 * (32 - 1) / 127, abs=0.03)
    assert framework[351] == pytest.approx(1 + 2 * (12 - 1) / 127, abs=0.03)
    # The next quarter is due between 700 and 1,400 calls, so four sevenths are due after 900.
    assert framework[451] == pytest.approx(1 + 2 * (8 - 1) / 127, abs=0.01)


def test_a_worker_without_calls_stays_cold() -> None:
    # Two calls of the spout and one of the bolt came before.
    assert (times(played(COLD, 41, per_s=0.05))[-1] - 1 * MS) / (4 * US) == pytest.approx(3.0, abs=0.03)


def test_code_warms_up_no_faster_than_it_is_compiled() -> None:
    # One core and a bolt that could use all of it: calls are soon made, but each halving takes 1 s of CPU.
    cost = replace(COLD, compile_s=7.0)
    scene = start_chain((1, 1), 200 * US, SATURATED, nodes(1, cores=1), max_spout_pending=50, cost=cost)
    seen = []
    for second in (3, 6, 9):
        scene.plane.run_until(second * SECOND)
        scene.plane.sample()
        seen.append((cpu_ms(scene, "compiler") / 1e3, scene.plane.kernel.worker["warm_excess"][0] / 65536))
    for compiled_s, excess in seen:
        halvings, part = divmod(compiled_s, 1.0)
        left = (128 / 2**halvings * (1 - part / 2) - 1) / 127
        # Two compiler bursts of 20 ms may have begun that are not counted yet.
        assert excess == pytest.approx(2.0 * left, rel=0.05)
    # Both compilers and one or two busy threads share the core, so compilers get about half of it.
    assert 1.2 < seen[0][0] < 2.1
    assert 3.8 < seen[2][0] < 6.1


def test_compilation_ends_once_all_code_is_compiled() -> None:
    cost = replace(COLD, compile_s=0.5)
    assert cpu_ms(played(cost, 25.0), "compiler") == pytest.approx(500.0, rel=0.01)


def test_cpu_of_compilers_and_of_housekeeping_is_recorded_separately() -> None:
    cost = replace(PLAIN, idle_jvm_share=0.02, warm_up_factor=3.0, warm_up_calls=200.0, compile_s=2.0)
    whole = played(cost, 10.15, per_s=10.0)
    assert cpu_ms(whole, "compiler") == pytest.approx(2000.0 / 7, rel=0.03)
    # 2 % of 10.1 s, whether or not code is compiled meanwhile.
    assert cpu_ms(whole, "housekeeping") == pytest.approx(202.0, rel=0.01)
    unburdened = played(replace(cost, compile_s=0.0), 10.15, per_s=10.0)
    assert cpu_ms(unburdened, "housekeeping") == pytest.approx(cpu_ms(whole, "housekeeping"), rel=1e-3)
    assert cpu_ms(unburdened, "compiler") == 0.0
