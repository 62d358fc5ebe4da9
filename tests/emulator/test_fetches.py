"""Spouts that fetch lines from a queue server, in nextTuple or in a separate thread of their client."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan
from storm_lab.model import Executor, Slot
from tests.emulator.scene import MS, SECOND, US, chain, chain_trace, constant_work, nodes, start

REPLAY = FailurePolicy.REPLAY


def _played(
    fetch_ms: int,
    fetch_lines: int,
    *,
    apart: bool = False,
    work_us: int = 10,
    max_pending: int | None = None,
    seconds: int = 1,
) -> dict[str, Any]:
    """Roots of a spout that never runs out of lines, on its own node; bolt and acker are on another."""
    topology = chain([1, 1], ackers=1, message_timeout_s=5.0, max_spout_pending=max_pending)
    source = SourcePlan(
        SourceKind.SATURATED,
        fetch_ns=fetch_ms * MS,
        fetch_lines=fetch_lines,
        fetch_thread=apart,
        on_fail=REPLAY,
    )

    def place(executor: Executor) -> Slot:
        return Slot("node0", 6700) if executor.component == "spout" else Slot("node1", 6700)

    scene = start(topology, chain_trace([constant_work(work_us * US, 100_000)]), source, nodes(2), place)
    scene.play(seconds * SECOND)
    return {name: scene.tape.column("roots", name) for name in ("outcome", "emit_ns", "complete_ns")}


def _acked(roots: dict[str, Any]) -> tuple[int, float]:
    """Number of acked roots, and their mean latency in seconds."""
    done = roots["outcome"] == "acked"
    return int(done.sum()), float(np.mean(roots["complete_ns"][done] - roots["emit_ns"][done])) / SECOND


def test_a_fetch_brings_lines_for_several_calls() -> None:
    """Computed by hand: a fetch takes 100 ms and yields three lines at once; no pending limit delays them."""
    emits = np.sort(_played(100, 3)["emit_ns"])
    assert len(emits) == 27
    fetches = emits[::3]
    assert np.all(np.diff(fetches) >= 100 * MS)
    assert np.all(np.diff(fetches) < 102 * MS)
    assert np.all(emits[2::3] - fetches < MS)


def test_fetching_a_full_window_adds_the_fetch_time_to_every_window() -> None:
    """A window of W lines takes F to fetch and R to be acked: throughput is W / (R + F), as with Kafka."""
    count, latency_s = _acked(_played(26, 19, work_us=500, max_pending=19))
    assert count == pytest.approx(19 / (latency_s + 0.026), rel=0.25)
    plain, _ = _acked(_played(0, 19, work_us=500, max_pending=19))
    assert plain > 1.4 * count


def test_a_fetch_thread_lets_the_spout_handle_acks_during_a_fetch() -> None:
    """Computed by hand: 3 lines every 100 ms, whose acks are handled at once, not after the next fetch."""
    in_turn, apart = (_played(100, 3, apart=apart) for apart in (False, True))
    emits = np.sort(apart["emit_ns"])
    assert len(emits) == 27
    # The spout's loop sleeps once between the end of a fetch and the turn that finds its lines.
    assert np.all((np.diff(emits[::3]) >= 100 * MS) & (np.diff(emits[::3]) < 103 * MS))
    assert _acked(apart)[1] < 0.003
    assert _acked(in_turn)[1] > 0.06


def test_two_windows_per_fetch_take_one_fetch_and_one_latency() -> None:
    """A fetch begins when the last line of the previous one is taken, once the first window is acked."""
    count, latency_s = _acked(_played(21, 18, apart=True, work_us=500, max_pending=9, seconds=2))
    assert count / 2 == pytest.approx(18 / (latency_s + 0.021), rel=0.2)
    one, _ = _acked(_played(21, 9, apart=True, work_us=500, max_pending=9, seconds=2))
    assert one / 2 == pytest.approx(9 / 0.021, rel=0.1), "of one window the next fetch waits for nobody"
