"""Suites of a league: the papers' topologies on their machines, generated cases, or cases of a file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from storm_lab.errors import UserError, check_known
from storm_lab.league.generated import FAMILIES, MACHINES, generated_site
from storm_lab.league.imported_site import imported_site
from storm_lab.league.stage import Stage
from storm_lab.model.checks import check_distinct
from storm_lab.papers.stages import PAPERS, paper_stage
from storm_lab.workloads.importers.documents import Notes, read_bounded, yaml_part
from storm_lab.workloads.importers.importing import import_topology

DURATION_S = 420.0
"""Default virtual duration of a league's runs."""

GENERATION_S = 60.0
"""Period of the schedule generator in these runs, instead of T-Storm's 300 s, so that short runs settle."""


@dataclass(frozen=True)
class Case:
    """One case of a suite: its name, its group (a paper or a family), its stage and the stage's settings."""

    name: str
    group: str
    stage: Stage
    given: Mapping[str, object] = field(default_factory=dict)


def suite(
    text: str, *, only: Sequence[str] = (), instances: int = 1, seed: int = 1, duration_s: float = DURATION_S
) -> tuple[Case, ...]:
    """Return the cases of ``papers``, ``generated`` or a file, to be run for ``duration_s`` of virtual time.

    ``only`` has the beginnings of the names of the cases to keep; empty keeps all. Generated cases are
    ``instances`` of each family on each kind of machines, with seeds from ``seed`` on. Raises `UserError` if
    there is no such suite, file or name, or a file cannot be read.
    """
    if text == "papers":
        cases = [Case(name.replace("/", "-"), name.partition("-")[0], paper_stage(name)) for name in PAPERS]
    elif text == "generated":
        cases = [
            Case(f"{family}-{machines}-{number}", family, generated_site(family, machines, number))
            for family in FAMILIES
            for machines in MACHINES
            for number in range(seed, seed + instances)
        ]
    elif Path(text).suffix in (".yaml", ".yml"):
        cases = _cases_of_file(Path(text))
    else:
        remedy = "give papers, generated, or a YAML file that lists topologies and machines"
        raise UserError("there is no such suite", field="suite", value=text, remedy=remedy)
    if only:
        cases = _cases_named(cases, only)
    return tuple(replace(case, given=_settings(case.stage, duration_s)) for case in cases)


def _settings(stage: Stage, duration_s: float) -> Mapping[str, object]:
    wanted = {"duration_s": duration_s, "generation_s": GENERATION_S}
    return {
        item.name: min(max(wanted[item.name], item.low or 0.0), math.inf if item.high is None else item.high)
        for item in stage.declared
        if item.name in wanted
    }


def _cases_named(cases: Sequence[Case], only: Sequence[str]) -> list[Case]:
    for name in only:
        if not any(case.name.startswith(name) for case in cases):
            message = "no case has a name that begins with this"
            remedy = f"the cases are: {', '.join(case.name for case in cases)}"
            raise UserError(message, field="only", value=name, remedy=remedy)
    return [case for case in cases if case.name.startswith(tuple(only))]


_REQUIRED = ("name", "topology")
_OPTIONAL = ("machines", "overlay")


def _beside(path: Path, name: str) -> str:
    """Return a file in the folder of the suite's file, or the name itself, since machines have presets."""
    file = path.parent / name
    return str(file) if file.exists() else name


def _cases_of_file(path: Path) -> list[Case]:
    """Read the cases of a YAML file.

    Each has a ``name``, a ``topology`` (a file to import), and what `import_topology` takes as ``machines``
    and ``overlay``.
    """
    document = yaml_part(read_bounded(path, field="suite"), path.name, Notes()).plain()
    given = document if isinstance(document, dict) else {}
    rows = given.get("cases")
    if not isinstance(rows, list) or not rows:
        remedy = "write cases: and below it a list of entries with name, topology and machines"
        raise UserError("lists no cases", field="suite", value=str(path), remedy=remedy)
    for key in given:
        check_known("key", key, ("cases",), path.name)
    cases = []
    for number, row in enumerate(rows, 1):
        where = f"case {number} of {path.name}"
        _check_row(row, where)
        name, topology = row["name"], _beside(path, row["topology"])
        machines, overlay = (_beside(path, row[key]) if key in row else None for key in _OPTIONAL)
        try:
            site = imported_site(import_topology(topology, machines=machines, overlay=overlay))
        except UserError as error:
            message = f"{error.message} ({where}, {name})"
            raise UserError(message, field=error.field, value=error.value, remedy=error.remedy) from error
        cases.append(Case(name, path.stem, site))
    check_distinct(str(path), "name", [case.name for case in cases])
    return cases


def _check_row(row: object, where: str) -> None:
    """Refuse an entry that is no mapping of the known keys to texts."""
    if not isinstance(row, dict) or not set(_REQUIRED) <= row.keys() <= {*_REQUIRED, *_OPTIONAL}:
        message = "a case needs name and topology, and may have machines and overlay"
        raise UserError(message, field=where, value=str(row), remedy="write these keys and no others")
    for key, value in row.items():
        if not isinstance(value, str) or not value.strip():
            leave = ", or leave it out" if key in _OPTIONAL else ""
            remedy = f"write a text, in quotation marks if it looks like a number{leave}"
            shown = "null" if value is None else value
            raise UserError("is not a text", field=f"{key} of {where}", value=shown, remedy=remedy)
