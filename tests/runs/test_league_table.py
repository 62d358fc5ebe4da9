"""The table of a league: who stands where."""

import pandas as pd

from storm_lab.runs.league import COLUMNS, league_table


def test_an_entrant_that_drops_its_load_stands_last_however_quick() -> None:
    rows = pd.DataFrame(
        [("slow", 1, 20.0, 40.0, 200.0, 10, 90.0), ("quick", 1, 15.0, 30.0, 198.0, 4, 70.0),
         ("drops", 1, 4.0, 20.0, 27.0, 8, 88.0)],
        columns=["variant", "seed", *COLUMNS],
    )  # fmt: skip
    assert list(league_table(rows).index) == ["quick", "slow", "drops"]
