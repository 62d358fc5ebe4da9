"""Read YAML and JSON from anywhere as data: no code is run, and size and depth are bounded.

A document becomes a tree of `Part`, each of which knows its place: its line and its path of keys. What cannot
be used of it is noted with that place. YAML's aliases are followed as long as the unfolded document stays
small (that of a "billion laughs" file does not). Tags of classes are noted and otherwise ignored.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from storm_lab.errors import UserError, refused_by_system


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is: a file, its line from 1 if lines are known, and the path of keys to it."""

    file: str
    line: int | None = None
    key: str = ""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where} {self.key}".rstrip()


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something that was read and could not be used.

    ``missing``: the topology cannot be played without it. Otherwise it is played without it, or with what the
    reason names in its place.
    """

    place: Place
    what: str
    reason: str
    missing: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.what}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Assumed:
    """A figure that is not stated: its component, what it is, its value, and where the value comes from."""

    component: str
    what: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.component}: {self.what} {self.value} ({self.reason})"


@dataclass(slots=True)
class Notes:
    """What an import reports, in the order in which it came up."""

    unusable: list[Unusable] = field(default_factory=list)
    assumed: list[Assumed] = field(default_factory=list)
    read: list[str] = field(default_factory=list)  # sentences about what was read and how

    def cannot_use(self, place: Place, what: str, reason: str, *, missing: bool = False) -> None:
        """Note, once, something that is left out."""
        item = Unusable(place, what, reason, missing)
        if item not in self.unusable:
            self.unusable.append(item)

    def missing(self, place: Place, what: str, reason: str) -> None:
        """Note something without which the topology cannot be played."""
        self.cannot_use(place, what, reason, missing=True)

    def assume(self, component: str, what: str, value: str, reason: str) -> None:
        """Note a figure that is not stated."""
        self.assumed.append(Assumed(component, what, value, reason))


LARGEST_FILE = 4 * 1024 * 1024  # most bytes of a document: a hundred times the largest topology seen
DEEPEST = 64  # most levels of nested lists and mappings
MOST_PARTS = 200_000  # most values of a document; those of an alias count at every use

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = {
    "tag:yaml.org,2002:int": SafeConstructor.construct_yaml_int,
    "tag:yaml.org,2002:float": SafeConstructor.construct_yaml_float,
    "tag:yaml.org,2002:bool": SafeConstructor.construct_yaml_bool,
    "tag:yaml.org,2002:null": SafeConstructor.construct_yaml_null,
}
_TEXTS = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value", "!"}
_KINDS = {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class Part:
    """A value of a document: a mapping of parts by key, a list of parts, or a scalar."""

    value: Mapping[str, Part] | list[Part] | str | int | float | bool | None
    place: Place

    def get(self, key: str) -> Part:
        """Return the part under a key; `ABSENT` if this is no mapping or has no value there."""
        found = self.value.get(key, ABSENT) if isinstance(self.value, Mapping) else ABSENT
        return ABSENT if found.value is None else found

    def items(self) -> Iterator[tuple[str, Part]]:
        """Yield keys and parts of a mapping; nothing for any other value."""
        yield from self.value.items() if isinstance(self.value, Mapping) else ()

    def under(self, *keys: str) -> list[Part]:
        """Return the parts of the lists under these keys; none where there is no list."""
        return [part for key in keys for part in self.get(key).parts()]

    def parts(self) -> list[Part]:
        """Return the parts of a list; none for any other value."""
        return list(self.value) if isinstance(self.value, list) else []

    def plain(self) -> Any:
        """Return the value as lists, dictionaries and scalars."""
        if isinstance(self.value, Mapping):
            return {key: part.plain() for key, part in self.value.items()}
        if isinstance(self.value, list):
            return [part.plain() for part in self.value]
        return self.value

    def at(self, path: tuple[str | int, ...]) -> Part:
        """Return the part at the end of a path of keys and indices, or the last one that exists on it."""
        part = self
        for step in path:
            parts: Any = part.value if isinstance(part.value, list | Mapping) else {}
            try:
                part = parts[step]
            except (KeyError, IndexError, TypeError):
                break
        return part


ABSENT = Part(None, Place(""))  # stands for a part that a document does not have


def read_bounded(path: Path, *, field: str = "file", largest: int = LARGEST_FILE) -> str:
    """Return a text file's content; `UserError` if it cannot be read, is too large or is not UTF-8."""
    value, remedy = str(path), "give the path of a file that you may read"
    with refused_by_system("cannot be read", field=field, value=value, remedy=remedy):
        if not path.is_file():
            raise UserError("there is no such file", field=field, value=value, remedy=remedy)
        if path.stat().st_size > largest:
            remedy = f"at most {largest // 1024} KiB are read"
            raise UserError("is too large", field=field, value=value, remedy=remedy)
        data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError("is not UTF-8 text", field=field, value=value, remedy="save it as UTF-8") from None


def yaml_part(text: str, file: str, notes: Notes) -> Part:
    """Return the document of a YAML text; its value is None if the text is empty.

    Raises `UserError` if the text is not YAML, holds several documents, or exceeds a bound.
    """
    try:
        _check_events(text, file)
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        where = f" (line {mark.line + 1})" if mark is not None else ""
        line = "".join(text.splitlines()[mark.line : mark.line + 1]) if mark is not None else ""
        remedy = "indent with spaces, not tabs" if line.lstrip(" ").startswith("\t") else "correct it there"
        raise UserError(f"is not YAML: {problem}{where}", field="file", value=file, remedy=remedy) from None
    if node is None:
        return Part(None, Place(file))
    return _Unfolding(file, notes).part(node, "", 1)


