"""Imported files are data: nothing in them is run, and size, depth and aliases are bounded."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storm_lab.errors import UserError
from storm_lab.workloads.importers import documents
from storm_lab.workloads.importers.documents import DEEPEST, Notes, Part, json_part, read_bounded, yaml_part


def read(text: str, notes: Notes | None = None) -> Part:
    return yaml_part(text, "x.yaml", notes or Notes())


def test_a_part_knows_its_line_and_its_path_of_keys() -> None:
    part = read("a:\n  - b: 1\n  - c: {d: text}\n")
    inner = part.at(("a", 1, "c", "d"))
    assert inner.value == "text"
    assert str(inner.place) == "x.yaml:3 a[1].c.d"
    assert part.at(("a", 7, "c")).place.key == "a"


def test_plain_scalars_become_numbers_booleans_and_strings_as_in_yaml() -> None:
    part = read("[1, 1.5, true, no, null, '1', 2020-01-02, 12:30, .inf, 0x10, 1_000]")
    assert part.plain() == [1, 1.5, True, False, None, "1", "2020-01-02", 750, float("inf"), 16, 1000]


def test_scalars_that_only_look_like_numbers_or_dates_stay_strings() -> None:
    assert read("[2020-99-99, !!int x, !!float y, 0b12]").plain() == ["2020-99-99", "x", "y", "0b12"]


def test_aliases_and_merges_are_followed() -> None:
    part = read("base: &b {x: 1, y: 2}\nother: {<<: *b, y: 3}\nlist: [*b, *b]\n")
    assert part.plain()["other"] == {"x": 1, "y": 3}
    assert part.plain()["list"] == [{"x": 1, "y": 2}] * 2


def test_a_billion_laughs_attack_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_PARTS", 5000)
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(UserError, match="unfolds to more than"):
        read("\n".join(lines))


def test_a_document_that_contains_itself_is_refused() -> None:
    for text in ("&a [*a]", "&a {b: *a}", "&a {<<: *a, b: 1}"):
        with pytest.raises(UserError, match="levels deep"):
            read(text)


@pytest.mark.parametrize("deep", [DEEPEST + 1, 5000, 100_000])
def test_deep_nesting_is_refused_before_anything_is_built(deep: int) -> None:
    with pytest.raises(UserError, match="levels deep"):
        read("[" * deep + "]" * deep)
    with pytest.raises(UserError, match="levels deep"):
        json_part("[" * deep + "]" * deep, "x.json")


def test_json_with_a_number_of_too_many_digits_is_refused_as_such() -> None:
    with pytest.raises(UserError, match="a number of more than 4300 digits"):
        json_part("9" * 5000, "x.json")


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_PARTS", 1000)
    read("[" + "1," * 900 + "]")
    for text in ("[" + "1," * 1005 + "]", "[" + "1," * 3000 + "]"):
        with pytest.raises(UserError, match="more than 1000 values"):
            read(text)


def test_several_documents_are_refused() -> None:
    with pytest.raises(UserError, match="more than one YAML document"):
        read("a: 1\n---\nb: 2\n")


def test_tags_of_classes_are_ignored_and_reported() -> None:
    notes = Notes()
    part = read("a: !!python/object/apply:os.system ['true']\nb: !mine {c: 1}\n", notes)
    assert part.plain() == {"a": ["true"], "b": {"c": 1}}
    assert ["python/object" in item.what for item in notes.unusable] == [True, False]


def test_the_last_of_two_equal_keys_counts_and_the_duplicate_is_reported() -> None:
    notes = Notes()
    assert read("a: 1\nb: 0\na: 2\n", notes).plain() == {"a": 2, "b": 0}
    assert [str(item.place) for item in notes.unusable] == ["x.yaml:3"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [1, 2", r"is not YAML: .* \(line"),
        ("a: *nobody", "is not YAML"),
        ("\t- a", r"is not YAML: .* \(line 1\); indent with spaces"),
        ("a: b: c", "is not YAML"),
        ("\x00", "is not YAML"),
    ],
)
def test_invalid_yaml_is_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as error:
        read(text)
    assert "\n" not in str(error.value)


def test_lone_surrogates_can_be_printed() -> None:
    part = json_part('{"a\\ud800": "b\\udfff"}', "x.json")
    assert json.dumps(part.plain()).encode()
    assert str(part.plain()).encode()


@pytest.mark.parametrize(("content", "says"), [(b"\xff\xfe\x00", "UTF-8"), (b"x" * 200, "too large")])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=says):
        read_bounded(path, largest=100)
    with pytest.raises(UserError, match="no such file"):
        read_bounded(tmp_path / "nothere.yaml")
    with pytest.raises(UserError):
        read_bounded(tmp_path / ("x" * 5000))


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#, \n\t<%@`0?~", max_size=60))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    for reader in (lambda: read(text), lambda: json_part(text, "x.json")):
        try:
            assert isinstance(reader(), Part)
        except UserError as error:
            assert "\n" not in str(error)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=20,
    )
)
def test_json_is_read_unchanged(value: object) -> None:
    text = json.dumps(value)
    if "\\ud" not in text:
        assert json.dumps(json_part(text, "x.json").plain()) == text
