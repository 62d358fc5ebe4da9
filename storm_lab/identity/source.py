"""A module's source as definitions: what each top-level statement binds, does and refers to.

Statements are compared as syntax trees without positions, comments, docstrings and imports. The target of an
imported name is compared instead of the import.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeGuard

Target = tuple[str, str | None]
"""The target of an import: a module, or a name in a module."""

_CONSTANT: Target = ("storm_lab.emulator.constant", "constant")
_PLACE = re.compile(r"\w+(\.\w+)*:\w+")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)


@dataclass(frozen=True)
class Reading:
    """What a statement contains.

    The digest of its tree, the dotted names that it uses from outside, its strings, and the names that
    imports inside it bind.
    """

    digest: str
    uses: tuple[tuple[str, ...], ...]
    texts: frozenset[str]
    imports: dict[str, list[Target]]


class Statement:
    """One top-level statement; ``has_side_effect`` means that it does something besides binding names."""

    def __init__(self, node: ast.stmt, package: str, has_side_effect: bool, constant: str) -> None:
        self._node = node
        self._package = package
        self._constant = constant
        self.has_side_effect = has_side_effect

    def __getstate__(self) -> dict[str, object]:
        """Return the results of reading, without the tree, which is larger and no longer needed."""
        return {"has_side_effect": self.has_side_effect, "table": self.table, "reading": self.reading}

    @cached_property
    def table(self) -> dict[str, str]:
        """Names and ``module:Class`` of the entries of a table of definitions; empty for other statements."""
        value = self._node.value if isinstance(self._node, ast.Assign | ast.AnnAssign) else None
        if not isinstance(value, ast.Dict):
            return {}
        pairs = [
            (key.value, item.value)
            for key, item in zip(value.keys, value.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(item, ast.Constant)
        ]
        texts = {key: item for key, item in pairs if isinstance(key, str) and isinstance(item, str)}
        is_table = len(texts) == len(value.keys) and all(map(_PLACE.fullmatch, texts.values()))
        return texts if is_table else {}

    @cached_property
    def reading(self) -> Reading:
        """What the statement contains, read on first use."""
        reader = _Reader(self._package, self._constant)
        reader.visit(self._node, frozenset())
        return Reading(
            hashlib.sha256("\0".join(reader.digest_parts).encode("utf-8", "surrogatepass")).hexdigest(),
            tuple(sorted(reader.uses)),
            frozenset(reader.texts),
            reader.imports,
        )


@dataclass
class Source:
    """A module's top-level statements, also by the names that they bind, and its top-level ``imports``."""

    name: str
    is_package: bool
    statements: list[Statement] = field(default_factory=list)
    binds: dict[str, list[Statement]] = field(default_factory=dict)
    imports: dict[str, list[Target]] = field(default_factory=dict)

    @classmethod
    def parsed(cls, name: str, text: str, *, is_package: bool = False) -> Source:
        """Parse the text of a module with a dotted name; `SyntaxError` if it is not Python."""
        source = cls(name, is_package)
        package = name if is_package else name.rpartition(".")[0]
        modules: set[str] = set()
        for node in _statements(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                _note_import(node, package, source.imports)
                if isinstance(node, ast.Import):
                    modules |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
                continue
            if isinstance(node, _BLOCKS):
                for item in ast.walk(node):
                    if isinstance(item, ast.Import | ast.ImportFrom):
                        _note_import(item, package, source.imports)
            statement = Statement(
                node, package, _has_side_effect(node, modules), _name_of_constant(source.imports)
            )
            source.statements.append(statement)
            for bound in _bound((node,)):
                source.binds.setdefault(bound, []).append(statement)
        return source


def imports_of(text: str) -> set[Target]:
    """Return what code imports, wherever the imports are; `SyntaxError` if it is not Python."""
    found: dict[str, list[Target]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.setdefault("", []).extend((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            _note_import(node, "", found)
    return {target for targets in found.values() for target in targets}


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


def _has_side_effect(node: ast.stmt, imported: set[str]) -> bool:
    """Whether a statement does something besides binding names.

    Such a statement is a call, a change of an existing object, or has a decorator that is a method of an
    object, as registrations are.
    """
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        called = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
        owners = [item.value for item in called if isinstance(item, ast.Attribute)]
        return any(ast.unparse(owner).split(".")[0] not in imported for owner in owners)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)
    if isinstance(node, _BLOCKS):
        return any(
            _has_side_effect(item, imported)
            for item in ast.iter_child_nodes(node)
            if isinstance(item, ast.stmt) and not isinstance(item, ast.Import | ast.ImportFrom)
        ) or isinstance(node, ast.For | ast.While | ast.With)
    return not _is_text(node) and not isinstance(node, ast.Pass)


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind in their own scope, except by imports."""
    found: set[str] = set()
    free: set[str] = set()
    waiting = [node for node in nodes if _may_bind(node)]
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
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                found.add(node.name)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                found.add(node.rest)
            waiting.extend(child for child in ast.iter_child_nodes(node) if _may_bind(child))
    return found - free


def _may_bind(node: ast.AST) -> bool:
    """Whether a node can bind a name; most expressions cannot, and skipping them saves time."""
    if isinstance(node, ast.Constant | ast.Attribute):
        return False
    return not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load)


def _note_import(node: ast.Import | ast.ImportFrom, package: str, into: dict[str, list[Target]]) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                into.setdefault(alias.asname, []).append((alias.name, None))
            else:
                first = alias.name.split(".")[0]
                into.setdefault(first, []).append((first, None))
        return
    module = node.module or ""
    if node.level:
        parts = package.split(".")
        module = ".".join(part for part in (*parts[: len(parts) - node.level + 1], module) if part)
    for alias in node.names:
        into.setdefault(alias.asname or alias.name, []).append((module, alias.name))


def _name_of_constant(imports: dict[str, list[Target]]) -> str:
    """Return the module's name for the function that declares physical constants; empty if there is none."""
    return next((name for name, targets in imports.items() if _CONSTANT in targets), "")


def _imported_by_name(node: ast.Call) -> str:
    """Return the module that a call such as ``import_module("helper")`` names; empty for any other call."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called not in ("import_module", "__import__") or not node.args:
        return ""
    name = node.args[0]
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""


class _Reader:
    """Walks one statement once; ``digest_parts`` collects the text of its digest."""

    def __init__(self, package: str, constant: str) -> None:
        self._package = package
        self._constant = constant
        self.digest_parts: list[str] = []
        self.uses: set[tuple[str, ...]] = set()
        self.texts: set[str] = set()
        self.imports: dict[str, list[Target]] = {}

    def visit(self, node: ast.AST, local: frozenset[str]) -> None:
        """Read a node; ``local`` holds the local names of the functions around it."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            _note_import(node, self._package, self.imports)
        elif isinstance(node, ast.Name):
            self.digest_parts.append(node.id)
            if node.id not in local:
                self.uses.add((node.id,))
        elif isinstance(node, ast.Constant):
            self.digest_parts.append(repr(node.value))
            if isinstance(node.value, str):
                self.texts.add(node.value)
        elif isinstance(node, ast.Attribute) and (chain := _chain(node)):
            self.digest_parts.append(".".join(chain))
            if chain[0] not in local:
                self.uses.add(chain)
        elif self._is_constant(node):
            # Unit, range and source of a constant only describe it and affect no result.
            self.digest_parts.append("constant")
            for value in node.args[:1]:
                self.visit(value, local)
        elif not _is_text(node):
            if isinstance(node, ast.Call) and (module := _imported_by_name(node)):
                self.imports.setdefault(module, []).append((module, None))
                self.uses.add((module,))
            self._visit_fields(node, local)

    def _is_constant(self, node: ast.AST) -> TypeGuard[ast.Call]:
        """Whether a node declares a physical constant, with its value as first argument."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == self._constant
            and len(node.args) > 0
        )

    def _visit_fields(self, node: ast.AST, local: frozenset[str]) -> None:
        inner = local
        if isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            body = node.body if isinstance(node.body, list) else [node.body]
            arguments = {item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)}
            inner = local | arguments | _bound(body)
        elif isinstance(node, _COMPREHENSIONS):
            inner = local | _bound([item.target for item in node.generators])
        self.digest_parts.append(type(node).__name__ + "(")
        for name in node._fields:
            value = getattr(node, name, None)
            # Decorators and defaults are evaluated outside the function; annotations name what is outside it.
            outside = name in ("decorator_list", "args", "returns") and inner is not local
            scope = local if outside else inner
            if isinstance(value, ast.AST):
                if not isinstance(value, ast.expr_context):
                    self.visit(value, scope)
            elif isinstance(value, list):
                self.digest_parts.append("[")
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item, scope)
                    else:
                        self.digest_parts.append(repr(item))
                self.digest_parts.append("]")
            elif name != "type_comment":
                self.digest_parts.append(repr(value))
        self.digest_parts.append(")")


def _chain(node: ast.expr) -> tuple[str, ...]:
    """Return the names of ``a.b.c``; empty if the expression does not begin with a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()
