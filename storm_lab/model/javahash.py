"""Java's hash codes, as far as Storm's behaviour depends on them.

A fields grouping sends a tuple to task ``floorMod(hash of the selected values, number of tasks)``, and
several schedulers iterate over hash maps. Python values stand for these Java types: ``str`` String, ``bool``
Boolean, ``int`` Integer where it fits and Long otherwise (`JavaLong` forces Long), ``float`` Double, ``None``
null, ``list`` and ``tuple`` java.util.List, ``dict`` java.util.Map, ``bytes`` byte[].
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_MASK = 0xFFFF_FFFF
_MASK64 = 0xFFFF_FFFF_FFFF_FFFF


@dataclass(frozen=True, slots=True)
class JavaLong:
    """A Long that would also fit into an Integer; the two hash differently below 0."""

    value: int


def int32(number: int) -> int:
    """Return the low 32 bits of ``number`` as a signed integer."""
    number &= _MASK
    return number - 0x1_0000_0000 if number & 0x8000_0000 else number


@lru_cache(maxsize=1 << 16)
def string_hash(text: str) -> int:
    """``String.hashCode``: the 31-polynomial over UTF-16 code units."""
    if text.isascii():
        units: Iterable[int] = text.encode("ascii")
    else:
        raw = text.encode("utf-16-be", "surrogatepass")
        units = struct.unpack(f">{len(raw) // 2}H", raw)
    return folded_hash(units, 0)


def long_hash(number: int) -> int:
    """``Long.hashCode``: both halves of the 64-bit pattern, XORed."""
    bits = number & _MASK64
    return int32(bits ^ (bits >> 32))


def folded_hash(hashes: Iterable[int], total: int = 1) -> int:
    """Compute a sequence's hash from those of its members; List begins with a total of 1, String with 0."""
    for member in hashes:
        total = (31 * total + member) & _MASK
    return int32(total)


def bytes_hash(data: bytes) -> int:
    """``Arrays.hashCode(byte[])``: the List formula over signed bytes."""
    return folded_hash(byte - 256 if byte > 127 else byte for byte in data)


def list_hash(values: Iterable[object], *, deep: bool = True) -> int:
    """``List.hashCode`` (``deep`` False) or ``Arrays.deepHashCode`` over ``values``.

    They differ only for arrays (``bytes``): deep hashing reads their contents. Raises `TypeError` as
    `java_hash` does.
    """
    return folded_hash(java_hash(value, deep=deep) for value in values)


def java_hash(value: object, *, deep: bool = True) -> int:
    """``hashCode`` of the Java value that ``value`` stands for.

    Raises:
        TypeError: the hash is not the same in every JVM (the shallow hash of an array is its address), or the
            type of ``value`` has no Java counterpart here.
    """
    if isinstance(value, str):
        return string_hash(value)
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, int):
        return value if -0x8000_0000 <= value <= 0x7FFF_FFFF else long_hash(value)
    if isinstance(value, JavaLong):
        return long_hash(value.value)
    if isinstance(value, float):
        # The 64-bit pattern, folded like that of a Long.
        return long_hash(struct.unpack(">q", struct.pack(">d", value))[0])
    if value is None:
        return 0
    if isinstance(value, list | tuple):
        return list_hash(value, deep=False)
    if isinstance(value, dict):
        # AbstractMap: the sum over the entries, which does not depend on their order.
        return int32(sum(java_hash(k, deep=False) ^ java_hash(v, deep=False) for k, v in value.items()))
    if isinstance(value, bytes):
        if deep:
            return bytes_hash(value)
        raise TypeError("Java hashes a byte array by its address here, which no two runs share")
    raise TypeError(f"a value of type {type(value).__name__} has no Java hash")


_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F


def murmur3_128_long(data: bytes, seed: int) -> int:
    """First 64 bits, signed, of MurmurHash3 x64 128: Guava's ``murmur3_128(seed)`` read as a long."""
    h1 = h2 = seed & _MASK
    whole = len(data) - len(data) % 16
    for start in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", data, start)
        h1 ^= _scramble(k1, _C1, 31, _C2)
        h1 = ((_rotl(h1, 27) + h2) * 5 + 0x52DCE729) & _MASK64
        h2 ^= _scramble(k2, _C2, 33, _C1)
        h2 = ((_rotl(h2, 31) + h1) * 5 + 0x38495AB5) & _MASK64
    tail = data[whole:]
    if len(tail) > 8:
        h2 ^= _scramble(int.from_bytes(tail[8:], "little"), _C2, 33, _C1)
    if tail:
        h1 ^= _scramble(int.from_bytes(tail[:8], "little"), _C1, 31, _C2)
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & _MASK64
    h2 = (h2 + h1) & _MASK64
    h1 = (_finish(h1) + _finish(h2)) & _MASK64
    return h1 - (1 << 64) if h1 >> 63 else h1


def _scramble(k: int, first: int, turn: int, second: int) -> int:
    return (_rotl((k * first) & _MASK64, turn) * second) & _MASK64


def _rotl(number: int, places: int) -> int:
    return ((number << places) | (number >> (64 - places))) & _MASK64


def _finish(k: int) -> int:
    k = ((k ^ (k >> 33)) * 0xFF51AFD7ED558CCD) & _MASK64
    k = ((k ^ (k >> 33)) * 0xC4CEB9FE1A85EC53) & _MASK64
    return k ^ (k >> 33)


class JavaRandom:
    """``java.util.Random``: the 48-bit linear congruential generator."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def next(self, bits: int) -> int:
        """The next ``bits`` bits, signed."""
        self._state = (self._state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return int32(self._state >> (48 - bits))

    def next_int(self, bound: int) -> int:
        """A number from 0 to ``bound`` - 1."""
        if bound & (bound - 1) == 0:
            return (bound * self.next(31)) >> 31
        while True:
            draw = self.next(31)
            result = draw % bound
            if draw - result + (bound - 1) <= 0x7FFF_FFFF:
                return result
