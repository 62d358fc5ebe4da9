"""Shell completion for the names of experiments, claims and suites."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from storm_lab.experiments.ledger import load_claims
from storm_lab.papers.registry import experiments

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""Function that completes an incomplete text, as click calls it."""


def _completer(known: Callable[[], Iterable[tuple[str, str]]]) -> Completer:
    """Return the completion of some names, each with its help, which are read when a shell asks."""
    return lambda context, parameter, incomplete: [
        CompletionItem(name, help=what) for name, what in known() if name.startswith(incomplete)
    ]


complete_experiment = _completer(lambda: ((item.slug, item.title) for item in experiments()))
"""Complete the name of an experiment; the help is its title."""

complete_claim = _completer(lambda: ((claim.id, claim.statement) for claim in load_claims().claims))
"""Complete the name of a claim; the help is its statement."""


def complete_suite(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of a league's suite; complete file names if no suite matches."""
    found = [CompletionItem(name) for name in ("papers", "generated") if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
