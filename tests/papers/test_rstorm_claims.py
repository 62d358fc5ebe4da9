"""R-Storm's readings of the metric tables, worked out by hand on tables of a few rows."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Basis
from storm_lab.papers.registry import experiment
from storm_lab.papers.rstorm import cpu_bound as cpu
from storm_lab.papers.rstorm import recorded_setup
from storm_lab.papers.rstorm.layouts import MICRO, layout
from storm_lab.papers.rstorm.sinks import Pair, gain_table, gains, gains_relative_to_new, rates_of
from storm_lab.reporting.verdict import Outcome, judge

COUNTED = ["variant", "seed", "topology", "component", "t_s", "width_s", "executed"]


def throughput(rows: list[tuple[str, str, float]], seeds: tuple[int, ...] = (1,)) -> pd.DataFrame:
    """Rates per 10 s, the same at every sink and in every bin but the first, which is start-up."""
    return pd.DataFrame(
        [
            (variant, seed, topology, sink, t, 10.0, rate if t >= 80 else 9e9)
            for variant, topology, rate in rows
            for seed in seeds
            for sink in layout(topology).sinks
            for t in (70.0, 80.0, 90.0)
        ],
        columns=COUNTED,
    )


def played(counted: pd.DataFrame) -> SimpleNamespace:
    """Return the metric tables of runs with this throughput."""
    return SimpleNamespace(
        component_throughput_10s=counted, runs=counted[["variant", "seed"]].drop_duplicates()
    )


def verdict(measurements, claim: str, reading: str = "") -> Outcome:
    (found,) = [m for m in measurements if m.claim_id == claim and m.reading == reading]
    return judge(load_claims().claim(claim), found).outcome


def test_throughput_is_the_mean_over_the_output_bolts_per_ten_seconds() -> None:
    one, other = layout("star").sinks
    rows = [("v", 1, "star", one, 80.0, 10.0, 100), ("v", 1, "star", other, 80.0, 10.0, 300)]
    rows += [("v", 1, "star", sink, 90.0, 5.0, 100) for sink in (one, other)]
    rows += [("v", 1, "star", "center", 80.0, 10.0, 999), ("v", 1, "other", one, 80.0, 10.0, 999)]
    tables = SimpleNamespace(component_throughput_10s=pd.DataFrame(rows, columns=COUNTED))
    # 200 a sink in the first bin; 100 in half a bin, that is 200, in the last.
    assert rates_of(tables, "star", "v", (1, 2), 80.0) == [200.0, None]


def test_a_gain_can_be_divided_by_either_throughput() -> None:
    assert gains([150.0, None, 10.0], [100.0, 1.0, 0.0]) == [50.0, None, None]
    assert gains_relative_to_new([200.0, None], [100.0, 1.0]) == [50.0, None]


def test_the_gain_table_has_both_gains_and_their_intervals() -> None:
    counted = throughput([("d", "linear", 100.0), ("r", "linear", 200.0)], seeds=(1, 2))
    table = gain_table(
        SimpleNamespace(component_throughput_10s=counted), [Pair("x", "linear", "d", "r", (1, 2))], 80.0
    )
    assert table.to_dict("records") == [
        {
            "label": "x",
            "topology": "linear",
            "default": 100.0,
            "rstorm": 200.0,
            "on_default": 100.0,
            "on_default_half": 0.0,
            "on_rstorm": 50.0,
            "on_rstorm_half": 0.0,
        }
    ]


def test_the_panels_of_figure_8_are_judged_on_the_gain_over_default() -> None:
    bound = experiment("rstorm-network-bound")
    rows = [(f"{t}-default", t, 100.0) for t in MICRO]
    rows += [
        ("linear-rstorm", "linear", 151.0),
        ("diamond-rstorm", "diamond", 110.0),
        ("star-rstorm", "star", 90.0),
    ]
    # Twice default's throughput is half of R-Storm's own.
    for topology, new in (("linear", 200.0), ("diamond", 142.0), ("star", 180.0)):
        rows += [
            (f"{topology}-default-recorded", topology, 100.0),
            (f"{topology}-rstorm-recorded", topology, new),
        ]
    tables = played(throughput(rows, seeds=(1, 2)))
    found = bound.measure(tables, bound.checked({"seeds": [1, 2], "from_s": 80.0}))
    assert {m.claim_id for m in found} == set(bound.claims)
    assert verdict(found, "rstorm-fig8a-linear") is Outcome.REPRODUCED
    assert verdict(found, "rstorm-fig8b-diamond") is Outcome.DIRECTION
    assert verdict(found, "rstorm-fig8c-star") is Outcome.NOT_REPRODUCED
    for claim in ("rstorm-fig8a-linear", "rstorm-fig8b-diamond", "rstorm-fig8c-star"):
        assert verdict(found, claim, recorded_setup.READING) is Outcome.REPRODUCED
    basis = {m.claim_id: m.basis for m in found if m.reading}
    assert basis["rstorm-fig8a-linear"] is Basis.FITTED, "its recording was calibrated on"
    assert basis["rstorm-fig8c-star"] is Basis.PREDICTED


def test_the_stopped_topology_of_figure_13_is_read_per_second() -> None:
    shared = experiment("rstorm-multi-topology")
    rows = [("default", "page-load", 16000.0), ("rstorm", "page-load", 25000.0)]
    rows += [("default", "processing", 40.0), ("rstorm", "processing", 20000.0)]
    rows += [("default-both1", "page-load", 7000.0), ("default-both1", "processing", 9000.0)]
    tables = played(throughput(rows, seeds=(1, 2)))
    found = shared.measure(tables, shared.checked({"seeds": [1, 2], "from_s": 80.0}))
    assert {m.claim_id for m in found} == set(shared.claims)
    by = {m.claim_id: m for m in found if not m.reading}
    # Two output bolts of 40 in 10 s each.
    assert by["rstorm-fig13-pr-default"].value().value == 8.0
    assert by["rstorm-fig13-pr-orders"].value().value == 500.0
    beside = {m.claim_id: m for m in found if m.reading == "one worker for each topology"}
    assert beside["rstorm-fig13-pl-default"].value().value == 7000.0
    assert beside["rstorm-fig13-pr-rstorm"].value().value == 40000.0, "R-Storm takes what it needs"
    assert {m.reading for m in found} == {"", "one worker for each topology"}, "the others were not played"
    assert verdict(found, "rstorm-fig13-pr-default") is Outcome.REPRODUCED
    assert verdict(found, "rstorm-fig13-both-higher") is Outcome.REPRODUCED
    assert verdict(found, "rstorm-fig13-pl-default") is Outcome.REPRODUCED
    assert verdict(found, "rstorm-fig13-pr-rstorm") is Outcome.NOT_REPRODUCED


def cpu_tables(busy: float) -> SimpleNamespace:
    """Equal throughput except for the star; default's machines are ``busy`` %, R-Storm's twice as much."""
    settings = {
        t: (cpu.default_setting(t, 12), cpu.default_setting(t, 1), cpu.rstorm_setting(t)) for t in MICRO
    }
    rates = [(s, t, 50.0 if t == "star" and s.endswith("w1") else 200.0) for t in MICRO for s in settings[t]]
    used = {12: 12, 1: 1}
    steady, nodes, stays, elapsed = [], [], [], []
    for topology, names in settings.items():
        for setting in names:
            machines = used[int(setting.split("-w")[1])] if "-w" in setting else 6
            own = 100.0 if machines == 1 else busy * 12 / machines
            steady.append((setting, 1, own / 100, own / 100 * machines / 12))
            for n in range(machines):
                nodes.append((setting, 1, f"pc{n}", 60.0, 0.0))
                nodes.append((setting, 1, f"pc{n}", 120.0, own / 100))
                stays.append((setting, 1, f"pc{n}"))
            elapsed.append((setting, 1, topology, layout(topology).sinks[0], "rack", 3, 10.0 + machines))
            elapsed.append((setting, 1, topology, layout(topology).sinks[0], "process", 1, 14.0 + machines))
    return SimpleNamespace(
        runs=pd.DataFrame([(setting, 1) for setting, *_ in rates], columns=["variant", "seed"]),
        component_throughput_10s=throughput(rates),
        steady_cpu=pd.DataFrame(steady, columns=["variant", "seed", cpu.IN_USE, cpu.ALL]),
        node_cpu_60s=pd.DataFrame(nodes, columns=["variant", "seed", "node", "t_s", "utilisation"]),
        stays=pd.DataFrame(stays, columns=["variant", "seed", "node"]),
        steady_elapsed=pd.DataFrame(
            elapsed, columns=["variant", "seed", "topology", "component", "locality", "tuples", "end_mean_ms"]
        ),
    )


def test_the_number_for_which_output_bolts_are_added_up_is_no_prediction() -> None:
    assert "output bolts" in load_claims().claim("rstorm-fig13-pr-rstorm").fitted


def test_cpu_use_is_read_over_machines_in_use_and_over_all() -> None:
    tables = cpu_tables(30.0)
    assert cpu.cpu_change(tables, "linear", (1,), cpu.IN_USE) == pytest.approx([100.0])
    assert cpu.cpu_change(tables, "linear", (1,), cpu.ALL) == pytest.approx([0.0])
    # One machine of twelve busy, against six at 60 %: 30 % of all against 8.33 %.
    assert cpu.cpu_change(tables, "star", (1,), cpu.ALL) == pytest.approx([260.0])
    assert cpu.cpu_change(tables, "star", (1,), cpu.IN_USE, 12) == pytest.approx([100.0])


def test_the_latency_of_a_topology_is_that_of_tuples_at_its_output_bolts() -> None:
    assert cpu.latency(cpu_tables(30.0), "linear", "linear-rstorm", (1,)) == [17.0]


def test_figures_9_and_10_are_measured_with_the_worker_counts_of_the_authors_code() -> None:
    bound = experiment("rstorm-cpu-bound")
    found = bound.measure(cpu_tables(30.0), bound.checked({"seeds": [1], "from_s": 80.0}))
    assert {m.claim_id for m in found} == set(bound.claims)
    by = {m.claim_id: m for m in found if not m.reading}
    assert [by["rstorm-fig9c-thr"].value(label).value for label in ("default", "r-storm")] == [50.0, 200.0]
    assert [by["rstorm-star-bottleneck"].value(x).value for x in ("busiest", "saturated")] == [100.0, 1.0]
    assert [by["rstorm-default-all-nodes"].value(t).value for t in MICRO] == [12.0, 12.0, 1.0]
    assert by["rstorm-parallelism-ceiling"].value("latency-quotient").value == pytest.approx(23.0 / 17.0)
    assert by["rstorm-parallelism-ceiling"].value("throughput-change").value == pytest.approx(0.0)
    assert verdict(found, "rstorm-star-bottleneck") is Outcome.REPRODUCED
    assert verdict(found, "rstorm-headline-cpu") is Outcome.REPRODUCED
    assert verdict(found, "rstorm-fig10-linear-cpu") is not Outcome.REPRODUCED
    # With twelve workers the star is spread over all machines, and none of them is a bottleneck.
    assert verdict(found, "rstorm-default-all-nodes", cpu.STAR_TWELVE_WORKERS) is Outcome.REPRODUCED
    assert verdict(found, "rstorm-star-bottleneck", cpu.STAR_TWELVE_WORKERS) is Outcome.NOT_REPRODUCED
    assert verdict(found, "rstorm-fig9c-thr", cpu.STAR_TWELVE_WORKERS) is Outcome.NOT_REPRODUCED


def test_distances_are_ordered_by_the_latency_of_tuples_sent_over_them() -> None:
    pair = experiment("rstorm-network-hierarchy")
    rows = [
        (d, s, d, ms + s / 1000)
        for d, ms in zip(("process", "node", "rack", "cluster"), (1, 2, 3, 5), strict=True)
        for s in (1, 2)
    ]
    table = pd.DataFrame(rows, columns=["variant", "seed", "locality", "enqueue_mean_ms"])
    found = pair.measure(SimpleNamespace(steady_elapsed=table), pair.checked({"seeds": [1, 2]}))
    assert verdict(found, "rstorm-network-hierarchy") is Outcome.REPRODUCED
    wrong = table.assign(locality="process")
    found = pair.measure(SimpleNamespace(steady_elapsed=wrong), pair.checked({"seeds": [1, 2]}))
    assert verdict(found, "rstorm-network-hierarchy") is Outcome.NOT_REPRODUCED
