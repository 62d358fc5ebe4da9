"""A run's name depends on everything that affects the run, and on nothing else."""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from types import CodeType, FunctionType

import pytest

from storm_lab.experiments.experiment import RunSpec
from storm_lab.identity.closure import Code, own_code
from storm_lab.papers.registry import experiment, experiments
from storm_lab.runs.digest import emulation_digest, experiment_digest

Edit = Callable[[str, str, str], Code]


@cache
def first_run(slug: str, variant: str = "") -> RunSpec:
    found = experiment(slug)
    return next(spec for spec in found.runs(found.checked()) if variant in spec.variant)


def digest_with(code: Code, spec: RunSpec) -> str:
    """The digest of a run as if this were the code of the process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storm_lab.identity.value.own_code", lambda: code)
        return emulation_digest(spec)


SEMANTICS = "papers/twitter/semantics.py"
REMOVAL = "papers/twitter/machine_removal_measures.py"
AFFECTING = [
    ("twitter-semantics", "", SEMANTICS, r"^STOP_S = 240.0", "STOP_S = 241.0"),
    ("twitter-semantics", "", SEMANTICS, r"^DOWN_FROM_S = 100", "DOWN_FROM_S = 101"),
    ("nstorm-delayed-kill", "", "emulator/control/times.py", r"^        0.15,$", "        0.16,"),
    ("twitter-overheads", "", "papers/twitter/overheads.py", r"^SETTLED_S = 180", "SETTLED_S = 181"),
    ("twitter-machine-removal", "supplied", REMOVAL, r"^SUPPLIED_AT_S = 360", "SUPPLIED_AT_S = 361"),
    ("twitter-scaling", "removal", "papers/twitter/scaling.py", r"^AT_S = 300", "AT_S = 301"),
    (
        "tstorm-word-count",
        "",
        "papers/tstorm/word_count.py",
        r"^REMOVED_COSTS = \{",
        "REMOVED_COSTS = {'x': (), ",
    ),
    ("tstorm-word-count", "", "experiments/online_scheduling.py", r"^LEAST_GAIN = 0.02", "LEAST_GAIN = 0.03"),
    ("rstorm-yahoo", "", "emulator/control/faults/processes.py", r"^class KillNimbus\(", r"\g<0>object, "),
    ("mfstorm-wordcount", "", "schedulers/papers/mfstorm.py", r"^class MFStormScheduler\(", r"\g<0>object, "),
    ("nstorm-delayed-kill", "", "tuplelog/schema.py", r"^SCHEMA_VERSION = ", "SCHEMA_VERSION = 1 + "),
    ("nstorm-delayed-kill", "", "emulator/state/row.py", r"builder\.sext\(", "builder.zext("),
]
"""Edits that affect a run: experiment, part of a variant's name, file, pattern and replacement."""


@pytest.mark.parametrize(("slug", "variant", "file", "old", "new"), AFFECTING, ids=[e[3] for e in AFFECTING])
def test_an_edit_that_affects_a_run_changes_its_name(
    edited: Edit, slug: str, variant: str, file: str, old: str, new: str
) -> None:
    spec = first_run(slug, variant)
    assert digest_with(edited(file, old, new), spec) != emulation_digest(spec)


COMMANDS = "schedulers/cases/commands.py"
PARTITION = "schedulers/baselines/partition.py"
UNRELATED = [
    ("a comment", "emulator/kernel/main_loop.py", r"^def resume_blocked", "# A word.\ndef resume_blocked"),
    ("a constant's source", "emulator/cost.py", r"clock at which the CPU costs hold", "their clock"),
    ("a constant's range", "emulator/control/times.py", r"allowed=\(0.02, 0.5\)", "allowed=(0.02, 0.6)"),
    ("a docstring", "papers/twitter/semantics.py", r'"""The source of a scenario."""', '"""Its source."""'),
    ("a text of the command line", COMMANDS, "Name of the policy.", "The policy."),
    ("another text of the command line", "runs/sweep_command.py", "Set a parameter.", "One parameter."),
    ("an import", "papers/twitter/semantics.py", r"^from __future__.*$", r"\g<0>\nimport math"),
    ("a measure", SEMANTICS, r"^def measure\(.*$", r"\g<0>\n    print()"),
    ("metrics that the notebook reads", SEMANTICS, r"^    metrics=\(", "    metrics=('x', "),
    ("the table of policies", "schedulers/registry.py", r"^_OWN = \{", "_OWN = {'odd': 'a.b:C', "),
    ("a limit of what a notebook shows", "reporting/display.py", r"^MOST_ROWS = 200", "MOST_ROWS = 100"),
    ("a number of the report", "reporting/verdict.py", r"^USUAL_SEEDS = 5", "USUAL_SEEDS = 6"),
    ("another policy", PARTITION, r"^class PartitionScheduler\(", r"\g<0>object, "),
]
"""Edits that affect no run."""


@pytest.mark.parametrize(
    ("file", "old", "new"), [edit[1:] for edit in UNRELATED], ids=[edit[0] for edit in UNRELATED]
)
def test_an_edit_that_affects_no_run_changes_no_name(edited: Edit, file: str, old: str, new: str) -> None:
    code = edited(file, old, new)
    for slug, variant in (("twitter-semantics", ""), ("mfstorm-wordcount", ""), ("tstorm-word-count", "")):
        spec = first_run(slug, variant)
        assert digest_with(code, spec) == emulation_digest(spec)


def constants_read(function: FunctionType, seen: set[CodeType]) -> Iterator[str]:
    """Yield the module constants that a function and its callees read, found in their bytecode."""
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        if code in seen:
            continue
        seen.add(code)
        waiting += [item for item in code.co_consts if isinstance(item, CodeType)]
        for step in dis.get_instructions(code):
            if step.opname != "LOAD_GLOBAL" or step.argval not in function.__globals__:
                continue
            if re.fullmatch("_?[A-Z][A-Z0-9_]+", step.argval):
                yield step.argval
            value = function.__globals__[step.argval]
            if isinstance(value, FunctionType) and value.__module__.startswith("storm_lab."):
                yield from constants_read(value, seen)


@pytest.mark.parametrize("slug", [found.slug for found in experiments()])
def test_every_constant_that_a_description_reads_counts_for_the_name(slug: str) -> None:
    found = experiment(slug)
    for describe in {spec.describe for spec in found.runs(found.checked())}:
        assert isinstance(describe, FunctionType)
        reached = own_code().closure([(describe.__module__, describe.__qualname__)]).definitions
        names = {name for _, name in reached}
        read = set(constants_read(describe, set()))
        assert read <= names, sorted(read - names)


def test_a_policy_counts_for_the_name_if_a_parameter_chooses_it(edited: Edit) -> None:
    spec = first_run("mfstorm-wordcount")
    code = edited(PARTITION, r"^class PartitionScheduler\(", r"\g<0>object, ")
    assert digest_with(code, spec) == emulation_digest(spec)
    named = replace(spec, parameters=spec.parameters.changed(scheduler="partition"))
    assert digest_with(code, named) != emulation_digest(named)


def test_a_measure_counts_for_the_digest_of_the_experiment(edited: Edit) -> None:
    code = edited(SEMANTICS, r"^def measure\(.*$", r"\g<0>\n    print()")
    root = ("storm_lab.papers.twitter.semantics", "EXPERIMENT")
    assert code.closure([root]).digest != experiment_digest("twitter-semantics")
