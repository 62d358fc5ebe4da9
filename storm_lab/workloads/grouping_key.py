"""Grouping keys, which decide at replay which task of a subscriber gets a tuple.

The target of a fields grouping is ``floorMod(key, tasks)`` with the Java hash of the selected values as key
(Storm 0.8 to 0.9: ``List.hashCode``; from 0.10 on ``Arrays.deepHashCode``). A partial-key grouping has two
candidate tasks, given as indices into the subscriber's tasks in ascending order.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from storm_lab.model.javahash import JavaLong, JavaRandom, bytes_hash, java_hash, list_hash, murmur3_128_long
from storm_lab.model.topology import Grouping
from storm_lab.model.version import V0_10_0, V1_0_0, V2_0_0, StormVersion


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
