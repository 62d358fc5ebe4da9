"""CONTRIBUTING works as written: its steps are followed in a copy of the package, and the result is used."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

BLOCK = r"\n\n```\w+\n(.*?)```"
WRITE = re.compile(r"^Write `([^`]+)`:" + BLOCK, re.MULTILINE | re.DOTALL)
ADD = re.compile(r"^In `([^`]+)`, below `([^`]+)`, add" + BLOCK, re.MULTILINE | re.DOTALL)
PUT = re.compile(r"^In `([^`]+)`, put `([^`]+)` in place of `([^`]+)`\.", re.MULTILINE)


def follow(text: str, checkout: Path) -> int:
    """Follow the steps of a section in a checkout, and return their number."""
    steps = 0
    for file, content in WRITE.findall(text):
        path = checkout / file
        assert not path.exists(), f"{file} is there already"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        steps += 1
    for file, anchor, content in ADD.findall(text):
        replace_once(checkout / file, f"{anchor}\n", f"{anchor}\n{content}")
        steps += 1
    for file, new, old in PUT.findall(text):
        replace_once(checkout / file, old, new)
        steps += 1
    return steps


def replace_once(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path.name} holds {old!r} {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")


def section(title: str) -> str:
    found = TEXT.split(f"\n## {title}\n")[1]
    return found.split("\n## ")[0]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which all sections have been followed, in their order."""
    home = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "storm_lab", home / "storm_lab", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", home)
    titles = re.findall(r"^## (Add .*)$", TEXT, re.MULTILINE)
    assert titles == [
        *("Add a scheduler", "Add a fault", "Add a migration method", "Add a paper", "Add an experiment")
    ]
    steps = {title: follow(section(title), home) for title in titles}
    assert all(steps.values()), steps
    assert sum(steps.values()) == TEXT.count("\nWrite `") + TEXT.count("\nIn `")
    return home


def output_of(checkout: Path, *command: str) -> str:
    """Return what a command prints in the checkout; a few tuples play faster without compiling the kernel."""
    variables = {
        "PYTHONPATH": str(checkout),
        "STORM_LAB_DATA": str(checkout / "data"),
        "STORM_LAB_JIT": "0",
    }
    done = subprocess.run(
        [sys.executable, *command],
        cwd=checkout, env=os.environ | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def storm_lab(checkout: Path, *arguments: str) -> str:
    call = f"import sys; from storm_lab.cli import main; sys.exit(main({list(arguments)!r}))"
    return output_of(checkout, "-c", call)


CASE = {
    "name": "small",
    "input": {
        "supervisors": [{"id": "n1", "host": "h1", "ports": [6700, 6701]}],
        "topologies": [{"id": "t-1-1", "workers": 2, "ackers": 0, "components": [{"id": "a", "par": 3}]}],
    },
}


def test_the_scheduler_places_a_case(checkout: Path) -> None:
    (checkout / "cases.jsonl").write_text(json.dumps(CASE), encoding="utf-8")
    answer = json.loads(storm_lab(checkout, "schedule", "cases.jsonl", "--scheduler", "one-worker"))
    assert answer["status"] == {"t-1-1": "in one worker"}
    assert [len(rows) for rows in answer["assignments"]["t-1-1"].values()] == [3]


FAULT_AND_METHOD = """
from storm_lab.emulator.control.faults import FaultPlan, PlannedWorld
from storm_lab.emulator.control.migration.quiet_start import QuietStart
from storm_lab.errors import UserError
from storm_lab.model import Cluster, Node
from storm_lab.model.version import V0_8_2

world = PlannedWorld(Cluster((Node("n1"),)), (), V0_8_2, 100.0)
FaultPlan.of_rows([{"fault": "brown-out", "at_s": 60, "factor": 0.5}]).check(world)
try:
    FaultPlan.of_rows([{"fault": "brown-out", "at_s": 60, "factor": 5}]).check(world)
except UserError as error:
    print(error)
print(QuietStart(idle_s=3.0).begin(None).spout_idle_s(None))
"""


def test_the_fault_is_found_by_name_and_the_migration_method_begins(checkout: Path) -> None:
    refusal, idle_s = output_of(checkout, "-c", FAULT_AND_METHOD).splitlines()
    assert refusal == "faults[0].factor = 5: a brown-out needs a number; give 0.01 to 1"
    assert float(idle_s) == 3.0


MEASURED = """
import pandas as pd
from types import SimpleNamespace
from storm_lab.experiments.ledger import load_claims
from storm_lab.papers.registry import experiment

declared = experiment("example-latency")
assert declared.claims == ("example-latency",) and "Example" in load_claims().papers
rows = [("storm", 1, 0.5), ("storm", 2, 0.7)]
tables = SimpleNamespace(steady_latency=pd.DataFrame(rows, columns=["variant", "seed", "complete_mean_ms"]))
(found,) = declared.measure(tables, declared.checked())
print(found.claim_id, round(found.values[0].value, 3))
"""


def test_the_experiment_is_listed_and_measures_its_claim(checkout: Path) -> None:
    assert "Example" in storm_lab(checkout, "list", "example-latency")
    assert output_of(checkout, "-c", MEASURED).split() == ["example-latency", "0.6"]


PLAYED = """
from dataclasses import replace
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.migration.quiet_start import QuietStart
from storm_lab.emulator.emulation import Emulation
from storm_lab.papers.registry import experiment

declared = experiment("example-latency")
run = declared.runs(declared.checked({"seeds": [1]}))[0]
faults = FaultPlan.of_rows([{"fault": "brown-out", "at_s": 35, "factor": 0.5}])
played = Emulation(replace(run.describe(run), migration=QuietStart(), faults=faults))
decisions = played.run().decisions
print(*(f"{item.action} {item.detail}" for item in decisions if item.action == "brown-out"))
"""


@pytest.mark.slow
def test_the_fault_strikes_a_run_under_the_migration_method(checkout: Path) -> None:
    assert output_of(checkout, "-c", PLAYED).startswith("brown-out")


@pytest.mark.slow
def test_the_experiment_is_played(checkout: Path) -> None:
    storm_lab(checkout, "run", "example-latency", "-p", "seeds=1", "--emulate-only", "--jobs", "1")
    assert list((checkout / "data" / "runs" / "example-latency").glob("*/manifest.json"))
