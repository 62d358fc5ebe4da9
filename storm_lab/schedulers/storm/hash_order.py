"""The iteration orders of Java's and Clojure's hash maps.

The answers of Storm's own schedulers depend on these orders. Only this module models them. Java means Java 8
to 17 unless Java 7 is named; all arithmetic is 32-bit two's complement. Java's hash codes are those of
`storm_lab.model.javahash`, signed; Clojure's Murmur3 hashes are unsigned. An order depends only on the bits.
A Java ``Integer`` is its own hash, and so is a ``Long`` that is not negative and fits into 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from storm_lab.model import Executor, Slot, StormVersion
from storm_lab.model.javahash import folded_hash, int32, list_hash, string_hash
from storm_lab.model.version import V0_10_0, V1_0_0, V2_0_0

T = TypeVar("T")
Hash = Callable[[T], int]

_MASK = 0xFFFFFFFF
_DEFAULT_CAPACITY = 16
_LOAD_FACTOR = 0.75
_CLOJURE_ARRAY_MAP_TRANSIENT = 8
_CLOJURE_ARRAY_MAP_ASSOC = 9


def stream_hash(source: str, stream: str) -> int:
    """Hash of Storm's ``GlobalStreamId``: its two fields, each after a flag that says that it is set."""
    return list_hash((True, source, True, stream))


def executor_hash(executor: Executor) -> int:
    """Hash of Storm's ``ExecutorDetails``."""
    return int32(executor.start + 13 * executor.end)


def slot_hash(slot: Slot) -> int:
    """Hash of Storm's ``WorkerSlot``."""
    return int32(string_hash(slot.node) + 13 * slot.port)


def _power_of_two(at_least: int) -> int:
    return 1 if at_least <= 1 else 1 << (at_least - 1).bit_length()


def grown_capacity(capacity: int, entries: int) -> int:
    """Return the capacity that a table of ``capacity`` has grown to with ``entries`` entries."""
    while entries > capacity * _LOAD_FACTOR:
        capacity *= 2
    return capacity


def copied_capacity(entries: int) -> int:
    """Return the capacity of a table that is copied as a whole from one of ``entries`` entries."""
    return _power_of_two(int(entries / _LOAD_FACTOR + 1.0))


def _walk(keys: Iterable[T], hash_of: Hash[T], capacity: int) -> list[T]:
    """Return the iteration order of a table of that capacity: by bucket, within a bucket by insertion."""

    def bucket(key: T) -> int:
        h = hash_of(key) & _MASK
        return (h ^ (h >> 16)) & (capacity - 1)

    return sorted(keys, key=bucket)


def hash_map_order(keys: Sequence[T], hash_of: Hash[T], capacity: int = _DEFAULT_CAPACITY) -> list[T]:
    """Order of a ``HashMap`` or ``HashSet`` of that initial capacity, filled key by key."""
    return _walk(keys, hash_of, grown_capacity(_power_of_two(capacity), len(keys)))


def java7_map_order(keys: Sequence[T], hash_of: Hash[T]) -> list[T]:
    """Order of a default ``HashMap`` of Java 6 or 7, the Java of clusters of 2014, filled key by key.

    It uses more bits of a hash than Java 8 does, puts a new key at the front of its bucket, and reverses the
    buckets whenever the table doubles.
    """

    def spread(key: T) -> int:
        h = hash_of(key) & _MASK
        h ^= (h >> 20) ^ (h >> 12)
        return h ^ (h >> 7) ^ (h >> 4)

    capacity = _DEFAULT_CAPACITY
    table: list[list[T]] = [[] for _ in range(capacity)]
    for entries, key in enumerate(keys):
        bucket = table[spread(key) & (capacity - 1)]
        if entries >= capacity * _LOAD_FACTOR and bucket:
            # The table grows if it is full and the next key meets another key in its bucket.
            capacity *= 2
            grown: list[list[T]] = [[] for _ in range(capacity)]
            for moved in (k for chain in table for k in chain):
                grown[spread(moved) & (capacity - 1)].insert(0, moved)
            table = grown
            bucket = table[spread(key) & (capacity - 1)]
        bucket.insert(0, key)
    return [key for chain in table for key in chain]


def copied_map_order(keys: Sequence[T], hash_of: Hash[T]) -> list[T]:
    """Order of a map that is copied as a whole from one that iterates over ``keys`` in this order."""
    return _walk(keys, hash_of, copied_capacity(len(keys)))


def copied_set_order(keys: Sequence[T], hash_of: Hash[T]) -> list[T]:
    """Order of ``new HashSet(collection)``."""
    capacity = _power_of_two(max(int(len(keys) / _LOAD_FACTOR) + 1, _DEFAULT_CAPACITY))
    return _walk(keys, hash_of, grown_capacity(capacity, len(keys)))


