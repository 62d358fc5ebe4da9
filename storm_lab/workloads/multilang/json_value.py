"""What Storm makes of the JSON values that components in other languages emit."""

from __future__ import annotations

from storm_lab.model.javahash import JavaLong


def as_java(value: object) -> object:
    """Return the Java value that Storm makes of a JSON value; every integer becomes a Long."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return JavaLong(value)
    if isinstance(value, list | tuple):
        return [as_java(item) for item in value]
    if isinstance(value, dict):
        return {str(key): as_java(item) for key, item in value.items()}
    return value
