"""The options of ``storm-lab run`` with which a reader sees what the cause of a verdict is about."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote

from storm_lab.experiments.cause import Cause
from storm_lab.experiments.parameter import ParameterValue
from storm_lab.papers.registry import experiment
from storm_lab.reporting.verdict import Outcome, Verdict


def options_to_try(verdict: Verdict, cause: Cause | None) -> str:
    """Options that play the first reading under which the claim is reproduced; empty if there is none.

    If no reading reproduces it, those of the first reading that sets the cause's parameter to the cause's
    value, with everything else that the reading changes, and else that parameter alone. Readings that change
    more than the experiment's parameters have no options.
    """
    own = experiment(verdict.claim.owner)
    names = {parameter.name for parameter in own.parameters}
    known = {trial.label: trial.changes for trial in own.chosen if trial.changes.keys() <= names}
    readings = [each for each in verdict.readings if each.reading in known]
    reproducing = [known[each.reading] for each in readings if each.outcome is Outcome.REPRODUCED]
    if reproducing:
        return _options(reproducing[0])
    if cause is None or not cause.parameter:
        return ""
    shown = own.parsed((f"{cause.parameter}={cause.value}",))[cause.parameter]
    showing = (known[each.reading] for each in readings)
    changes = next((each for each in showing if each.get(cause.parameter) == shown), None)
    return _options(changes if changes is not None else {cause.parameter: cause.value})


def _options(changes: Mapping[str, ParameterValue]) -> str:
    return " ".join(f"-p {quote(f'{name}={value}')}" for name, value in changes.items())
