"""Iteration orders of Java's and Clojure's hash maps, compared with those of the real ones."""

import pytest

from storm_lab.model import Slot, StormVersion
from storm_lab.model.javahash import string_hash
from storm_lab.schedulers.storm.hash_order import (
    DaemonOrder,
    built_and_copied_order,
    copied_map_order,
    copied_set_order,
    hash_map_order,
    java7_map_order,
    slot_hash,
)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["alpha-1-10", "beta-2-20", "gamma-3-30"], ["gamma-3-30", "beta-2-20", "alpha-1-10"]),
        (["wc-1-100", "ex-2-100", "big-3-100"], ["wc-1-100", "big-3-100", "ex-2-100"]),
        (["spout", "split", "count"], ["split", "spout", "count"]),
        (["s1", "s2", "s3"], ["s3", "s1", "s2"]),
        ([f"node{i:02d}" for i in range(1, 11)], ["node10", *(f"node{i:02d}" for i in range(1, 10))]),
        (["__acker", "word", "exclaim1", "exclaim2"], ["__acker", "exclaim2", "exclaim1", "word"]),
    ],
)
def test_a_default_hash_map_is_iterated_bucket_by_bucket(keys: list[str], expected: list[str]) -> None:
    assert hash_map_order(keys, string_hash) == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["wc-1-100", "ex-2-100", "big-3-100"], ["wc-1-100", "ex-2-100", "big-3-100"]),
        (["spout", "split", "count"], ["spout", "count", "split"]),
    ],
)
def test_a_copied_map_has_its_own_capacity(keys: list[str], expected: list[str]) -> None:
    assert built_and_copied_order(keys, string_hash) == expected


def test_ports_of_a_set_wrap_at_the_table_size() -> None:
    assert hash_map_order([6700, 6701, 6702, 6703, 6704], int) == [6704, 6700, 6701, 6702, 6703]


@pytest.mark.parametrize(
    ("node", "ports"), [("node01", [6703, 6702, 6701, 6700]), ("node02", [6700, 6703, 6702, 6701])]
)
def test_slots_of_a_set_are_ordered_by_the_hash_of_their_node(node: str, ports: list[int]) -> None:
    slots = [Slot(node, port) for port in range(6700, 6704)]
    assert [slot.port for slot in hash_map_order(slots, slot_hash)] == ports


def test_empty_collections_stay_empty() -> None:
    assert copied_map_order([], string_hash) == []
    assert copied_set_order([], string_hash) == []


TWELVE = [str(i) for i in range(12)]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.9.7", "11 0 1 2 3 4 5 6 7 8 9 10"), ("1.0.6", "9 3 4 8 7 5 6 1 0 11 2 10")],
)
def test_clojure_hash_tries_by_version(version: str, expected: str) -> None:
    order = DaemonOrder(StormVersion.parse(version))
    assert order.collected(TWELVE, order.string) == expected.split()


def test_small_clojure_maps_keep_or_reverse_the_insertion_order() -> None:
    old, new = (DaemonOrder(StormVersion.parse(v)) for v in ("0.9.7", "1.0.6"))
    assert old.collected(["b", "a"], old.string) == ["b", "a"]
    assert old.associated(["b", "a"], old.string) == ["a", "b"]
    assert new.associated(["b", "a"], new.string) == ["b", "a"]


def test_java_7_spreads_component_ids_over_its_buckets() -> None:
    """By hand: "bolt_1" hashes to 0xad89f507; h ^= h>>>20 ^ h>>>12 gives 0xad832740, and h ^= h>>>7 ^ h>>>4
    ends in 0xa: bucket 10. "bolt_2" 5, "bolt_3" 4, "bolt_4" 7.
    """
    bolts = ["bolt_1", "bolt_2", "bolt_3", "bolt_4"]
    assert java7_map_order(bolts, string_hash) == ["bolt_3", "bolt_2", "bolt_4", "bolt_1"]


def test_java_7_puts_a_new_key_in_front_of_its_bucket() -> None:
    """0 and 17 spread to 0 and 17 ^ 1 = 16, so they share one of sixteen buckets, but not in Java 8."""
    assert hash_map_order([0, 17], int) == [0, 17]
    assert java7_map_order([0, 17], int) == [17, 0]
    assert java7_map_order([17, 0], int) == [0, 17]


def test_java_7_grows_when_a_full_table_meets_a_taken_bucket() -> None:
    """Twelve keys fill a table of sixteen.

    A thirteenth key still fits into a free bucket, but not into a taken one: the table then has 32 buckets,
    and 17 comes after all others, in bucket 16.
    """
    twelve = list(range(12))
    assert java7_map_order([*twelve, 12], int) == [*twelve, 12]
    assert java7_map_order([*twelve, 17], int) == [*twelve, 17]
