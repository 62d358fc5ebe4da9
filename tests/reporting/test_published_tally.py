"""The four numbers at the top of the report, counted again from the published files alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CLAIMS = ROOT / "storm_lab" / "experiments" / "claims"
REPORTS = ROOT / "reports"
PAPERS = ("twitter", "tstorm", "rstorm", "nstorm", "mfstorm")


def claim_ids() -> list[str]:
    """Return the ids of all claims in the ledger's files."""
    files = [yaml.safe_load((CLAIMS / f"{paper}.yaml").read_text(encoding="utf-8")) for paper in PAPERS]
    return [claim["id"] for content in files for claim in content["claims"]]


def published() -> dict[str, dict[str, Any]]:
    """Return the entry of each claim in the verdict files."""
    files = sorted((REPORTS / "verdicts").glob("*.json"))
    return {
        claim["id"]: claim
        for path in files
        for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]
    }


def standing_of(claim: dict[str, Any] | None, *, impossible: bool) -> str:
    """Does not use the package's own code, because the package is checked against this."""
    if claim is not None and claim["verdict"] == "reproduced":
        return "reproduced"
    if claim is not None and any(each["verdict"] == "reproduced" for each in claim.get("readings", [])):
        return "reproduced under a stated reading"
    return "impossible as printed" if impossible else "open"


def tally() -> Counter[str]:
    causes = yaml.safe_load((CLAIMS / "causes.yaml").read_text(encoding="utf-8"))
    impossible = {claim for cause in causes if cause.get("impossible") for claim in cause["claims"]}
    found = published()
    return Counter(standing_of(found.get(id_), impossible=id_ in impossible) for id_ in claim_ids())


def test_every_published_claim_is_in_the_ledger() -> None:
    assert set(published()) <= set(claim_ids())


def test_the_page_shows_this_tally() -> None:
    page = (REPORTS / "index.html").read_text(encoding="utf-8")
    shown = {
        name: int(count)
        for count, name in re.findall(r"<b>(\d+)</b> (reproduced[a-z ]*|impossible as printed|open)<", page)
    }
    counted = tally()
    assert shown == {name: counted[name] for name in shown}
    assert len(shown) == 4


def test_the_rows_of_the_page_have_the_standings_that_the_files_give() -> None:
    page = (REPORTS / "index.html").read_text(encoding="utf-8")
    rows = Counter(re.findall(r'<tr id="[\w-]+"[^>]* data-standing="([^"]*)"', page))
    assert rows == tally()
