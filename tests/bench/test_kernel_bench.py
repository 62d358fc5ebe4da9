"""The kernel's benchmark compares like with like, or refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from storm_lab.bench import _kernel_c, kernel
from storm_lab.bench._kernel_model import Model, play_kernel
from storm_lab.bench._kernel_simpy import play_simpy
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.errors import StormLabError, UserError

SHAPES = [
    Model(spouts=1, bolts=1, ackers=1, nodes=2, rate_per_s=300.0),
    Model(spouts=3, bolts=4, ackers=2, nodes=3, rate_per_s=2000.0, seed=5),
    Model(spouts=2, bolts=6, ackers=3, nodes=4, cores=1, rate_per_s=2400.0, seed=2),
    Model(),
    # Large enough that most events stand in buckets beyond the kernel's horizon.
    Model(spouts=40, bolts=160, ackers=40, nodes=80, rate_per_s=6000.0, lines=1009),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return _kernel_c.build(tmp_path_factory.mktemp("c"))
    except StormLabError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("model", SHAPES, ids=lambda m: f"{m.executors}x{m.nodes}x{m.cores}")
def test_the_c_program_plays_the_kernel_s_events_to_the_nanosecond(model: Model, program: Path) -> None:
    """Two programs with nothing in common but the rules: each is the other's oracle."""
    ours = play_kernel(model, NS_PER_S // 2, 3 * NS_PER_S)
    theirs = _kernel_c.play_c(program, model, NS_PER_S // 2, 3 * NS_PER_S)
    assert ours.exact == theirs.exact
    assert ours.events == theirs.events
    assert ours.exact[1] > 500


@pytest.mark.slow
def test_simpy_plays_the_same_model_within_sampling_error() -> None:
    model = Model(spouts=2, bolts=4, ackers=2, rate_per_s=2500.0)
    ours = play_kernel(model, NS_PER_S // 2, 10 * NS_PER_S)
    theirs = [play_simpy(model, NS_PER_S // 2, 2 * NS_PER_S, seed) for seed in (1, 2)]
    kernel.require_agreement("kernel", [ours], "simpy", theirs)
    assert theirs[0].latency_ms != theirs[1].latency_ms


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"work_us": 530.0}, "latency"),
        ({"cores": 3}, "latency|utilisation"),
        ({"rate_per_s": 5000.0}, "utilisation|latency"),
    ],
)
@pytest.mark.slow
def test_engines_that_play_different_models_are_not_compared(change: dict[str, float], word: str) -> None:
    one = play_kernel(Model(), NS_PER_S // 2, 8 * NS_PER_S)
    other = play_kernel(replace(Model(), **change), NS_PER_S // 2, 8 * NS_PER_S)
    kernel.require_agreement("one", [one], "one", [one])
    with pytest.raises(StormLabError, match=word):
        kernel.require_agreement("one", [one], "other", [other])


def test_a_latency_that_is_hardly_known_voids_the_comparison() -> None:
    short = play_kernel(Model(rate_per_s=1200.0, bolts=2, cores=1), NS_PER_S // 2, NS_PER_S)
    rough = replace(short, batch_ms=[1.0, 9.0] * 10)
    with pytest.raises(StormLabError, match="not known well enough"):
        kernel.require_agreement("one", [rough], "other", [rough])


@pytest.mark.slow
def test_ratios_are_of_speeds_in_the_same_run(program: Path) -> None:
    del program
    figures = kernel.compare_engines(Model(), rounds=2, seconds=5.0)
    assert figures["kernel_equals_c_event_for_event"] is True
    ratio_c, ratio_simpy = figures["ratio_c"], figures["ratio_simpy"]
    assert isinstance(ratio_c, float)
    assert isinstance(ratio_simpy, float)
    assert 0.1 < ratio_c < 3.0
    assert ratio_simpy > 5.0
    assert json.loads(json.dumps(figures)) == figures


@pytest.mark.slow
def test_without_a_compiler_there_is_no_ratio_but_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernel_c, "COMPILERS", ("no-such-compiler",))
    figures = kernel.compare_engines(Model(), rounds=2, seconds=5.0)
    assert figures["ratio_c"] is None
    assert "no-such-compiler" in str(figures["ratio_c_missing_because"])
    assert kernel.missed({**FIGURES, **figures, "ratio_simpy": 100.0}) == []


def test_without_simpy_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "storm_lab.bench._kernel_simpy", None)
    with pytest.raises(UserError, match="SimPy is not installed"):
        kernel.compare_engines(Model(), rounds=2, seconds=5.0)


FIGURES = {
    "ratio_simpy": 81.0,
    "ratio_c": 0.71,
    "scale_loss": 2.9,
    "scale_one_topology_loss": 1.9,
    "warm_start_s": 0.9,
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ratio_simpy", 79.0),
        ("ratio_c", 0.69),
        ("scale_loss", 3.0),
        ("scale_one_topology_loss", 2.5),
        ("warm_start_s", 1.2),
    ],
)
def test_every_target_that_is_missed_is_said(name: str, value: float) -> None:
    assert kernel.missed(FIGURES) == []
    assert len(kernel.missed({**FIGURES, name: value})) == 1


def test_models_of_the_scale_have_the_stated_size() -> None:
    assert [kernel.many_topologies(size).executors for size in kernel.SIZES] == list(kernel.SIZES)
    assert [kernel.one_topology(size).executors for size in kernel.ONE_SIZES] == list(kernel.ONE_SIZES)
    rows = kernel.measure_scale([kernel.many_topologies(10), kernel.many_topologies(100)], rounds=1)
    assert rows[0]["events_per_root"] == pytest.approx(rows[1]["events_per_root"], rel=0.02)


@pytest.mark.slow
def test_the_command_prints_every_figure_and_memory_is_flat() -> None:
    result = CliRunner().invoke(kernel.bench_kernel_command, ["--json", "--rounds", "2", "--seconds", "5"])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert {"events_per_second", "ratio_simpy", "ratio_c", "cold_start_s", "warm_start_s"} <= set(figures)
    assert figures["memory_growth"] is None or figures["memory_growth"] < 1.1
    assert figures["virtual_seconds_per_second"]
    assert figures["warm_start_s"] < figures["cold_start_s"] / 3
