"""A module's source as definitions: what each top-level statement binds, does and refers to.

Statements are compared as syntax trees without positions, comments, docstrings and imports. The target of an
imported name is compared instead of the import.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

Target = tuple[str, str | None]
"""The target of an import: a module, or a name in a module."""

_CONSTANT: Target = ("storm_lab.model.constant", "constant")
_PLACE = re.compile(r"\w+(\.\w+)*:\w+")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)
_KNOWN = {*sys.stdlib_module_names, "storm_lab"}
"""Packages whose decorators only change what they decorate; those of others may keep it."""


@dataclass(frozen=True, eq=False)
class Statement:
    """One top-level statement: the digest of its tree, and what it contains."""

    digest: str
    uses: tuple[tuple[str, ...], ...]
    """Dotted names that it uses from outside."""
    texts: frozenset[str]
    """Its strings."""
    imports: dict[str, list[Target]]
    """Names that imports inside it bind."""
    table: dict[str, str]
    """Names and ``module:Class`` of the entries of a table of definitions; empty for other statements."""
    has_side_effect: bool
    """Whether it does something besides binding names."""


@dataclass
class Source:
    """A module's top-level statements, also by the names that they bind, and its top-level ``imports``."""

    name: str
    is_package: bool
    statements: list[Statement] = field(default_factory=list)
    binds: dict[str, list[Statement]] = field(default_factory=dict)
    imports: dict[str, list[Target]] = field(default_factory=dict)

    @property
    def package(self) -> str:
        """The package that relative names start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @classmethod
    def parsed(cls, name: str, text: str, *, is_package: bool = False) -> Source:
        """Parse the text of a module with a dotted name; `SyntaxError` if it is not Python."""
        source = cls(name, is_package)
        modules: set[str] = set()
        foreign: set[str] = set()
        for node in _statements(ast.parse(text)):
            for item in ast.walk(node) if isinstance(node, _BLOCKS) else [node]:
                if isinstance(item, ast.Import | ast.ImportFrom):
                    _note_import(item, source.package, source.imports)
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.asname or alias.name.split(".")[0] for alias in node.names}
                if isinstance(node, ast.Import):
                    modules |= names
                elif not node.level and (node.module or "").split(".")[0] not in _KNOWN:
                    foreign |= names
                continue
            acts = _has_side_effect(node, modules, foreign)
            statement = _Reader(source.package, source.imports).statement(node, acts)
            source.statements.append(statement)
            for bound in _bound((node,)):
                source.binds.setdefault(bound, []).append(statement)
        return source


def imports_of(text: str) -> set[Target]:
    """Return what code imports, wherever the imports are; `SyntaxError` if it is not Python."""
    found: set[Target] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, None) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.module or "", alias.name) for alias in node.names}
    return found


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield top-level statements, without those for type checkers or a direct call of the file only."""
    for node in tree.body:
        if _is_text(node):
            continue
        if isinstance(node, ast.If):
            asked = ast.unparse(node.test)
            if asked in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
                # Annotations use these names and tell which classes are passed in.
                yield from (item for item in node.body if isinstance(item, ast.Import | ast.ImportFrom))
                yield from node.orelse
                continue
            if asked.startswith("__name__ =="):
                continue
        yield node


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _has_side_effect(node: ast.stmt, imported: set[str], foreign: set[str]) -> bool:
    """Whether a statement does something besides binding names.

    Such a statement is a call, a change of an existing object, or has a decorator that is a method of an
    object, as registrations are.
    """
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        called = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
        if any(isinstance(item, ast.Name) and item.id in foreign for item in called):
            # Such as numba's @lower_getattr_generic: another distribution keeps what it decorates.
            return True
        owners = [item.value for item in called if isinstance(item, ast.Attribute)]
        return any(ast.unparse(owner).split(".")[0] not in imported for owner in owners)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)
    if isinstance(node, _BLOCKS):
        return any(
            _has_side_effect(item, imported, foreign)
            for item in ast.iter_child_nodes(node)
            if isinstance(item, ast.stmt) and not isinstance(item, ast.Import | ast.ImportFrom)
        ) or isinstance(node, ast.For | ast.While | ast.With)
    return not _is_text(node) and not isinstance(node, ast.Pass)


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind in their own scope, except by imports."""
    found: set[str] = set()
    free: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Lambda):
            pass
        elif isinstance(node, _COMPREHENSIONS):
            # The targets of a comprehension are local to it, but := binds outside.
            found |= {item.target.id for item in ast.walk(node) if isinstance(item, ast.NamedExpr)}
        elif isinstance(node, ast.Global):
            free |= set(node.names)
        else:
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                found.add(node.name)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                found.add(node.rest)
            waiting.extend(ast.iter_child_nodes(node))
    return found - free


def _note_import(node: ast.Import | ast.ImportFrom, package: str, into: dict[str, list[Target]]) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            module = alias.name if alias.asname else alias.name.split(".")[0]
            into.setdefault(alias.asname or module, []).append((module, None))
        return
    module = node.module or ""
    if node.level:
        parts = package.split(".")
        module = ".".join(part for part in (*parts[: len(parts) - node.level + 1], module) if part)
    for alias in node.names:
        into.setdefault(alias.asname or alias.name, []).append((module, alias.name))


def _table(node: ast.stmt) -> dict[str, str]:
    """Return the entries of a table of definitions; empty for any other statement."""
    if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
        with suppress(ValueError, TypeError):
            table: dict[str, str] = ast.literal_eval(node.value)
            texts = [*table, *table.values()]
            if all(isinstance(text, str) for text in texts) and all(map(_PLACE.fullmatch, table.values())):
                return table
    return {}


def _imported_by_name(node: ast.AST) -> str:
    """Return the module that a call such as ``import_module("helper")`` names; empty for any other call."""
    match node:
        case ast.Call(
            ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module" | "__import__"),
            [ast.Constant(str(name)), *_],
        ):
            return name
    return ""


class _Reader:
    """Walks one statement once."""

    def __init__(self, package: str, imports: dict[str, list[Target]]) -> None:
        self._package = package
        # The module's name for the function that declares physical constants.
        self._constant = next((name for name, targets in imports.items() if _CONSTANT in targets), None)
        self._digest_parts: list[str] = []
        self._uses: set[tuple[str, ...]] = set()
        self._texts: set[str] = set()
        self._imports: dict[str, list[Target]] = {}

    def statement(self, node: ast.stmt, has_side_effect: bool) -> Statement:
        """Read a statement."""
        self._visit(node, frozenset())
        return Statement(
            hashlib.sha256("\0".join(self._digest_parts).encode("utf-8", "surrogatepass")).hexdigest(),
            tuple(sorted(self._uses)),
            frozenset(self._texts),
            self._imports,
            _table(node),
            has_side_effect,
        )

    def _visit(self, node: ast.AST, local: frozenset[str]) -> None:
        """Read a node; ``local`` holds the local names of the functions around it."""
        match node:
            case ast.Import() | ast.ImportFrom():
                _note_import(node, self._package, self._imports)
            case ast.Constant(value):
                self._digest_parts.append(repr(value))
                if isinstance(value, str):
                    self._texts.add(value)
            case ast.Name() | ast.Attribute() if chain := _chain(node):
                self._digest_parts.append(".".join(chain))
                if chain[0] not in local:
                    self._uses.add(chain)
            case ast.Call(ast.Name(name), [value, *_]) if name == self._constant:
                # Unit, range and source of a constant only describe it and affect no result.
                self._digest_parts.append("constant")
                self._visit(value, local)
            case _ if not _is_text(node):
                if module := _imported_by_name(node):
                    self._imports.setdefault(module, []).append((module, None))
                    self._uses.add((module,))
                self._visit_fields(node, local)

    def _visit_fields(self, node: ast.AST, local: frozenset[str]) -> None:
        inner = local
        if isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            body = node.body if isinstance(node.body, list) else [node.body]
            arguments = {item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)}
            inner = local | arguments | _bound(body)
        elif isinstance(node, _COMPREHENSIONS):
            inner = local | _bound([item.target for item in node.generators])
        self._digest_parts.append(type(node).__name__ + "(")
        for name, value in ast.iter_fields(node):
            # Decorators and defaults are evaluated outside the function; annotations name what is outside it.
            outside = name in ("decorator_list", "args", "returns") and inner is not local
            scope = local if outside else inner
            self._digest_parts.append("[")
            for item in value if isinstance(value, list) else [value]:
                if not isinstance(item, ast.AST):
                    self._digest_parts.append(repr(item))
                elif not isinstance(item, ast.expr_context):
                    self._visit(item, scope)
            self._digest_parts.append("]")
        self._digest_parts.append(")")


def _chain(node: ast.expr) -> tuple[str, ...]:
    """Return the names of ``a.b.c``; empty if the expression does not begin with a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()
