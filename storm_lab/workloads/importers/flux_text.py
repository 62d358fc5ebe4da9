"""Flux's substitution of ``${...}`` in a YAML text, from properties and the environment, before it is parsed.

As in Flux, ``${name}`` comes from a properties file, ``${ENV-NAME}`` from the environment (only if asked
for), and ``${name[i]}`` is an element of a property that holds a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from storm_lab.errors import UserError
from storm_lab.workloads.importers.documents import LARGEST_FILE, Notes, Part, Place

_VARIABLE = re.compile(r"\$\{([^{}\n]{1,200})\}")
_COMMENT_OR_VARIABLE = re.compile(rf"^[^\S\n]*#.*|{_VARIABLE.pattern}", re.MULTILINE)
_ELEMENT = re.compile(r"(.+)\[(\d{1,6})\]")
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Stand for the braces of a variable without a value; YAML would read braces as a mapping."""
_LINE_END = re.compile(r"\r\n|[\r\n]")
"""Ends of lines in Java, which are fewer than those of `str.splitlines`."""
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def substituted(
    text: str, properties: Mapping[str, str], environment: Mapping[str, str] | None, file: str, notes: Notes
) -> str:
    """Return the text with variables replaced; unknown ones are noted and stay. `UserError`: too large."""
    known = {f"ENV-{name}": value for name, value in (environment or {}).items()} | dict(properties)

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        found = match[0] if name is None else known.get(name, _element(name, properties))
        if found is not None:
            return found
        why = "no properties file gives it a value"
        if name.startswith("ENV-"):
            why = "the environment has no such variable"
            if environment is None:
                why = "variables of the environment are taken only if asked for"
        notes.cannot_use(Place(file, text.count("\n", 0, match.start()) + 1), match[0], why)
        return f"{_OPEN}{name}{_CLOSE}"

    grown = _COMMENT_OR_VARIABLE.sub(filled, text)
    if len(grown) > LARGEST_FILE:
        raise UserError("is too large with its properties put in", field="file", value=file)
    return grown


def restored(part: Part) -> Part:
    """Return a part with its variables without a value as they are in the file."""
    if isinstance(part.value, Mapping):
        value: Any = {_as_written(key): restored(item) for key, item in part.value.items()}
    elif isinstance(part.value, list):
        value = [restored(item) for item in part.value]
    else:
        value = _as_written(part.value) if isinstance(part.value, str) else part.value
    return Part(value, replace(part.place, key=_as_written(part.place.key)))


def _as_written(text: str) -> str:
    return text.replace(_OPEN, "${").replace(_CLOSE, "}")


def is_open(part: Part) -> bool:
    """Whether a part is a text with a variable that has no value."""
    return isinstance(part.value, str) and _VARIABLE.search(part.value) is not None


def _element(name: str, properties: Mapping[str, str]) -> str | None:
    element = _ELEMENT.fullmatch(name)
    if element is None or element[1] not in properties:
        return None
    members = properties[element[1]].strip().removeprefix("[").removesuffix("]").split(",")
    index = int(element[2])
    return members[index].strip().strip("\"'") if index < len(members) else None


def read_properties(text: str) -> dict[str, str]:
    """Return the entries of a Java properties file."""
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        match = re.match(r"((?:\\.|[^\\:=\s])+)\s*[:=]?\s*(.*)", line, re.DOTALL)
        if match:
            found[_unescaped(match[1])] = _unescaped(match[2])
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments, each with those that it is continued on after a backslash."""
    pending = ""
    for raw in _LINE_END.split(text):
        line = raw.lstrip()
        if not pending and (not line or line[0] in "#!"):
            continue
        line = pending + line
        continued = (len(line) - len(line.rstrip("\\"))) % 2
        pending = line[:-1] if continued else ""
        if not continued:
            yield line
    if pending:
        yield pending


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else _ESCAPES.get(match[2], match[2])

    units = re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", plain, text, flags=re.DOTALL).rstrip("\n")
    # A character beyond 16 bits is escaped as two of Java's; half of one is replaced.
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
