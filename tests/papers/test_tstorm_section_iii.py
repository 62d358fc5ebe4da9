"""T-Storm's two observations as declared and, on a short run, as played: the chain on one and five nodes."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from storm_lab.experiments.experiment import RunSpec
from storm_lab.model.assignment import Assignment
from storm_lab.papers.tstorm import chain
from storm_lab.papers.tstorm.chain import OVERLOAD, TRAFFIC, failures_around_onset, last_minute_ms
from storm_lab.papers.tstorm.testbed import VERSION


def placed(workers: int) -> Assignment:
    """Where Nimbus puts the chain when it is asked for that many workers."""
    from storm_lab.emulator.emulation import Emulation, EmulationSpec
    from storm_lab.schedulers.storm.default import DefaultScheduler

    spec = next(s for s in TRAFFIC.runs(TRAFFIC.checked()) if s.parameters.integer("workers") == workers)
    plan = chain.plan(spec)
    emulation = EmulationSpec(chain.section_iii(), VERSION, (plan,), DefaultScheduler(), duration_s=20.0)
    return Emulation(emulation).run().final


@pytest.mark.parametrize(("workers", "nodes", "each"), [(1, 1, 10), (5, 5, 2), (10, 5, 1)])
def test_the_default_scheduler_makes_the_three_placements(workers: int, nodes: int, each: int) -> None:
    slots = list(placed(workers).slots.values())
    assert len(slots) == 10, "one spout, four bolts, five ackers"
    assert len({slot.node for slot in slots}) == nodes
    assert len(set(slots)) == workers
    assert {slots.count(slot) for slot in slots} == {each}


def test_the_testbed_is_the_one_of_section_iii() -> None:
    nodes = chain.section_iii().nodes
    assert len(nodes) == 5
    assert {(n.cores, n.core_mhz, n.memory_mb, n.nic_mbps) for n in nodes} == {(4, 2000.0, 4096.0, 1000.0)}


def test_placements_run_with_every_seed_and_other_bolt_costs_with_the_first() -> None:
    specs = TRAFFIC.runs(TRAFFIC.checked({"seeds": [3, 4], "bolt_ms_tried": [1.2, 3.0]}))
    named = [(spec.variant, spec.seed) for spec in specs]
    assert named == [(p, s) for p in chain.PLACEMENTS for s in (3, 4)] + [
        (f"{p}-b3", 3) for p in chain.PLACEMENTS
    ]
    assert {spec.parameters.integer("spouts") for spec in specs} == {1}


def test_the_spout_sleeps_five_milliseconds_and_bolts_take_the_given_time() -> None:
    plan = chain.plan(TRAFFIC.runs(TRAFFIC.checked())[0])
    assert plan.sources["spout"].sleep_ns == 5_000_000
    assert sorted(set(plan.trace.records["cpu_ns"])) == [0, 1_200_000]
    assert plan.trace.emissions["bytes"].min() > 10_000


def test_the_overloaded_chain_has_five_spout_executors_and_single_bolts() -> None:
    specs = {spec.variant: spec for spec in OVERLOAD.runs(OVERLOAD.checked({"bolt_ms_tried": [3.0]}))}
    assert {
        v: (s.parameters.integer("spouts"), s.parameters.integer("workers")) for v, s in specs.items()
    } == {
        "spouts-1": (1, 1),
        "spouts-5": (5, 1),
        "spouts-5-n5w5": (5, 5),
        "spouts-5-b3": (5, 1),
    }
    declared = chain.plan(specs["spouts-5"]).topology
    assert [c.executors for c in declared.components] == [5, 1, 1, 1, 1]
    assert len(chain.plan(specs["spouts-5"]).trace.sources["spout"]) == 5


class Tables:
    """The two metric tables that the readings of figure 3 use."""

    def __init__(self, latency_ms: list[tuple[float, float]], failed: list[tuple[float, int]]) -> None:
        run = {"variant": "v", "seed": 1}
        self.latency_10s = pd.DataFrame(
            [{**run, "t_s": t, "tuples": 10, "processing_mean_ms": ms} for t, ms in latency_ms]
        )
        self.failures_10s = pd.DataFrame([{**run, "t_s": t, "failed": n} for t, n in failed])


def test_the_last_minute_is_the_last_one_with_acked_tuples() -> None:
    tables: Any = Tables([(10.0 * i, float(i)) for i in range(10)], [])
    assert last_minute_ms(tables, "v", 1) == pytest.approx(6.5)


def test_failures_are_split_where_latency_reaches_half_the_timeout() -> None:
    late: Any = Tables([(0, 5.0), (10, 15_001.0), (20, 31_000.0)], [(0, 2), (10, 3), (20, 4)])
    assert failures_around_onset(late, "v", 1) == (2.0, 7.0)
    never: Any = Tables([(0, 5.0), (10, 6.0)], [(0, 2), (10, 3)])
    assert failures_around_onset(never, "v", 1) == (5.0, 0.0)


def spec_of(variant: str) -> RunSpec:
    given = {"duration_s": 90.0, "seeds": [1]}
    return next(s for s in OVERLOAD.runs(OVERLOAD.checked(given)) if s.variant == variant)


def test_five_spouts_in_front_of_single_bolts_build_up_a_queue_and_one_does_not(
    tmp_path: Path,
) -> None:
    from storm_lab.runs.execute import PlannedRun, play
    from storm_lab.tuplelog import open_run

    last = {}
    for variant in ("spouts-1", "spouts-5"):
        spec = spec_of(variant)
        folder = play(PlannedRun.of(spec, tmp_path))
        roots = open_run(folder).table("roots").to_pandas()
        acked = roots[(roots["outcome"] == "acked") & (roots["complete_ns"] > 60e9)]
        last[variant] = float((acked["latency_ns"] - acked["sleep_ns"]).mean()) / 1e6
    assert last["spouts-1"] < 100
    assert last["spouts-5"] > 5000
