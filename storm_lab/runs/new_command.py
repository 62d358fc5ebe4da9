"""The command ``storm-lab new``."""

from __future__ import annotations

from pathlib import Path

import click

from storm_lab.league.starter import starter_files, write_starter
from storm_lab.machine.options import Commands, examples, json_option, print_json


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
    if as_json:
        print_json([str(path) for path in written])
    else:
        click.echo("\n".join(map(str, written)))
    own = next(iter(starter_files(name)))
    if folder / "pyproject.toml" not in written:
        click.echo("pyproject.toml was there and stays; its entry point is in the documentation", err=True)
    click.echo(
        f"next: pytest {folder / f'test_{own}'}; storm-lab league --scheduler {folder / own}", err=True
    )