def built_and_copied_order(keys: Sequence[T], hash_of: Hash[T]) -> list[T]:
    """Order of a default map that is filled key by key and then copied as a whole."""
    return copied_map_order(hash_map_order(keys, hash_of), hash_of)


def handed_over_order(keys: Sequence[T], hash_of: Hash[T], version: StormVersion) -> list[T]:
    """Order of a map that Nimbus fills with ``keys`` and the scheduler's classes copy.

    Nimbus of 0.8 to 1.x fills a default map. In 2.x, the order of filling decides among keys of one bucket.
    """
    if version >= V2_0_0:
        return copied_map_order(keys, hash_of)
    return built_and_copied_order(keys, hash_of)


def free_slot_order(slots: Sequence[Slot]) -> list[Slot]:
    """Order of 2.x's set of a node's free slots, which is filled from a map keyed by ``node:port``."""
    return hash_map_order(named_slot_order(slots), slot_hash)


def named_slot_order(slots: Sequence[Slot]) -> list[Slot]:
    """Order of a map or set of a node's slots keyed by ``node:port``."""
    return hash_map_order(slots, lambda slot: string_hash(str(slot)))


# --- Clojure ---


def _rotate_left(value: int, bits: int) -> int:
    value &= _MASK
    return ((value << bits) | (value >> (32 - bits))) & _MASK


def _mix_k1(k: int) -> int:
    return (_rotate_left((k * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _mix_h1(h: int, k: int) -> int:
    return (_rotate_left(h ^ k, 13) * 5 + 0xE6546B64) & _MASK


def _finish(h: int, length: int) -> int:
    h ^= length
    h ^= h >> 16
    h = (h * 0x85EBCA6B) & _MASK
    h ^= h >> 13
    h = (h * 0xC2B2AE35) & _MASK
    return h ^ (h >> 16)


def _murmur_int(value: int) -> int:
    return 0 if value == 0 else _finish(_mix_h1(0, _mix_k1(value & _MASK)), 4)


def _murmur_long(value: int) -> int:
    if value == 0:
        return 0
    low = _mix_h1(0, _mix_k1(value & _MASK))
    return _finish(_mix_h1(low, _mix_k1((value >> 32) & _MASK)), 8)


class DaemonOrder:
    """Map orders of the language of a version's daemons: Clojure, or Java from 2.0 on.

    Clojure 1.4 and 1.5 (Storm 0.8 and 0.9) hash like Java; 1.6 and 1.7 (Storm 0.10 and 1.x) with Murmur3.
    """

    def __init__(self, version: StormVersion) -> None:
        self._java = version >= V2_0_0
        self._murmur = V0_10_0 <= version < V2_0_0
        self._new_key_first = version < V1_0_0

    def string(self, text: str) -> int:
        """Hash of a string key."""
        return _murmur_int(string_hash(text)) if self._murmur else string_hash(text)

    def number(self, number: int) -> int:
        """Hash of a key that is a whole number and not negative."""
        return _murmur_long(number) if self._murmur else number

    def pair(self, first: str | int, second: int) -> int:
        """Hash of a vector of two: ``[node port]`` or ``[start end]``."""
        head = self.string(first) if isinstance(first, str) else self.number(first)
        folded = folded_hash((head, self.number(second)))
        return _finish(_mix_h1(0, _mix_k1(folded)), 2) if self._murmur else folded

    def slot(self, slot: Slot) -> int:
        """Hash of ``[node port]``, or of Java's ``WorkerSlot``."""
        return slot_hash(slot) if self._java else self.pair(slot.node, slot.port)

    def executor(self, executor: Executor) -> int:
        """Hash of ``[start end]``."""
        return self.pair(executor.start, executor.end)

    @staticmethod
    def _trie(keys: Iterable[T], hash_of: Hash[T]) -> list[T]:
        def digits(key: T) -> tuple[int, ...]:
            h = hash_of(key) & _MASK
            return tuple((h >> shift) & 31 for shift in range(0, 32, 5))

        return sorted(keys, key=digits)

    def collected(self, keys: Sequence[T], hash_of: Hash[T]) -> list[T]:
        """Order of a map built by ``group-by`` or ``into {}`` from distinct keys in this order."""
        if self._java:
            return hash_map_order(keys, hash_of)
        if len(keys) <= _CLOJURE_ARRAY_MAP_TRANSIENT:
            return list(keys)
        return self._trie(keys, hash_of)

    def associated(self, keys: Sequence[T], hash_of: Hash[T]) -> list[T]:
        """Order of a map built by successive ``assoc`` of distinct keys in this order."""
        if self._java:
            return hash_map_order(keys, hash_of)
        if len(keys) > _CLOJURE_ARRAY_MAP_ASSOC:
            return self._trie(keys, hash_of)
        return list(reversed(keys)) if self._new_key_first else list(keys)
