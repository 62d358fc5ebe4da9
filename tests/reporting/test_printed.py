"""Printed numbers in figures: they come from the ledger, are always in view, and are named at the foot."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from storm_lab.errors import UserError
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Measured, Measurement
from storm_lab.reporting.figures.claim_distances import claim_distances
from storm_lab.reporting.figures.comparison import comparison
from storm_lab.reporting.figures.dependence import Scale, dependence, trade_off
from storm_lab.reporting.figures.grouped_bars import degradation_levels, grouped_bars
from storm_lab.reporting.figures.printed import Mark, Printed, claims_drawn, draw_printed, printed
from storm_lab.reporting.figures.saved import picture_of, save_figure
from storm_lab.reporting.figures.sensitivity import sensitivity
from storm_lab.reporting.figures.style import About
from storm_lab.reporting.figures.time_series import Panel, Quantity, time_panels, time_series
from storm_lab.reporting.verdict import judge

LEVEL = "tstorm-fig6a-tstorm-ms"
TIMES = pd.DataFrame(
    [
        (variant, seed, t, value + seed)
        for variant, value in (("a", 10.0), ("b", 20.0))
        for seed in (1, 2)
        for t in (0.0, 60.0)
    ],
    columns=["variant", "seed", "t_s", "ms"],
)


def words(figure: Figure) -> str:
    """Return all text of a figure."""
    return "\n".join(text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text")))


def bands(figure: Figure) -> int:
    """Count the artists of a figure that show printed numbers."""
    return len(figure.findobj(lambda one: str(one.get_gid() or "").startswith("claim:")))


def test_printed_numbers_are_those_of_the_ledger() -> None:
    target = load_claims().claim(LEVEL).targets[0]
    found = printed(LEVEL)
    assert (found.value, found.low, found.high) == (target.expected, target.low, target.high)
    with pytest.raises(UserError, match="no such claim"):
        printed("tstorm-fig0")


def test_a_reduction_swaps_the_ends_of_the_band_and_an_increase_does_not() -> None:
    number = Printed("x", 50.0, 40.0, 60.0)
    assert number.below(200.0) == Printed("x", 100.0, pytest.approx(80.0), pytest.approx(120.0))
    assert number.above(200.0) == Printed("x", 300.0, 280.0, 320.0)
    assert Printed("x", None, 10.0, None).below(100.0) == Printed("x", None, None, 90.0)


def test_the_axis_is_extended_to_show_a_printed_number() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1], [1, 2])
    draw_printed(axes, Printed(LEVEL, 30.0, 27.0, 33.0))
    assert axes.get_ylim()[1] > 33.0
    draw_printed(axes, Printed(LEVEL, -4.0, -5.0, -3.0), upright=True)
    assert axes.get_xlim()[0] < -5.0
    assert claims_drawn(figure) == (LEVEL,)


def test_a_number_that_depends_on_a_missing_measurement_is_not_drawn() -> None:
    figure = Figure()
    draw_printed(figure.subplots(), printed("tstorm-fig6b-speedup").below(float("nan")))
    assert claims_drawn(figure) == ()


def test_a_saved_figure_names_the_claims_that_it_answers(tmp_path: Path) -> None:
    panel = Panel("p", {"A": "a", "B": "b"}, (), (Mark(printed(LEVEL), from_s=30.0),))
    figure = time_series(TIMES, [panel], value="ms", unit="ms", about=About(2))
    saved = save_figure(figure, tmp_path / "f.svg", title="t", alt="a", claims=["tstorm-fig6a-speedup"])
    assert saved.claims == (LEVEL, "tstorm-fig6a-speedup")
    assert f"claims: {LEVEL}, tstorm-fig6a-speedup" in words(figure)
    assert "as printed" in words(figure)
    with pytest.raises(UserError, match="no such claim"):
        save_figure(figure, tmp_path / "g.svg", title="t", alt="a", claims=["tstorm-fig0"])


def test_every_kind_of_figure_shows_printed_numbers_and_is_laid_out_without_warnings(tmp_path: Path) -> None:
    number = printed(LEVEL)
    about = About(2)
    moment = Mark(Printed(LEVEL, 30.0, 20.0, 40.0), moment=True)
    runs = TIMES[TIMES["t_s"] == 0.0].assign(group="g", kind="k")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = [
            comparison(runs, {"ms": "ms"}, about=about, printed={("a", "ms"): number}),
            grouped_bars(
                runs, {"ms": "ms"}, group="group", variants=["a", "b"], about=about,
                printed={("g", "b", "ms"): [number, number]},
            ),
            dependence(
                runs, x="seed", values={"ms": "ms"}, series="variant", x_label="seed", note="n",
                printed={"ms": [number]}, printed_across=[Printed(LEVEL, 1.5, 1.0, 2.0)],
                reference={"limit": 40.0}, labels="seed", up=Scale(logarithmic=True),
            ),
            dependence(
                runs, x="seed", values={"ms": "ms"}, x_label="seed", note="n",
                printed={"ms": {1.0: number}},
            ),
            time_panels(
                TIMES, [Quantity("ms", "ms", printed=(Mark(number), moment))], line="variant", note="n",
                spans={"down": (10.0, 20.0)}, faults_s=[30.0],
            ),
        ]  # fmt: skip
        for place, figure in enumerate(drawn):
            assert bands(figure) >= 2, place
            saved = save_figure(figure, tmp_path / f"{place}.svg", title="t", alt="a")
            assert saved.claims == (LEVEL,)
        quotients = runs.assign(other=1.5)
        save_figure(
            trade_off(
                quotients, x="ms", y="other", panel="kind", label="seed",
                names={"ms": "x", "other": "y"}, note="n",
            ),
            tmp_path / "t.svg", title="t", alt="a",
        )  # fmt: skip


def test_distances_have_a_row_for_each_number_and_another_reading_beside_it() -> None:
    claim = load_claims().claim(LEVEL)
    own = Measurement(LEVEL, (Measured(8.1, 8.0, 8.2),), "ms", "made up")
    other = Measurement(LEVEL, (Measured(16.2),), "ms", "made up", reading="twice the cores")
    figure = claim_distances([judge(claim, own, [other])])
    assert figure is not None
    assert "another reading" in words(figure) and "8.1 ms" in words(figure)
    ordered = load_claims().claim("tstorm-fig2-order")
    values = tuple(Measured(float(place), label=label) for place, label in enumerate(ordered.labels))
    assert claim_distances([judge(ordered, Measurement(ordered.id, values, "ms", "made up"))]) is None


def test_distances_say_that_several_numbers_are_as_printed_and_what_the_scale_of_a_printed_0_is() -> None:
    def figure_of(claim_id: str, *values: float) -> Figure:
        claim = load_claims().claim(claim_id)
        named = zip(claim.targets, values, strict=True)
        measured = tuple(Measured(value, label=target.label) for target, value in named)
        figure = claim_distances([judge(claim, Measurement(claim.id, measured, claim.unit, "made up"))])
        assert figure is not None
        return figure

    exact = figure_of("tstorm-storm-all-nodes", 10.0, 10.0, 10.0)
    assert "all as printed" in words(exact) and "if 0 is printed" not in exact.get_supxlabel()
    zero = figure_of("nstorm-fig6-steady-equal", 27.0)
    assert "if 0 is printed, 100 % is the end of the band" in zero.get_supxlabel()


def test_distances_of_a_single_number_leave_room_for_the_names_of_all_claims(tmp_path) -> None:
    claims = load_claims().of_experiment("tstorm-word-count")
    only = load_claims().claim("tstorm-fig6a-nodes")
    measured = Measurement(only.id, (Measured(10.0, 10.0, 10.0),), "nodes", "made up")
    figure = claim_distances([judge(only, measured)])
    assert figure is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = [claim.id for claim in claims]
        save_figure(figure, tmp_path / "claims.svg", title="t", alt="a", claims=names)
        picture_of(figure)


def test_a_printed_number_does_not_cut_off_higher_bars() -> None:
    """The mark of a bar is drawn before the bars that follow it."""
    rows = [
        (name, seed, level, seconds + seed)
        for name, seconds in (("low", 100.0), ("high", 400.0))
        for seed in (1, 2)
        for level in (60, 100)
    ]
    table = pd.DataFrame(rows, columns=["variant", "seed", "level", "degraded_s"])
    marks = {("low", 60): Printed(LEVEL, 120.0, 110.0, 130.0)}
    figure = degradation_levels(table, {"low": "low", "high": "high"}, about=About(2), printed=marks)
    assert figure.axes[0].get_ylim()[1] > 402.0


@pytest.mark.parametrize("logarithmic", [False, True])
def test_a_printed_number_does_not_cut_off_points(logarithmic: bool) -> None:
    values = pd.DataFrame(
        [("row", "near", 40.0), ("row", "far", 4000.0)], columns=["label", "series", "gain"]
    )
    figure = sensitivity(
        values,
        {"gain": "gain"},
        about=About(2),
        printed={"near": Printed(LEVEL, 10.0, 0.0, 10.0)},
        logarithmic=logarithmic,
    )
    low, high = figure.axes[0].get_xlim()
    assert low <= 10.0 and high > 4000.0
    # A band that begins at 0 does not open a logarithmic axis by a hundred powers of ten.
    assert not logarithmic or low > 1.0


def test_a_line_far_above_zero_has_room_to_the_frame() -> None:
    points = pd.DataFrame({"x": [1.0, 2.0], "y": [400.0, 405.0]})
    figure = dependence(points, x="x", values={"y": "y"}, x_label="x", note="n")
    assert figure.axes[0].get_ylim()[0] == 0.0
    assert figure.axes[0].get_ylim()[1] > 1.04 * 405.0


def test_a_panel_without_a_value_says_so_and_has_the_x_limits_of_the_others() -> None:
    points = pd.DataFrame({"x": [1000.0, 5000.0], "y": [4.0, 5.0], "z": [float("nan")] * 2})
    figure = dependence(points, x="x", values={"y": "y", "z": "z"}, x_label="x", note="n")
    full, empty = figure.axes
    assert [text.get_text() for text in empty.texts] == ["no value in these runs"]
    assert not full.texts
    assert empty.get_xlim() == full.get_xlim()


def test_a_reference_is_named_in_the_first_panel_only() -> None:
    points = pd.DataFrame({"x": [1.0, 2.0], "y": [4.0, 5.0], "z": [3.0, 6.0]})
    figure = dependence(
        points, x="x", values={"y": "y", "z": "z"}, x_label="x", note="n", reference={"as before": 4.5}
    )
    assert [[text.get_text() for text in axes.texts if text.get_text()] for axes in figure.axes] == [
        ["as before"],
        [],
    ]
