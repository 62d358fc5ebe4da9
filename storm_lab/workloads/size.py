"""Serialised sizes: the bytes that Storm's Kryo serialiser writes for a tuple's values.

Kryo writes the list's length, then for each value one byte for its class and the value itself. Ids and
headers that Storm adds belong to the message, not to the payload; the emulator counts them.
"""

from __future__ import annotations

from collections.abc import Iterable

from storm_lab.model.javahash import JavaLong


def payload_bytes(values: Iterable[object]) -> int:
    """Return the bytes of a tuple's values; `TypeError` for a class of unknown size: emit it with a size."""
    listed = values if type(values) is tuple else tuple(values)
    total = _varint_bytes(len(listed)) + len(listed)
    for value in listed:
        total += _content(value)
    return total


def _content(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        # Kryo marks the end of a short ASCII text in its last byte and writes the length of any other.
        if value.isascii():
            length = len(value)
            return length if 1 < length < 64 else length + _varint_bytes(length)
        length = len(value.encode("utf-8", "surrogatepass"))
        return length + _varint_bytes(length)
    if isinstance(value, bool):
        return 1
    if isinstance(value, int | JavaLong):
        number = value.value if isinstance(value, JavaLong) else value
        return _varint_bytes(number * 2 if number >= 0 else -number * 2 - 1)
    if isinstance(value, float):
        return 8
    if isinstance(value, bytes):
        return _varint_bytes(len(value)) + len(value)
    if isinstance(value, list | tuple):
        return payload_bytes(value)
    if isinstance(value, dict):
        pairs = (part for entry in value.items() for part in entry)
        return _varint_bytes(len(value)) + sum(1 + _content(part) for part in pairs)
    raise TypeError(f"the serialised size of a {type(value).__name__} is not known")


def _varint_bytes(number: int) -> int:
    """Return the bytes of a non-negative integer, stored with seven bits to a byte."""
    return 1 if number < 128 else -(-number.bit_length() // 7)
