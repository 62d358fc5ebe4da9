"""The order of the entrants in a league's table."""

import pandas as pd

from storm_lab.tournament.league import COLUMNS, TRANSITION, league_table


def test_an_entrant_that_drops_its_load_is_last_however_quick_it_is() -> None:
    rows = pd.DataFrame(
        [("slow", 1, 20.0, 40.0, 200.0, 10, 90.0), ("quick", 1, 15.0, 30.0, 198.0, 4, 70.0),
         ("drops", 1, 4.0, 20.0, 27.0, 8, 88.0)],
        columns=["variant", "seed", *COLUMNS],
    ).assign(unranked="", **dict.fromkeys(TRANSITION, 300.0))  # fmt: skip
    table = league_table(rows)
    assert list(table.index) == ["quick", "slow", "drops"]
    assert list(table["rank"]) == ["1", "2", "3"]
    assert "not ranked because" not in table
