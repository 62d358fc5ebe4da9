"""The quick notebooks that `make test` re-runs exist, and every paper has one."""

from __future__ import annotations

from pathlib import Path

from storm_lab.papers.registry import experiment

ROOT = Path(__file__).parents[2]


def quick() -> list[str]:
    lines = (ROOT / "tests" / "nbval_quick.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_every_quick_notebook_has_been_executed() -> None:
    missing = [slug for slug in quick() if not (ROOT / "reports" / "notebooks" / f"{slug}.ipynb").is_file()]
    assert missing == []


def test_every_paper_has_a_quick_notebook() -> None:
    papers = {experiment(slug).paper for slug in quick()}
    assert papers >= {"T-Storm", "R-Storm", "N-Storm", "MF-Storm", "Storm@Twitter"}
