"""The code that some definitions use, followed from name to name, and its digest.

A closure starts from functions or classes, its roots. It takes the names that a root uses of its module, the
names that those use, and so on; ``from a import b`` leads into ``a`` for ``b`` alone. It also follows imports
inside functions, the classes that annotations name, classes as a whole with their bases, ``module.name`` into
that module, and a module that is passed about as a whole.

Of each module that is reached, the closure includes the statements that do something on import
(registrations, settings). Strings in reached code add more:

* the dotted name of a module inside a subpackage of `storm_lab` adds that module, or all of a package, as a
  registry imports it by name;
* the key of a reached table of definitions (``"name": "module:Class"``, relative to the table's package) adds
  what it stands for, such as a scheduler that is made by name; so does the name of an entry point if the name
  of its group is reached as well. The rest of the table does not count;
* the name of a data file beside the module, or in a folder of data there, adds its bytes.

``import_module("helper")`` counts as an import. The closure does not follow this subpackage itself, which
only distinguishes code, names that are put together at run time, ``getattr``, imports of modules of which no
name is used, and other distributions, whose versions are locked. A user's own modules count as a whole, with
the modules that they import from the same package or from beside the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path
from weakref import WeakKeyDictionary

from storm_lab.identity.origin import data_files, libraries, source_file
from storm_lab.identity.source import Source, Statement, Target

PACKAGE = Path(__file__).resolve().parents[1]

Root = tuple[str, str | None]
"""A definition by module and name; the whole module if the name is None."""

_THIS = f".{__name__.rpartition('.')[0]}."
_MODULE_IN_SUBPACKAGE = re.compile(r"\w+\.\w+(\.\w+)+")


@dataclass(frozen=True)
class _Module:
    """A module and its file; ``is_user_code`` is true outside the package: such a module counts whole."""

    source: Source
    path: Path
    home: Path
    is_user_code: bool


class Closure:
    """Everything that some roots reach: its ``definitions``, and a `digest` of its code and data files."""

    def __init__(self, code: Code, roots: Iterable[Root]) -> None:
        self._code = code
        self.definitions: set[Root] = set()
        self._statements: set[Statement] = set()
        self._modules: set[str] = set()
        self._texts: set[str] = set()
        self._tables: dict[str, Root] = {}
        self._lines: set[str] = set()
        self._waiting: list[tuple[_Module | None, str, str | None]] = [(None, *root) for root in roots]
        self._walk()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that was reached, in hex."""
        return hashlib.sha256("\n".join(sorted(self._lines)).encode()).hexdigest()

    @property
    def offers(self) -> Mapping[str, Root]:
        """What can be made by name through the tables and groups of entry points that were reached."""
        groups = self._code.groups
        outside = [groups[text] for text in sorted(self._texts & groups.keys())]
        return {**self._tables, **{name: root for group in outside for name, root in group.items()}}

    def _walk(self) -> None:
        made: set[str] = set()
        while self._waiting:
            self._reach(*self._waiting.pop())
            if not self._waiting:
                # Only now are all strings known.
                chosen = self.offers.keys() & self._texts - made
                made |= chosen
                self._waiting = [(None, *self.offers[name]) for name in sorted(chosen)]

    def _reach(self, importer: _Module | None, name: str, attribute: str | None) -> None:
        found = self._code.module(name, importer)
        if found is None or f".{name}.".startswith(_THIS):
            return
        attribute = None if found.is_user_code else attribute
        if (name, attribute) in self.definitions:
            return
        self.definitions.add((name, attribute))
        self._enter(name, found)
        source = found.source
        if attribute is None:
            statements = source.statements
            whole = found.is_user_code or source.is_package
            targets = [target for each in source.imports.values() for target in each] if whole else []
        else:
            statements = source.binds.get(attribute, [])
            targets = source.imports.get(attribute, [])
            self._lines.update(f"{name}.{attribute} is {target}" for target in targets)
            if not statements and not targets:
                self._waiting.append((found, f"{name}.{attribute}", None))
        for statement in statements:
            self._add_statement(found, statement)
        self._waiting.extend((found, *root) for root in self._code.resolve_targets(found, targets, ()))

    def _enter(self, name: str, module: _Module) -> None:
        """Add what happens when a module and the packages above it are imported."""
        if name in self._modules:
            return
        self._modules.add(name)
        for statement in module.source.statements:
            if statement.has_side_effect:
                self._add_statement(module, statement)
        above = name.rpartition(".")[0]
        if above and (package := self._code.module(above, module)) is not None:
            self._enter(above, package)

    def _add_statement(self, module: _Module, statement: Statement) -> None:
        if statement in self._statements:
            return
        self._statements.add(statement)
        if statement.table:
            package = module.source.package
            places = {name: place.partition(":") for name, place in statement.table.items()}
            self._tables |= {name: (f"{package}.{place[0]}", place[2]) for name, place in places.items()}
            return
        lines, roots = self._code.links(module, statement)
        self._lines |= lines
        self._texts |= statement.texts
        self._waiting.extend((module, *root) for root in roots if root not in self.definitions)


