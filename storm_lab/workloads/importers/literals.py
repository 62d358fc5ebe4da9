"""Evaluate expressions of a topology's source as far as they are written out literally; no code is run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from storm_lab.workloads.multilang import dsl

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
            return {
                _value(key, scope): _value(value, scope)
                for key, value in zip(node.keys, node.values, strict=True)
                if key is not None
            }
        case ast.UnaryOp(op=ast.USub()):
            value = _value(node.operand, scope)
            return -value if isinstance(value, int | float) else UNKNOWN
        case ast.BinOp():
            return _binary(node, scope)
        case ast.Subscript():
            return _subscript(node, scope)
        case ast.Attribute(owner, name) if name.isupper() and ast.unparse(owner).split(".")[-1] == "Grouping":
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
