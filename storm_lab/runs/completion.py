"""What a shell is told when somebody asks it to complete an experiment's name."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from storm_lab.papers.registry import experiments


def complete_experiment(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The experiments whose names begin so, with their titles."""
    return [
        CompletionItem(item.slug, help=item.title)
        for item in experiments()
        if item.slug.startswith(incomplete)
    ]
