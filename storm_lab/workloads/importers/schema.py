"""Check storm-lab's own YAML files against their JSON schemas, and report the first violation in one line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry, Resource

from storm_lab.errors import UserError
from storm_lab.workloads.importers.documents import Part

TOPOLOGY = "topology"
OVERLAY = "overlay"
MACHINES = "machines"

_LIMITS = {
    "minimum": "be at least",
    "maximum": "be at most",
    "exclusiveMinimum": "be more than",
    "exclusiveMaximum": "be less than",
    "minItems": "hold at least as many values as",
    "maxItems": "hold at most as many values as",
    "minProperties": "hold at least as many keys as",
    "maxProperties": "hold at most as many keys as",
    "minLength": "be a text at least as long as",
    "maxLength": "be a text at most as long as",
    "pattern": "be a text of the form",
}
"""The words for a limit of a schema, to be followed by its value."""


@cache
def schema(name: str) -> dict[str, Any]:
    """Return the JSON schema of `TOPOLOGY`, `OVERLAY` or `MACHINES` files."""
    text = files(__package__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def checked(part: Part, name: str) -> Any:
    """Return the plain value if it fits a schema; else `UserError` names file, line, key and the rule."""
    value = part.plain()
    for path in _not_finite(value, ()):
        raise _refusal(part, path, "must be a finite number")
    error = best_match(_validator(name).iter_errors(value))
    if error is not None:
        raise _refusal(part, tuple(error.absolute_path), _said(error))
    return value


def converted(given: Mapping[str, Any], **kinds: Callable[[Any], Any]) -> dict[str, Any]:
    """Return those of the named values that are given, each converted to its kind."""
    return {name: kind(given[name]) for name, kind in kinds.items() if name in given}


@cache
def _validator(name: str) -> Draft202012Validator:
    # Overlays refer to parts of the topology's schema.
    shared = Resource.from_contents(schema(TOPOLOGY))
    registry = Registry().with_resource(f"{TOPOLOGY}.schema.json", shared)
    return Draft202012Validator(schema(name), registry=registry)


def _said(error: Any) -> str:
    rule, wanted = error.validator, error.validator_value
    match rule:
        case "additionalProperties":
            known = error.schema.get("properties", {})
            unknown = min(set(error.instance) - set(known))
            return f"does not know {unknown!r}; it knows: {', '.join(sorted(known))}"
        case "required":
            return f"needs {next(key for key in wanted if key not in error.instance)!r}"
        case "enum":
            return f"must be one of: {', '.join(map(str, wanted))}"
        case "type":
            return f"must be of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"
        case "oneOf" | "anyOf":
            kinds = [branch.get("title", branch.get("type", "?")) for branch in wanted]
            return f"must be one of: {', '.join(map(str, kinds))}"
        case "uniqueItems":
            return "must hold each value once"
    return f"must {_LIMITS[rule]} {wanted}" if rule in _LIMITS else f"does not fit the schema ({rule})"


def _refusal(part: Part, path: tuple[str | int, ...], message: str) -> UserError:
    wrong = part.at(path)
    value = wrong.value if isinstance(wrong.value, str | int | float) else None
    return UserError(message, field=str(wrong.place), value=value, remedy="see docs/importing.md")


def _not_finite(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, float) and not math.isfinite(value):
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _not_finite(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_finite(item, (*path, index))
