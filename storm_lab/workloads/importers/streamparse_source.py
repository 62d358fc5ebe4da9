"""Read a streamparse topology from its source, without running it.

What is written out literally is understood: the topology class with its specs, expressions over numbers and
texts of the module, and the ``outputs`` of classes in the project. What is computed is noted, with its line.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError
from storm_lab.workloads.importers.documents import Notes, Place, read_bounded
from storm_lab.workloads.multilang import dsl
from storm_lab.workloads.multilang.plan import ComponentSpec

LONGEST = 10_000  # greatest length of a text or list that an expression may give
UNKNOWN = object()  # the value of an expression that would have to be run


@dataclass(frozen=True, slots=True)
class Reference:
    """A name of another module, or of a class of this one."""

    name: str
    module: str | None


_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}

_KINDS: Mapping[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str, "bool": bool}


def evaluate(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    """Return the value of an expression, or `UNKNOWN`; specs, streams and groupings are those of `dsl`."""
    try:
        return _value(node, scope)
    except (TypeError, ValueError, KeyError, ArithmeticError, AttributeError, IndexError, RecursionError):
        return UNKNOWN


def _value(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return scope.get(node.id, UNKNOWN)
        case ast.List() | ast.Tuple() | ast.Set():
            return [_value(item, scope) for item in node.elts]
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {_value(k, scope): _value(v, scope) for k, v in pairs if k is not None}
        case ast.UnaryOp(op=ast.USub()):
            value = _value(node.operand, scope)
            return -value if isinstance(value, int | float) else UNKNOWN
        case ast.BinOp():
            return _binary(node, scope)
        case ast.Subscript():
            return _subscript(node, scope)
        case ast.Attribute(owner, name) if name.isupper() and _last_name(owner) == "Grouping":
            found = getattr(dsl.Grouping, name, UNKNOWN)
            return found if isinstance(found, dsl.GroupingSpec) else UNKNOWN
        case ast.Call():
            return _call(node, scope)
    return UNKNOWN


def _binary(node: ast.BinOp, scope: Mapping[str, Any]) -> Any:
    left, right = _value(node.left, scope), _value(node.right, scope)
    plain = (int, float, str, list)
    operate = _OPERATORS.get(type(node.op))
    if operate is None or not isinstance(left, plain) or not isinstance(right, plain):
        return UNKNOWN
    if isinstance(node.op, ast.Mult) and (isinstance(left, str | list) or isinstance(right, str | list)):
        return UNKNOWN
    result = operate(left, right)
    return UNKNOWN if isinstance(result, str | list) and len(result) > LONGEST else result


def _subscript(node: ast.Subscript, scope: Mapping[str, Any]) -> Any:
    owner, key = _value(node.value, scope), _value(node.slice, scope)
    if isinstance(owner, dsl.Spec) and isinstance(key, str):
        return owner[key]
    if isinstance(owner, dict) or (isinstance(owner, list) and isinstance(key, int)):
        return owner[key]
    return UNKNOWN


def _call(node: ast.Call, scope: Mapping[str, Any]) -> Any:
    name = ast.unparse(node.func)
    arguments = [_value(item, scope) for item in node.args]
    named = {item.arg: _value(item.value, scope) for item in node.keywords if item.arg}
    if any(value is UNKNOWN for value in (*arguments, *named.values())):
        return UNKNOWN
    owner, _, last = name.rpartition(".")
    if owner.endswith("Grouping") and last in ("fields", "custom_object", "custom_serialized"):
        return getattr(dsl.Grouping, last)(*arguments)
    if last in ("Stream", "GlobalStreamId"):
        return getattr(dsl, last)(*arguments, **named)
    if name in _KINDS and len(arguments) == 1:
        return _KINDS[name](arguments[0]) if isinstance(arguments[0], str | int | float) else UNKNOWN
    if name in ("list", "tuple", "set") and len(arguments) == 1 and isinstance(arguments[0], list):
        return list(arguments[0])
    if name == "dict" and not arguments:
        return dict(named)
    return UNKNOWN


MOST_BASES = 8
_BASES = {
    **dict.fromkeys(("Spout", "ReliableSpout"), True),
    **dict.fromkeys(("Bolt", "BatchingBolt", "TicklessBatchingBolt", "BasicBolt"), False),
}
"""Classes of streamparse, and whether they are spouts."""


@dataclass(slots=True)
class _Module:
    """A source file: the values of its names, and its classes."""

    scope: dict[str, Any] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)


@dataclass(slots=True)
class _Known:
    """What is known about a component's class: whether it is a spout, and its declared attributes.

    ``unreadable`` is the file that contains the class, if that could not be read.
    """

    is_spout: bool | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    found: bool = False
    unreadable: str = ""


def read_source(
    text: str, file: str, folders: Sequence[Path], notes: Notes
) -> tuple[list[ComponentSpec], Mapping[str, Any]]:
    """Return the components and the settings that a topology file declares."""
    reader = _Reader(file, folders, notes)
    try:
        module = reader.module(text, Path(file))
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        message = getattr(error, "msg", None) or str(error)
        notes.missing(Place(file, line), "the topology", f"it is not Python 3: {message}")
        return [], {}
    topologies = [cls for cls in module.classes.values() if "Topology" in map(_last_name, cls.bases)]
    if not topologies:
        notes.missing(Place(file), "the topology", "no class of it is a Topology")
        return [], {}
    return reader.topology(topologies[-1], module)


class _Reader:
    """Reads topology files and the modules that they import from."""

    def __init__(self, file: str, folders: Sequence[Path], notes: Notes) -> None:
        self._file = file
        self._folders = folders
        self._notes = notes
        self._modules: dict[Path, _Module | None] = {}

    def module(self, text: str, path: Path) -> _Module:
        """Return a source file's names and classes; `SyntaxError` or `ValueError` if it is not Python."""
        module = _Module()
        for statement in ast.parse(text, filename=path.name).body:
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                self._import_all(statement.module or "", module.scope)
            elif isinstance(statement, ast.Import | ast.ImportFrom):
                _import(statement, module.scope)
            elif isinstance(statement, ast.ClassDef):
                module.classes[statement.name] = statement
                module.scope[statement.name] = Reference(statement.name, module=None)
            else:
                _assign(statement, module.scope)
        return module

    def topology(self, cls: ast.ClassDef, module: _Module) -> tuple[list[ComponentSpec], Mapping[str, Any]]:
        """Return what a topology class declares."""
        scope = dict(module.scope)
        specs: list[dsl.Spec] = []
        for statement in cls.body:
            call = getattr(statement, "value", None)
            name = _target(statement)
            function = call.func if isinstance(call, ast.Call) else None
            if name is not None and isinstance(function, ast.Attribute) and function.attr == "spec":
                assert isinstance(call, ast.Call)
                scope[name] = spec = self._spec(name, call, ast.unparse(function.value), scope, module)
                specs.append(spec)
            else:
                _assign(statement, scope)
        components, faults = dsl.declared(specs)
        for fault in faults:
            self._notes.cannot_use(Place(self._file), "the topology as it stands", fault)
        config = scope.get("config")
        return components, config if isinstance(config, dict) and not _has_unknown(config) else {}

    def _spec(
        self, name: str, call: ast.Call, owner: str, scope: dict[str, Any], module: _Module
    ) -> dsl.Spec:
        place = Place(self._file, call.lineno, name)
        given = {word.arg: evaluate(word.value, scope) for word in call.keywords if word.arg}
        if call.args:
            given.setdefault("name", evaluate(call.args[0], scope))
        for key in [key for key, value in given.items() if _has_unknown(value)]:
            self._notes.cannot_use(place, f"{key} of {name}", "it is computed, and reading does not compute")
            del given[key]
        if not isinstance(given.get("name"), str | None):
            self._notes.cannot_use(place, f"the name {given.pop('name')!r} of {name}", "it must be a text")
        foreign = getattr(dsl, owner.rpartition(".")[2], None)
        if isinstance(foreign, type) and issubclass(foreign, dsl.JavaBolt):
            spec = foreign.spec(**given)
            spec.outputs_known = "outputs" in given
        else:
            spec = self._python_spec(owner, given, module, place)
        spec.name = spec.name or name
        spec.line = call.lineno
        return spec

    def _python_spec(self, owner: str, given: Mapping[str, Any], module: _Module, place: Place) -> dsl.Spec:
        known = self._class(owner, module, 0)
        is_spout = known.is_spout if known.is_spout is not None else "inputs" not in given
        attributes = {key: value for key, value in known.attributes.items() if not _has_unknown(value)}
        cls = type(owner.rpartition(".")[2], (), attributes)
        stated = {key: value for key, value in given.items() if key in ("name", "inputs", "par", "config")}
        spec = dsl.Spec(cls, is_spout=is_spout, **stated)
        spec.outputs_known = known.found and not _has_unknown(known.attributes.get("outputs"))
        if known.found and not spec.outputs_known:
            why = "they are computed, and reading does not compute: known is what bolts read of them"
            self._notes.cannot_use(place, f"outputs of {owner}", why)
        elif not known.found:
            file = known.unreadable
            why = f", {file}, could not be read" if file else " was not found in the project"
            self._notes.cannot_use(place, f"the class {owner}", f"its source{why}")
        return spec

    def _class(self, name: str, module: _Module, depth: int) -> _Known:
        """Return what is known about a class, from its own source or that of the module it comes from."""
        first, _, rest = name.partition(".")
        cls = module.classes.get(name)
        if cls is None:
            reference = module.scope.get(first)
            if not isinstance(reference, Reference) or reference.module is None or depth > MOST_BASES:
                return _Known(_BASES.get(name.rpartition(".")[2]))
            wanted = ".".join(part for part in (reference.name, rest) if part)
            found, inner = self._imported(reference.module, wanted)
            if found is None:
                return _Known(_BASES.get(wanted.rpartition(".")[2]), unreadable=inner)
            return self._class(inner, found, depth + 1)
        known = _Known(found=True)
        for base in cls.bases:
            inherited = self._class(ast.unparse(base), module, depth + 1) if depth < MOST_BASES else _Known()
            known.is_spout = inherited.is_spout if known.is_spout is None else known.is_spout
            known.attributes = {**inherited.attributes, **known.attributes}
        scope = dict(module.scope)
        for statement in cls.body:
            before = set(scope)
            _assign(statement, scope)
            target = _target(statement)
            if target is not None and (target in ("outputs", "par", "config") or target not in before):
                known.attributes[target] = scope.get(target, UNKNOWN)
        return known

    def _imported(self, name: str, wanted: str) -> tuple[_Module | None, str]:
        """Return the project's module that a dotted name means, and the remaining name of the class.

        If there is none, return None and the name of a file that could not be read, if there is one.
        """
        unreadable = ""
        parts = [*name.strip(".").split("."), *wanted.split(".")]
        for end in range(len(parts) - 1, 0, -1):
            for folder in self._folders:
                base = folder.joinpath(*parts[:end])
                for path in (base.with_suffix(".py"), base / "__init__.py"):
                    module = self._load(path)
                    if module is not None:
                        return module, ".".join(parts[end:])
                    unreadable = unreadable or (path.name if path.is_file() else "")
        return None, unreadable

    def _import_all(self, name: str, scope: dict[str, Any]) -> None:
        """Add the public names of a module of the project to a scope."""
        found, rest = self._imported(name, "*")
        if found is None or rest != "*":
            return
        for own, value in found.scope.items():
            if not own.startswith("_"):
                scope[own] = Reference(own, module=name) if own in found.classes else value

    def _load(self, path: Path) -> _Module | None:
        if path not in self._modules:
            self._modules[path] = None
            try:
                if path.is_file():
                    self._modules[path] = self.module(read_bounded(path), path)
            except (SyntaxError, ValueError, RecursionError) as error:
                line, what = getattr(error, "lineno", None), getattr(error, "msg", str(error))
                self._notes.cannot_use(Place(path.name, line), "this module", f"it is not Python 3: {what}")
            except (UserError, OSError) as error:
                self._notes.cannot_use(Place(path.name), "this module", str(error))
        return self._modules[path]


def _last_name(expression: ast.expr) -> str:
    return ast.unparse(expression).rpartition(".")[2]


def _target(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return None


def _assign(statement: ast.stmt, scope: dict[str, Any]) -> None:
    name = _target(statement)
    value = getattr(statement, "value", None)
    if name is not None and isinstance(value, ast.expr):
        scope[name] = evaluate(value, scope)


def _import(statement: ast.Import | ast.ImportFrom, scope: dict[str, Any]) -> None:
    for item in statement.names:
        if isinstance(statement, ast.ImportFrom):
            scope[item.asname or item.name] = Reference(item.name, module=statement.module or "")
        else:
            name = item.asname or item.name.partition(".")[0]
            scope[name] = Reference("", module=item.name if item.asname else name)


def _has_unknown(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_unknown(item) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple | set):
        return any(map(_has_unknown, value))
    return value is UNKNOWN or isinstance(value, Reference)
