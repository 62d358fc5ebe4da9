"""Java's hashes have the values that a JVM computes."""

import pytest

from storm_lab.model.javahash import JavaLong, JavaRandom, bytes_hash, java_hash, list_hash, murmur3_128_long


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("spout", 109651921),
        ("split", 109648666),
        ("count", 94851343),
        ("node01", -1040172157),
        ("", 0),
        (True, 1231),
        (False, 1237),
        (None, 0),
        (-7, -7),
        (1 << 40, 256),
        # The hash of a map is the sum of its entries' hashes: key hash XOR value hash.
        ({"a": 1}, 97 ^ 1),
        ({"a": 1, "b": [True]}, (97 ^ 1) + (98 ^ 1262)),
        ({}, 0),
    ],
)
def test_hash_of_one_value(value: object, expected: int) -> None:
    assert java_hash(value) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["the"], 114832),
        (["a", "b"], 4066),
        ([7], 38),
        ([JavaLong(-7)], 37),
        ([1.5], 1073217567),
        ([True], 1262),
        ([None], 31),
        (["jumped"], -1148867220),
    ],
)
def test_hash_of_a_list(values: list[object], expected: int) -> None:
    assert list_hash(values) == list_hash(values, deep=False) == expected


def test_strings_are_hashed_by_utf16_units() -> None:
    # The G clef is outside the basic plane: two units, D834 and DD1E.
    assert java_hash("\U0001d11e") == 31 * 0xD834 + 0xDD1E


@pytest.mark.parametrize(
    ("word", "n2", "n4", "n8", "n12"),
    [
        ("the", 0, 0, 0, 4),
        ("cow", 0, 2, 2, 6),
        ("jumped", 0, 0, 4, 0),
        ("nathan", 1, 3, 3, 7),
        ("", 1, 3, 7, 7),
    ],
)
def test_fields_grouping_targets(word: str, n2: int, n4: int, n8: int, n12: int) -> None:
    assert [list_hash([word]) % n for n in (2, 4, 8, 12)] == [n2, n4, n8, n12]


def test_arrays_hash_by_content_only_when_deep() -> None:
    assert list_hash([b"the"]) == 31 + bytes_hash(b"the")
    with pytest.raises(TypeError, match="address"):
        list_hash([b"the"], deep=False)


def test_unknown_classes_have_no_hash() -> None:
    with pytest.raises(TypeError, match="object"):
        java_hash(object())


def test_random_numbers_are_those_of_java() -> None:
    random = JavaRandom(42)
    assert [random.next_int(10), random.next_int(10), random.next_int(8)] == [0, 3, 5]


def test_murmur3_of_known_texts() -> None:
    # Reference vectors of MurmurHash3_x64_128: first eight bytes of the digest, little endian.
    assert murmur3_128_long(b"", 0) == 0
    assert murmur3_128_long(b"hello", 0) & 0xFFFFFFFFFFFFFFFF == 0xCBD8A7B341BD9B02
    fox = b"The quick brown fox jumps over the lazy dog"
    assert murmur3_128_long(fox, 0) & 0xFFFFFFFFFFFFFFFF == 0xE34BBC7BBC071B6C
