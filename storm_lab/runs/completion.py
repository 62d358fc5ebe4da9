"""Shell completion for the names of experiments, claims and suites."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from storm_lab.experiments.ledger import load_claims
from storm_lab.papers.registry import experiments


def complete_experiment(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of an experiment; the help is its title."""
    return [
        CompletionItem(item.slug, help=item.title)
        for item in experiments()
        if item.slug.startswith(incomplete)
    ]


def complete_claim(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of a claim; the help is its statement."""
    return [
        CompletionItem(claim.id, help=claim.statement)
        for claim in load_claims().claims
        if claim.id.startswith(incomplete)
    ]


def complete_suite(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of a league's suite; complete file names if no suite matches."""
    found = [CompletionItem(name) for name in ("papers", "generated") if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
