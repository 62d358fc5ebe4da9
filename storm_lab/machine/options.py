"""What several commands of the program share: options, and the examples on help pages."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import click

from storm_lab.errors import unknown_name
from storm_lab.machine.facts import usable_cores

Option = Callable[[Callable[..., None]], Callable[..., None]]
"""An option of click, as a decorator of a command's function."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
jobs_option = click.option(
    "--jobs",
    default=usable_cores(),
    show_default="one per core",
    type=click.IntRange(1, 1024),
    help="Number of emulations that run at the same time.",
)
on_spark_option = click.option(
    "--on-spark", is_flag=True, help="Play on Spark, where STORM_LAB_SPARK_MASTER or _REMOTE says."
)
fresh_option = click.option("--fresh", is_flag=True, help="Play and execute again what already exists.")


def param_option(what: str = "Set a parameter; repeatable.") -> Option:
    """Return the option ``-p NAME=VALUE`` of a command, passed to its argument ``parameters``."""
    return click.option("-p", "--param", "parameters", metavar="NAME=VALUE", multiple=True, help=what)


FILE = click.Path(readable=False)
"""Type of options that take a file; the shell completes it, and the command reports errors on reading."""


def file_option(name: str, what: str) -> Option:
    """Return an option that takes the name of a file."""
    return click.option(name, type=FILE, metavar="FILE", help=what)


constants_option = click.option(
    "--constants",
    metavar="FILE|NAME=VALUE,...",
    type=FILE,
    help="Constants of a machine, as storm-lab calibrate --live writes them, or some of your own.",
)
overlay_option = file_option("--overlay", "YAML with rates, costs, sizes and keys that the files lack.")


class FiniteRange(click.FloatRange):
    """Numbers in a range; unlike click's own type, it refuses nan, and infinity where there is no limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; `click.BadParameter` for any other text."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not finite; give a finite number.", param, ctx)
        return number


def print_json(document: object) -> None:
    """Print a command's answer to a program, as JSON."""
    click.echo(json.dumps(document, indent=1, ensure_ascii=False))


def answer(as_json: bool, document: object, text: str) -> None:
    """Print a command's answer: the document for programs, the text for people."""
    if as_json:
        print_json(document)
    else:
        click.echo(text)


def examples(*lines: str) -> str:
    """Return the examples for the end of a help page, marked so that click does not rewrap them."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


class Commands(click.Group):
    """A group that lists its commands when called with an unknown name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown name raises an error that lists the commands."""
        known = ctx.resilient_parsing or not args or args[0] in self.list_commands(ctx)
        if not known and not args[0].startswith("-"):
            raise unknown_name("command", args[0], self.list_commands(ctx), ctx.command_path)
        return super().resolve_command(ctx, args)
