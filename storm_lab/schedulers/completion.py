"""What a shell is told when somebody asks it to complete the name of a scheduler.

A scheduler may stand in a file, too: files are the shell's own to complete, which it does when it gets an
item of the type ``file``.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from storm_lab.schedulers.registry import scheduler_names


def complete_scheduler(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The schedulers whose names begin so; files where none does."""
    online = "online:" if incomplete.startswith("online:") else ""
    names = [f"{online}{name}" for name in scheduler_names()]
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def complete_policies(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The last of a list of schedulers: those whose names begin so, without those that are there already."""
    before, comma, _ = incomplete.rpartition(",")
    there = before.split(",")
    names = [f"{before}{comma}{name}" for name in scheduler_names() if name not in there]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
