"""The command ``storm-lab new``: a scheduler of the reader's own to start from, its test, its entry point."""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path

import click

from storm_lab.errors import UserError
from storm_lab.machine.options import Commands, answer, examples, json_option

_SCHEDULER = '''"""{title}: a scheduler for Storm.

    pytest test_{module}.py                               does it keep the contract?
    storm-lab league --scheduler {module}.py:{kind}       how does it compare?
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.model import Assignment
from storm_lab.schedulers import (
    Candidate,
    Journal,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)


@dataclass(frozen=True)
class Parameters:
    """What may be set: --scheduler {module}.py:{kind}:nodes=3"""

    nodes: int = 4
    """At most so many nodes for a topology."""


class {kind}(Scheduler[Parameters]):
    """One worker on each of a few nodes, executors dealt out in turn. Replace this by your idea."""

    name, version, Parameters = "{name}", "1", Parameters

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        # What you may look at:
        #   view.topologies                the topologies; view.executors[topology.id] are their executors
        #   view.nodes, view.usable_slots  where executors may go; view.free_slots have no worker yet
        #   view.present.slots             executor -> slot, as it is now; keep what need not move
        #   view.unplaced(topology.id)     executors without a slot on a living node
        #   view.load                      CPU and traffic as measured; None before the first measurement,
        #                                  and always, unless you play with online: before the name
        #   view.traffic_of(topology.id)   (executor, executor) -> tuples a second
        #   view.demand(executor)          CPU points and MB that its component declares
        #   view.random("purpose")         the only source of chance
        placed = {{e: s for e, s in view.present.slots.items() if s.node in view.nodes}}
        free = list(view.free_slots)
        status: dict[str, TopologyStatus] = {{}}
        journal = Journal(view)
        for topology in view.topologies:
            missing = view.unplaced(topology.id)
            # The first free slot of each node, as many as we may use.
            first = {{slot.node: slot for slot in reversed(free)}}
            mine = list(dict.fromkeys(s for e, s in placed.items() if e.topology == topology.id))
            slots = mine or [slot for slot in free if first[slot.node] == slot][: self.parameters.nodes]
            if missing and not slots:
                # No room is an answer, not an exception.
                status[topology.id] = TopologyStatus(False, "no free slot")
                continue
            for number, executor in enumerate(missing):
                placed[executor] = slots[number % len(slots)]
                if journal.wanted:  # storm-lab explain shows it
                    journal.record(executor, placed[executor], [Candidate(slot) for slot in slots])
            free = [slot for slot in free if slot not in slots]
            status[topology.id] = TopologyStatus(True, f"{{len(missing)}} executors placed")
        return SchedulingResult(Assignment.of(placed.items()), status, journal.decisions)
'''

_TEST = '''"""{kind} keeps the contract of a scheduler; add what is special about yours."""

import pytest
from {module} import {kind}

from storm_lab.league.contract_check import CASES, ContractCase, check


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_keeps_the_contract(case: ContractCase) -> None:
    check({kind}(), case)
'''

_PROJECT = """[build-system]
requires = ["setuptools>=64"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "1"
dependencies = ["storm-lab"]

# With pip install -e . storm-lab schedule, explain, sweep and league find the scheduler by its name.
[project.entry-points."storm_lab.schedulers"]
{name} = "{module}:{kind}"

[tool.setuptools]
py-modules = ["{module}"]
"""


def starter_files(name: str) -> dict[str, str]:
    """File names and texts of a new scheduler; `UserError` if nothing can have this name."""
    module = name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", module) or keyword.iskeyword(module):
        remedy = "use small letters, digits, - and _, a letter first: my-idea"
        raise UserError("is no name for a scheduler", field="name", value=name, remedy=remedy)
    if module in sys.stdlib_module_names or module in ("storm_lab", "pytest"):
        remedy = f"choose another: {name}-idea"
        raise UserError("another module has this name", field="name", value=name, remedy=remedy)
    words = [word for word in module.split("_") if word]
    fields = {
        "module": module,
        "name": module.replace("_", "-").strip("-"),
        "kind": "".join(word.capitalize() for word in words),
        "title": " ".join(words).capitalize(),
    }
    return {
        f"{module}.py": _SCHEDULER.format(**fields),
        f"test_{module}.py": _TEST.format(**fields),
        "pyproject.toml": _PROJECT.format(**fields),
    }


def write_starter(name: str, folder: Path) -> tuple[Path, ...]:
    """Write the files of a new scheduler; none is ever written over.

    A ``pyproject.toml`` that is there already stays as it is, and is left out of the answer.

    Raises:
        UserError: nothing can have this name, or a file of it is there already.
    """
    files = starter_files(name)
    for file in files:
        if file != "pyproject.toml" and (folder / file).exists():
            remedy = "choose another name"
            raise UserError("is there already", field="file", value=str(folder / file), remedy=remedy)
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / file for file in files if not (folder / file).exists()]
    for path in written:
        path.write_text(files[path.name], encoding="utf-8")
    return tuple(written)


@click.group(cls=Commands, epilog=examples("storm-lab new scheduler my-idea"))
def new() -> None:
    """Begin something of your own."""


@new.command(
    epilog=examples("storm-lab new scheduler my-idea", "storm-lab new scheduler my-idea --folder work")
)
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Where to write; here by default.",
)
@json_option
def scheduler(name: str, folder: Path, as_json: bool) -> None:
    """Write a scheduler to start from, its test and its entry point."""
    written = write_starter(name, folder)
    answer(as_json, [str(path) for path in written], "\n".join(map(str, written)))
    own = next(iter(starter_files(name)))
    if folder / "pyproject.toml" not in written:
        click.echo("pyproject.toml was there and stays; its entry point is in the documentation", err=True)
    click.echo(
        f"next: pytest {folder / f'test_{own}'}; storm-lab league --scheduler {folder / own}", err=True
    )