def json_part(text: str, file: str) -> Part:
    """Return the value of a JSON text; `UserError` if it is not JSON or exceeds a bound."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"is not JSON: {error.msg} (line {error.lineno})", field="file", value=file) from None
    except RecursionError:
        raise _too_deep(file) from None
    except ValueError:
        # Python's limit, which stops conversions that would take very long.
        message = f"has a number of more than {sys.get_int_max_str_digits()} digits"
        raise UserError(message, field="file", value=file, remedy="correct it") from None
    return part_of(value, file)


def part_of(value: object, file: str) -> Part:
    """Return a value (lists, dictionaries, scalars) as a part without lines; `UserError` beyond a bound."""
    return _Unfolding(file, Notes()).plain_part(value, "", 1)


def _check_events(text: str, file: str) -> None:
    """Refuse several documents, and one that is too deep or too large, before anything is built from it."""
    depth = documents = 0
    for number, event in enumerate(yaml.parse(text, Loader=_LOADER)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        _check_bounds(depth, number / 2, file)
        if documents > 1:
            remedy = "put each document in its own file"
            raise UserError("holds more than one YAML document", field="file", value=file, remedy=remedy)


@dataclass(slots=True)
class _Unfolding:
    """Turns nodes into parts, and counts them."""

    file: str
    notes: Notes
    made: int = 0

    def part(self, node: Node, key: str, depth: int, line: int | None = None) -> Part:
        """Return a node with everything below it; ``line`` is that of its key."""
        place = Place(self.file, line or node.start_mark.line + 1, key)
        self._count(depth)
        if isinstance(node, ScalarNode):
            return Part(self._scalar(node, place), place)
        self._check_tag(node, place, _KINDS)
        if isinstance(node, MappingNode):
            return Part(self._mapping(node, key, depth), place)
        items = [self.part(item, f"{key}[{i}]", depth + 1) for i, item in enumerate(node.value)]
        return Part(items, place)

    def plain_part(self, value: object, key: str, depth: int) -> Part:
        """Return a JSON value with everything below it."""
        place = Place(self.file, None, key)
        self._count(depth)
        if isinstance(value, dict):
            named = [(_printable(str(name)), below) for name, below in value.items()]
            return Part({n: self.plain_part(v, _joined(key, n), depth + 1) for n, v in named}, place)
        if isinstance(value, list):
            return Part([self.plain_part(v, f"{key}[{i}]", depth + 1) for i, v in enumerate(value)], place)
        if value is None or isinstance(value, int | float):
            return Part(value, place)
        return Part(_printable(str(value)), place)

    def _count(self, depth: int) -> None:
        self.made += 1
        _check_bounds(depth, self.made, self.file)

    def _mapping(self, node: MappingNode, key: str, depth: int) -> dict[str, Part]:
        found: dict[str, Part] = {}
        for name, value in node.value:
            if name.tag != _MERGE:
                continue
            # The mapping's own keys override merged ones, and earlier merged ones override later ones.
            for source in value.value if isinstance(value, SequenceNode) else [value]:
                if isinstance(source, MappingNode):
                    self._count(depth)
                    for merged, part in self._mapping(source, key, depth + 1).items():
                        found.setdefault(merged, part)
        own: set[str] = set()
        for name, value in node.value:
            if name.tag == _MERGE:
                continue
            place = Place(self.file, name.start_mark.line + 1, key)
            if not isinstance(name, ScalarNode):
                self.notes.cannot_use(place, "a key that is a list or a mapping", "keys are texts")
                continue
            text = _printable(name.value)
            if text in own:
                self.notes.cannot_use(place, f"the key {text!r}", "it is given twice: the last one counts")
            own.add(text)
            found[text] = self.part(value, _joined(key, text), depth + 1, place.line)
        return found

    def _scalar(self, node: ScalarNode, place: Place) -> str | int | float | bool | None:
        text = _printable(node.value)
        construct = _PLAIN.get(node.tag)
        if construct is None:
            self._check_tag(node, place, _TEXTS)
            return text
        try:
            return construct(SafeConstructor(), node)
        except (ConstructorError, ValueError, KeyError, IndexError):
            return text

    def _check_tag(self, node: Node, place: Place, plain: Set[str]) -> None:
        if node.tag not in plain:
            self.notes.cannot_use(place, f"the tag {node.tag}", "tags are ignored: a file is data here")


def _printable(text: str) -> str:
    """Replace halves of surrogate pairs, which no file can hold, by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _too_deep(file: str) -> UserError:
    remedy = "flatten it"
    return UserError(f"is nested more than {DEEPEST} levels deep", field="file", value=file, remedy=remedy)


def _check_bounds(depth: int, parts: float, file: str) -> None:
    if depth > DEEPEST:
        raise _too_deep(file)
    if parts > MOST_PARTS:
        remedy = "split it, or use fewer aliases"
        raise UserError(f"unfolds to more than {MOST_PARTS} values", field="file", value=file, remedy=remedy)
