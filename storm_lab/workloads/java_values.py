"""The values of tuples as Storm's JVM sees them: their Java types, serialised sizes and grouping keys.

A size is what Storm's Kryo serialiser writes: the list's length, then for each value one byte for its class
and the value itself. Ids and headers that Storm adds are not part of it; the emulator counts them.

A grouping key decides at replay which task of a subscriber gets a tuple. The target of a fields grouping is
``floorMod(key, tasks)`` with the Java hash of the selected values as key (Storm 0.8 to 0.9:
``List.hashCode``; from 0.10 on ``Arrays.deepHashCode``). A partial-key grouping has two candidate tasks,
given as indices into the subscriber's tasks in ascending order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from storm_lab.model.javahash import JavaLong, JavaRandom, bytes_hash, java_hash, list_hash, murmur3_128_long
from storm_lab.model.topology import Grouping
from storm_lab.model.version import V0_10_0, V1_0_0, V2_0_0, StormVersion


def as_java(value: object) -> object:
    """Return the Java value that Storm makes of a JSON value; every integer becomes a Long."""
    if isinstance(value, int) and not isinstance(value, bool):
        return JavaLong(value)
    if isinstance(value, list | tuple):
        return [as_java(item) for item in value]
    if isinstance(value, dict):
        return {str(key): as_java(item) for key, item in value.items()}
    return value


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


def fields_key(selected: Sequence[object], version: StormVersion) -> int:
    """Return the key of a fields grouping; `TypeError` for a value without a hash that all JVMs share."""
    return list_hash(selected, deep=version >= V0_10_0)


def partial_key_candidates(
    selected: Sequence[object], first_value: object, tasks: int, version: StormVersion
) -> tuple[int, int]:
    """Return the two candidate task indices of a partial-key grouping.

    ``selected`` is empty if no field was named. Raises `TypeError` for a value without a hash or a text that
    is the same in every JVM, and `ValueError` if this version of Storm has no partial-key grouping.
    """
    if version < V0_10_0:
        raise ValueError(f"Storm {version} has no {Grouping.PARTIAL_KEY.value} grouping: it came with 0.10")
    if selected and version >= V1_0_0:
        data = b"".join(struct.pack(">i", java_hash(value)) for value in selected)
    else:
        data = _java_text(selected[0] if selected else first_value).encode("utf-8", "surrogatepass")
    if version >= V2_0_0:
        random = JavaRandom(bytes_hash(data))
        first, second = random.next_int(tasks), random.next_int(tasks)
        return first, (second + 1) % tasks if first == second else second
    return abs(murmur3_128_long(data, 13)) % tasks, abs(murmur3_128_long(data, 17)) % tasks


def _java_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, JavaLong):
        return str(value.value)
    raise TypeError(f"a value of type {type(value).__name__} has no text that every JVM shares")
