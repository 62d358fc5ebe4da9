"""The folder of a league: it says what was played, and holds the results of one league only."""

from __future__ import annotations

import json
from pathlib import Path

from storm_lab.league.entrant import Entrant
from storm_lab.schedulers import make_scheduler
from storm_lab.tournament.report import LeagueReport, read_report
from storm_lab.tournament.suite import suite
from storm_lab.tournament.tournament import Tournament
from storm_lab.version import __version__
from tests.tournament.test_tournament import rows


def test_a_folder_says_what_was_played(tmp_path: Path) -> None:
    cases = suite("papers", only=["tstorm-word"])
    rstorm = Entrant("rstorm", make_scheduler("rstorm", ["cpu=hard"]), online=True)
    played = Tournament((rstorm, Entrant("even", make_scheduler("even"))), cases, (1, 2)).settings()
    found = rows({("one", "rstorm"): 10.0, ("one", "even"): 12.0})
    LeagueReport(found, (), "even", {"duration_s": 300.0, **played}).write(tmp_path)
    settings = json.loads((tmp_path / "league.json").read_text())["settings"]
    assert (settings["duration_s"], settings["seeds"], settings["storm_lab"]) == (300.0, [1, 2], __version__)
    assert settings["schedulers"]["rstorm"]["parameters"]["cpu"] == "hard"
    assert settings["schedulers"]["rstorm"]["measured_load"] and settings["schedulers"]["even"]["version"]
    assert read_report(tmp_path).settings == settings


def test_a_folder_keeps_no_files_of_an_earlier_league(tmp_path: Path) -> None:
    LeagueReport(rows({("one", "a"): 10.0, ("one", "b"): 12.0}), ("a",), "b").write(tmp_path)
    assert (tmp_path / "critical-difference.svg").exists()
    (tmp_path / "win-tie-loss-remarks.txt").write_text("the user's own")
    LeagueReport(rows({("one", "c"): 10.0}), (), "c").write(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert not {"win-tie-loss-a.csv", "critical-difference.svg", "critical-difference.pdf"} & left
    assert "win-tie-loss-remarks.txt" in left
