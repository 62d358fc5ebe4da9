"""Shell completion for the names of experiments, claims and suites."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from storm_lab.experiments.ledger import load_claims
from storm_lab.papers.registry import experiments


def _matching(known: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    """Completions among some names, each with its help."""
    return [CompletionItem(name, help=what) for name, what in known if name.startswith(incomplete)]


def complete_experiment(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of an experiment; the help is its title."""
    return _matching(((item.slug, item.title) for item in experiments()), incomplete)


def complete_claim(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of a claim; the help is its statement."""
    return _matching(((claim.id, claim.statement) for claim in load_claims().claims), incomplete)


def complete_suite(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of a league's suite; complete file names if no suite matches."""
    found = [CompletionItem(name) for name in ("papers", "generated") if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
