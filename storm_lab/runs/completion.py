"""What a shell is told when somebody asks it to complete the name of an experiment, a claim or a suite."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from storm_lab.experiments.ledger import load_claims
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


def complete_claim(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The claims whose names begin so, with what they state."""
    return [
        CompletionItem(claim.id, help=claim.statement)
        for claim in load_claims().claims
        if claim.id.startswith(incomplete)
    ]


def complete_suite(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The suites of a league whose names begin so; files where none does."""
    found = [CompletionItem(name) for name in ("papers", "generated") if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
