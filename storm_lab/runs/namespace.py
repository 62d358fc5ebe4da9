"""Finding a notebook's parameters, also when its cells are run again in the same kernel."""

from __future__ import annotations

import ast
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

from storm_lab.errors import UserError
from storm_lab.experiments.parameter import Parameter, ParameterValue, check_parameters

CHOICE = "experiment"
"""Name that selects the experiment in a notebook of several; not a parameter of any experiment."""

CONSTANTS = "constants"
"""Name in a notebook for constants as in ``--constants``; not a parameter either."""

_SEEN = "_storm_lab_parameters"
"""Hidden name in the notebook: experiment -> its parameters so far, and how many cells had been run then."""


def notebook_parameters(slug: str, namespace: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters set in a notebook, `CHOICE` among them; ``namespace`` is its ``globals()``.

    At the first call every plain value is a parameter, because only the parameter cells have been run. Later,
    only those names are, and names set since by a cell of nothing but plain assignments.
    """
    plain = {
        name: value
        for name, value in namespace.items()
        if not (name.startswith("_") or name in ("In", "Out") or callable(value))
        and not isinstance(value, ModuleType)
    }
    history = namespace.get("In")
    if not isinstance(namespace, dict) or not isinstance(history, list):
        return plain
    seen: dict[str, tuple[frozenset[str], int]] = namespace.setdefault(_SEEN, {})
    if slug in seen:
        known, cells = seen[slug]
        known |= _assigned(history[cells:])
        plain = {name: value for name, value in plain.items() if name in known}
    seen[slug] = (frozenset(plain), len(history))
    return plain


def check_notebook(
    notebook: str, namespace: MutableMapping[str, Any], **defaults: ParameterValue | list[float]
) -> None:
    """Check the parameters of a notebook without an experiment.

    Raises `UserError` for a name that is not a parameter, or a value of another type than the default.

    Parameter cells are the cells of nothing but plain assignments that set at least one parameter, and the
    cell that papermill injects. ``namespace`` is ``globals()``. Names that are not parameters are removed
    from it, so that the error does not come back once the user has deleted their line.
    """
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in defaults.items()}
    declared = [Parameter(name, value, "") for name, value in plain.items()]
    given = set(defaults)
    for cell in namespace.get("In", ()):
        names = _assigned([cell])
        if names & set(defaults) or cell.lstrip().startswith("# Parameters"):
            given |= names
    values = {name: namespace[name] for name in sorted(given) if name in namespace}
    try:
        check_parameters(declared, values, f"the notebook {notebook}")
    except UserError:
        for name in given - set(defaults):
            namespace.pop(name, None)
        raise


def _assigned(cells: Sequence[str]) -> frozenset[str]:
    """Names set by cells that only assign literals to names, as parameter cells do."""
    names: set[str] = set()
    for cell in cells:
        with suppress(SyntaxError, ValueError):
            names.update([_name_of(line) for line in ast.parse(cell).body])
    return frozenset(names)


def _name_of(line: ast.stmt) -> str:
    """The name in a line ``name = literal``; `ValueError` for any other line."""
    match line:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            ast.literal_eval(value)
            return name
    raise ValueError("no plain assignment")
