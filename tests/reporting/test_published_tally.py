"""The four numbers of the first screen, counted anew from the published files alone."""

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
    """All claims of the ledger, as the files have them."""
    files = [yaml.safe_load((CLAIMS / f"{paper}.yaml").read_text(encoding="utf-8")) for paper in PAPERS]
    return [claim["id"] for content in files for claim in content["claims"]]


def published() -> dict[str, dict[str, Any]]:
    """What the verdict files say of each claim."""
    files = sorted((REPORTS / "verdicts").glob("*.json"))
    return {
        claim["id"]: claim
        for path in files
        for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]
    }


def where_it_stands(claim: dict[str, Any] | None, *, impossible: bool) -> str:
    """Written once more, and not taken from the package: this is what the package is held against."""
    if claim is not None and claim["verdict"] == "reproduced":
        return "reproduced"
    if claim is not None and any(each["verdict"] == "reproduced" for each in claim.get("readings", [])):
        return "reproduced under a stated reading"
    return "impossible as printed" if impossible else "open"


def tally() -> Counter[str]:
    causes = yaml.safe_load((CLAIMS / "causes.yaml").read_text(encoding="utf-8"))
    impossible = {claim for cause in causes if cause.get("impossible") for claim in cause["claims"]}
    found = published()
    return Counter(where_it_stands(found.get(id_), impossible=id_ in impossible) for id_ in claim_ids())


def test_the_four_add_up_to_all_claims() -> None:
    assert sum(tally().values()) == len(claim_ids()) == len(set(claim_ids()))


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


def test_each_row_of_the_page_stands_where_the_files_say() -> None:
    page = (REPORTS / "index.html").read_text(encoding="utf-8")
    rows = Counter(re.findall(r'<tr id="[\w-]+"[^>]* data-standing="([^"]*)"', page))
    assert rows == tally()
