"""Ranks and tests over instances, against numbers that are worked out by hand or published."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from storm_lab.errors import UserError
from storm_lab.tournament.ranking import (
    RankTest,
    against_baseline,
    holm,
    rank_test,
    ranks,
    win_tie_loss,
)

INF = math.inf


def scores(**columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame(columns, index=[f"case{n}" for n in range(len(next(iter(columns.values()))))])


def test_ranks_share_ties_and_put_failures_last() -> None:
    table = ranks(scores(a=[10.0, 10.0, INF], b=[10.05, 20.0, INF], c=[30.0, INF, 5.0]))
    # 10.05 is within one per cent of 10; two failures share the last two ranks.
    assert table.to_numpy().tolist() == [[1.5, 1.5, 3.0], [1.0, 2.0, 3.0], [2.5, 2.5, 1.0]]


def test_a_chain_of_small_steps_is_no_tie() -> None:
    assert ranks(scores(a=[100.0], b=[100.9], c=[101.8])).to_numpy().tolist() == [[1.5, 1.5, 3.0]]


def test_a_missing_score_is_refused() -> None:
    with pytest.raises(UserError, match="no score"):
        ranks(scores(a=[1.0], b=[float("nan")]))


def test_nemenyis_difference_matches_a_published_example() -> None:
    # Demsar's example: four methods on fourteen sets, q = 2.569, difference 1.25.
    draw = np.random.default_rng(1)
    table = pd.DataFrame(draw.random((14, 4)) + 1, columns=list("abcd"))
    assert rank_test(table).critical_difference == pytest.approx(2.569 * math.sqrt(20 / 84), abs=1e-3)


def test_friedmans_statistic_matches_a_hand_calculation() -> None:
    # Ranks are 1, 2, 3 on all of four instances: 12 / (4*3*4) * (4^2 + 8^2 + 12^2) - 3*4*4 = 8.
    found = rank_test(scores(a=[1.0] * 4, b=[2.0] * 4, c=[3.0] * 4))
    assert found.statistic == pytest.approx(8.0)
    assert found.p_value == pytest.approx(math.exp(-4.0))  # chi-squared with two degrees of freedom
    assert found.mean_ranks == {"a": 1.0, "b": 2.0, "c": 3.0}


def test_equal_schedulers_do_not_differ() -> None:
    found = rank_test(scores(a=[1.0, 2.0], b=[1.0, 2.0], c=[1.0, 2.0]))
    assert (found.statistic, found.p_value) == (0.0, 1.0)


def test_two_schedulers_or_one_instance_have_no_friedman_test() -> None:
    assert rank_test(scores(a=[1.0, 2.0], b=[2.0, 3.0])).p_value is None
    assert rank_test(scores(a=[1.0], b=[2.0], c=[3.0])).critical_difference is None


@pytest.mark.parametrize(
    ("positions", "difference", "groups"),
    [
        ([1.0, 2.0, 3.0], 1.0, (("s0", "s1"), ("s1", "s2"))),
        ([1.0, 2.0, 3.0], 2.0, (("s0", "s1", "s2"),)),
        ([1.0, 2.0, 3.0], 0.5, ()),
        ([1.0, 1.4, 3.0, 3.2], 0.5, (("s0", "s1"), ("s2", "s3"))),
    ],
)
def test_groups_are_the_longest_ranges_of_schedulers_that_do_not_differ(
    positions: list[float], difference: float, groups: tuple[tuple[str, ...], ...]
) -> None:
    named = {f"s{n}": rank for n, rank in enumerate(positions)}
    assert RankTest(5, named, 1.0, 0.1, difference).groups == groups


def test_wins_ties_and_losses_are_counted_per_instance() -> None:
    table = win_tie_loss(
        scores(mine=[1.0, 2.0, 3.0, INF], b=[2.0, 2.0, 1.0, 5.0], c=[9.0, INF, 9.0, INF]), "mine"
    )
    assert table.set_index("against").loc["b"].tolist() == [1, 1, 2]
    assert table.set_index("against").loc["c"].tolist() == [3, 1, 0]


def test_holms_method_matches_a_hand_calculation() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])


def test_gains_and_p_values_are_taken_against_a_baseline() -> None:
    table = against_baseline(scores(base=[10.0] * 6, good=[8.0] * 5 + [9.0], lost=[INF] * 6), "base")
    good, lost = table.to_dict("records")
    assert good["gain_percent"] == pytest.approx(20.0)
    # Six differences of one sign: 2 / 2^6.
    assert good["p_value"] == pytest.approx(0.03125, abs=0.02)
    assert lost["instances"] == 0 and math.isnan(lost["gain_percent"])
    assert lost["p_value"] == pytest.approx(0.03125, abs=0.02)
    with pytest.raises(UserError, match="baseline = 'nobody'"):
        against_baseline(scores(base=[1.0]), "nobody")


def test_five_instances_have_no_p_value_because_they_could_not_differ() -> None:
    # The least p value of five differences is 2 / 2^5 = 0.0625, that of six 2 / 2^6 = 0.03125.
    five, six = (against_baseline(scores(base=[10.0] * n, good=[8.0] * n), "base") for n in (5, 6))
    assert math.isnan(five["p_value"].iloc[0]) and not five["differs"].iloc[0]
    assert six["differs"].iloc[0]
