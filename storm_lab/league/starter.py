"""The command ``storm-lab new``, which writes a scheduler to start from, its test and its entry point.

The texts are the files in ``templates``.
"""

from __future__ import annotations

import keyword
import re
import sys
from contextlib import ExitStack
from importlib.metadata import packages_distributions
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from storm_lab.errors import UserError
from storm_lab.machine.atomic_file import atomic_file
from storm_lab.machine.options import Commands, answer, examples, json_option
from storm_lab.schedulers.registry import scheduler_names


def starter_files(name: str) -> dict[str, str]:
    """Return file names and texts of a new scheduler; `UserError` if the name is not allowed."""
    module = name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", module) or keyword.iskeyword(module):
        remedy = "use lower-case letters, digits, - and _, starting with a letter, for example my-idea"
        raise UserError("is not a valid name for a scheduler", field="name", value=name, remedy=remedy)
    own_name = module.replace("_", "-").strip("-")
    modules = {*sys.stdlib_module_names, "storm_lab", "pytest", *packages_distributions()}
    for what, is_taken in (("module", module in modules), ("scheduler", own_name in scheduler_names())):
        if is_taken:
            remedy = f"choose another name, for example {name}-idea"
            raise UserError(f"another {what} has this name", field="name", value=name, remedy=remedy)
    words = [word for word in module.split("_") if word]
    fields = {
        "module": module,
        "name": own_name,
        "kind": "".join(word.capitalize() for word in words),
        "title": " ".join(words).capitalize(),
    }
    templates = {
        f"{module}.py": "scheduler.py.txt",
        f"test_{module}.py": "test_scheduler.py.txt",
        "pyproject.toml": "pyproject.toml.txt",
    }
    folder = files(__package__) / "templates"
    return {
        file: Template((folder / template).read_text(encoding="utf-8")).substitute(fields)
        for file, template in templates.items()
    }


def write_starter(name: str, folder: Path) -> tuple[Path, ...]:
    """Write the files of a new scheduler, all or none; existing files are never overwritten.

    An existing ``pyproject.toml`` stays as it is and is not among the returned paths. Raises `UserError` if
    the name is not allowed, or a file of the scheduler already exists.
    """
    files = starter_files(name)
    for file in files:
        if file != "pyproject.toml" and (folder / file).exists():
            remedy = "choose another name"
            raise UserError("already exists", field="file", value=str(folder / file), remedy=remedy)
    written = [folder / file for file in files if not (folder / file).exists()]
    with ExitStack() as parts:
        for path in written:
            parts.enter_context(atomic_file(path)).write_text(files[path.name], encoding="utf-8")
    return tuple(written)


FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group(cls=Commands, epilog=examples("storm-lab new scheduler my-idea"))
def new() -> None:
    """Create a scheduler of your own."""


@new.command(
    epilog=examples("storm-lab new scheduler my-idea", "storm-lab new scheduler my-idea --folder work")
)
@click.argument("name")
@click.option("--folder", type=FOLDER, default=Path(), help="Folder to write to; the current one by default.")
@json_option
def scheduler(name: str, folder: Path, as_json: bool) -> None:
    """Write a scheduler to start from, its test and its entry point."""
    written = write_starter(name, folder)
    answer(as_json, [str(path) for path in written], "\n".join(map(str, written)))
    own = next(iter(starter_files(name)))
    if folder / "pyproject.toml" not in written:
        click.echo(
            "pyproject.toml already exists and was not changed; the documentation shows the entry point",
            err=True,
        )
    click.echo(
        f"next: pytest {folder / f'test_{own}'}; storm-lab league --scheduler {folder / own}", err=True
    )
