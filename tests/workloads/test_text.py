"""Texts: the generated one has the shape of the book; bad files are refused in one line."""

from collections import Counter
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.workloads.text import BOOK_FILE, Text, generated_text, load_text

WORDS = [word for line in generated_text().lines for word in line.split()]


def words_of(text: Text) -> int:
    return sum(len(line.split()) for line in text.lines)


def test_generated_text_has_the_shape_of_the_book() -> None:
    text = generated_text()
    assert len(text.lines) == 3600
    assert 26_000 <= words_of(text) <= 27_000
    assert 1 / 5 <= sum(not line.strip() for line in text.lines) / len(text.lines) <= 1 / 3


def test_generated_words_follow_zipf() -> None:
    counts = [count for _, count in Counter(WORDS).most_common()]
    # The book: 5311 distinct words; ranks 1, 10, 100 and 1000 occur 1505, 328, 36 and 3 times.
    assert 4_500 <= len(counts) <= 6_000
    assert 1_000 <= counts[0] <= 1_600
    assert 240 <= counts[9] <= 400
    assert 27 <= counts[99] <= 45
    assert 2 <= counts[999] <= 5


def test_generated_words_are_as_long_as_english_ones() -> None:
    assert 4.2 <= sum(map(len, WORDS)) / len(WORDS) <= 5.0
    most_frequent = Counter(WORDS).most_common(10)
    assert all(len(word) <= 3 for word, _ in most_frequent)


def test_generated_text_is_the_same_on_every_machine() -> None:
    assert generated_text().digest == "859e662cbe2dc63181ff43055a9c07b23b523457cfacb7ebb5e91128799aa4e6"
    assert generated_text.__wrapped__().lines == generated_text().lines


@pytest.mark.shared
def test_the_book_is_found_beside_the_checkout() -> None:
    if not BOOK_FILE.is_file():
        pytest.skip("no book beside the checkout")
    book = load_text("book")
    assert (len(book.lines), words_of(book)) == (3608, 26457)


def test_lines_keep_blanks_and_lose_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "two.txt"
    file.write_bytes("\ufeffone  two\r\n\r\nthree\n".encode())
    text = load_text(str(file))
    assert text.lines == ("one  two", "", "three")
    assert text.name == "two.txt"


def test_a_text_that_is_not_utf8_is_read_as_latin_1(tmp_path: Path) -> None:
    file = tmp_path / "old.txt"
    file.write_bytes(b"caf\xe9 noir\n")
    assert load_text(str(file)).lines == ("café noir",)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "holds no word"), (b"\n \n\t\n", "holds no word"), (b"a\0b", "is not a text")],
)
def test_a_file_without_words_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "bad.txt"
    file.write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        load_text(str(file))
    assert caught.value.field == "text"


def test_a_missing_file_or_a_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.txt.*no such file"):
        load_text(str(tmp_path / "gone.txt"))
    with pytest.raises(UserError, match="cannot be read"):
        load_text(str(tmp_path))
    with pytest.raises(UserError, match="cannot be read"):
        load_text("a\0b")


def test_the_book_is_refused_where_it_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("storm_lab.workloads.text.BOOK_FILE", tmp_path / "book.txt")
    with pytest.raises(UserError, match="not beside the checkout"):
        load_text("book")


def test_the_digest_of_a_text_depends_only_on_its_lines(tmp_path: Path) -> None:
    for name, content in (("a.txt", b"one\ntwo"), ("b.txt", b"one\r\ntwo\r\n")):
        (tmp_path / name).write_bytes(content)
    assert load_text(str(tmp_path / "a.txt")).digest == load_text(str(tmp_path / "b.txt")).digest