class Code:
    """The modules of the package and of users, each parsed once; ``read`` reads a file."""

    def __init__(self, read: Callable[[Path], str] = lambda path: path.read_text(encoding="utf-8")) -> None:
        self._read = read
        self._modules: dict[str, _Module | None] = {}
        self._parsed_files: dict[tuple[Path, int, int], _Module] = {}
        self._closures: dict[frozenset[Root], Closure] = {}
        self._links: WeakKeyDictionary[Statement, tuple[set[str], list[Root]]] = WeakKeyDictionary()

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, Root]]:
        """The package's groups of entry points, each with the entry points of other distributions by name."""
        return {
            group: {
                point.name: (point.module, point.attr.split(".")[0] or None)
                for point in entry_points(group=group)
                if not self._is_own(point.module)
            }
            for group in entry_points().groups
            if self._is_own(group)
        }

    def closure(self, roots: Iterable[Root]) -> Closure:
        """Return everything that the roots reach."""
        wanted = frozenset(roots)
        if not all(self._is_own(name) for name, _ in wanted):
            # Not cached, because users edit their files while this process runs.
            return Closure(self, wanted)
        if wanted not in self._closures:
            self._closures[wanted] = Closure(self, wanted)
        return self._closures[wanted]

    def module(self, name: str, importer: _Module | None = None) -> _Module | None:
        """Return a module as ``importer`` would import it; None for a module of another distribution."""
        if self._is_own(name):
            if name not in self._modules:
                path = _file(PACKAGE.parent / name.replace(".", "/"))
                self._modules[name] = self._parsed(name, path, PACKAGE.parent) if path else None
            return self._modules[name]
        if importer is None:
            # Read from the file that it was imported from.
            if (path := source_file(name)) is None:
                return None
            depth = name.count(".") + (path.name == "__init__.py")
            return self._parsed(name, path, path.parents[depth])
        if not importer.is_user_code:
            return None
        same = name.split(".")[0] == importer.source.name.split(".")[0]
        if not same and importer.home in libraries():
            return None
        path = _file(importer.home / name.replace(".", "/"))
        return self._parsed(name, path, importer.home) if path else None

    def definition(self, name: str, attributes: tuple[str, ...], importer: _Module | None) -> Root:
        """Return the definition that ``name.a.b`` stands for, ``name`` being a module."""
        found = self.module(name, importer)
        if attributes and found is None and importer is not None and importer.is_user_code:
            # A folder without __init__.py is a package, too.
            return self.definition(f"{name}.{attributes[0]}", attributes[1:], importer)
        if not attributes or found is None:
            return name, None
        first = attributes[0]
        below = f"{name}.{first}"
        own = first in found.source.binds or first in found.source.imports
        if not own and found.source.is_package and self.module(below, importer) is not None:
            return self.definition(below, attributes[1:], importer)
        # Not in the source if it is a name such as __name__ or __file__, which every module has.
        return name, first

    def links(self, module: _Module, statement: Statement) -> tuple[set[str], list[Root]]:
        """Return what a statement adds to a digest, and the definitions that it leads to; computed once."""
        if statement in self._links:
            return self._links[statement]
        source = module.source
        own = f"{source.name} {statement.digest}"
        lines, roots = {own}, set[Root]()
        for chain in statement.uses:
            targets = statement.imports.get(chain[0]) or source.imports.get(chain[0], [])
            lines.update(f"{own} {chain[0]} is {target}" for target in targets)
            roots.update(self.resolve_targets(module, targets, chain[1:]))
            if chain[0] in source.binds:
                roots.add((source.name, chain[0]))
        if module.is_user_code:
            for targets in statement.imports.values():
                roots.update(self.resolve_targets(module, targets, ()))
        for text in statement.texts:
            # The dotted name of a module inside a subpackage.
            if _MODULE_IN_SUBPACKAGE.fullmatch(text) and self._is_own(text):
                roots.update((name, None) for name in self._below(text))
            lines.update(f"{source.name} {item}" for item in data_files(module.path.parent, text))
        self._links[statement] = lines, sorted(roots, key=str)
        return self._links[statement]

    def resolve_targets(
        self, importer: _Module, targets: Iterable[Target], attributes: tuple[str, ...]
    ) -> Iterator[Root]:
        """Yield the definitions that ``name.a.b`` stands for if ``name`` is imported from these targets."""
        for name, attribute in targets:
            rest = attributes if attribute is None else (attribute, *attributes)
            root = self.definition(name, rest, importer)
            if self.module(root[0], importer) is not None:
                yield root

    def _below(self, name: str) -> Iterator[str]:
        """Yield the name of a module and of all modules below it; nothing if there is no such module."""
        found = self.module(name)
        if found is not None:
            yield name
            if found.source.is_package:
                for path in sorted(found.path.parent.iterdir()):
                    if path.stem != "__init__" and _file(path.with_suffix("")) is not None:
                        yield from self._below(f"{name}.{path.stem}")

    def _is_own(self, name: str) -> bool:
        return name == PACKAGE.name or name.startswith(f"{PACKAGE.name}.")

    def _parsed(self, name: str, path: Path, home: Path) -> _Module:
        state = path.stat()
        key = (path, state.st_mtime_ns, state.st_size)
        if key not in self._parsed_files:
            source = Source.parsed(name, self._read(path), is_package=path.name == "__init__.py")
            self._parsed_files[key] = _Module(source, path, home, is_user_code=not self._is_own(name))
        return self._parsed_files[key]


@cache
def own_code() -> Code:
    """Return the code that this process runs."""
    return Code()


def _file(place: Path) -> Path | None:
    paths = (place.with_name(place.name + ".py"), place / "__init__.py")
    return next((path for path in paths if path.is_file()), None)
