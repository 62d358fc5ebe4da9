"""Texts to stream: a generated one, the real book if it is beside the checkout, or the user's own.

The default is generated, so that every machine streams the same bytes. It has the shape of Alice's Adventures
in Wonderland (T-Storm's Word Count input): about 3,600 lines, a quarter of them blank, 26 to 27 thousand
words, word frequencies by Zipf's law, and English word lengths. The words themselves mean nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.workloads.splitmix import SplitMix

GENERATED = "generated"
BOOK = "book"
BOOK_FILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "text" / "alice_in_wonderland.txt"
"""Path of the book, in a folder beside the checkout."""

LARGEST_FILE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Text:
    """Lines to stream, without line ends."""

    name: str
    lines: tuple[str, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of the lines, independent of the file and its encoding."""
        joined = "".join(f"{line}\n" for line in self.lines)
        return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


def load_text(choice: str) -> Text:
    """Return the text that ``choice`` names: ``generated``, ``book``, or the path of a file.

    Raises a `UserError` if the file cannot be read, is too large, is not text or holds no word.
    """
    if choice == GENERATED:
        return generated_text()
    if choice != BOOK:
        return read_text(Path(choice), name=Path(choice).name)
    if not BOOK_FILE.is_file():
        remedy = f"use {GENERATED}, or give the path of a text file"
        raise UserError("the book is not beside the checkout", field="text", value=choice, remedy=remedy)
    return read_text(BOOK_FILE, name=BOOK)


def read_text(path: Path, *, name: str, field: str = "text") -> Text:
    """Return a file's lines, read as UTF-8 or else as Latin-1; `UserError` as in `load_text`."""

    def refusal(message: str, remedy: str = "give the path of a text file that you may read") -> UserError:
        return UserError(message, field=field, value=str(path), remedy=remedy)

    try:
        if path.stat().st_size > LARGEST_FILE:
            raise refusal("is too large to stream", f"cut it to {LARGEST_FILE // 2**20} MiB")
        data = path.read_bytes()
    except FileNotFoundError:
        raise refusal("there is no such file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise refusal(f"cannot be read ({reason})") from None
    if b"\0" in data:
        raise refusal("is not a text: it holds zero bytes")
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Every byte is a character, so distinct words of 8-bit texts stay distinct.
        content = data.decode("latin-1")
    lines = tuple(line.removesuffix("\r") for line in content.removesuffix("\n").split("\n"))
    if not any(line.strip() for line in lines):
        raise refusal("holds no word", "give a text with at least one word")
    return Text(name, lines)


GENERATED_LINES = 3600
_WIDTH = 65
_VOCABULARY = 9000
_VOWELS = "aeiou"
_CONSONANTS = "bcdfghklmnprstvw"

# Word lengths by a word's rank: (limit of the rank, weights of lengths 1, 2, 3, ...). Frequent words are
# short.
_LENGTHS: tuple[tuple[int, tuple[int, ...]], ...] = (
    (12, (1, 4, 7)),
    (120, (0, 3, 7, 8, 3, 1)),
    (1000, (0, 0, 2, 7, 7, 6, 4, 2, 1)),
    (_VOCABULARY, (0, 0, 1, 4, 7, 8, 8, 6, 5, 3, 2, 1)),
)

# Lines of a paragraph: weights of 1, 2, 3, ... lines.
_PARAGRAPH = (27, 29, 13, 13, 5, 4, 2, 2, 3, 1, 1, 1)


@cache
def generated_text() -> Text:
    """Return the generated text; integer arithmetic gives the same bytes on every machine."""
    draw = SplitMix(1)
    words = _vocabulary(draw)
    # Zipf-Mandelbrot: the weight of rank r is proportional to 1 / (r + 1.6), like the word counts of the
    # book.
    cumulative = list(accumulate(10**12 // (10 * rank + 16) for rank in range(1, len(words) + 1)))
    paragraph = list(accumulate(_PARAGRAPH))
    lines: list[str] = []
    while len(lines) < GENERATED_LINES:
        length = 1 + draw.place(paragraph)
        for number in range(length):
            most = 3 + draw.below(10) if number == length - 1 else _WIDTH
            lines.append(" ".join(_line(draw, words, cumulative, most)))
        lines.extend([""] * (2 if draw.below(16) == 0 else 1))
    return Text(GENERATED, tuple(lines[:GENERATED_LINES]))


def _line(draw: SplitMix, words: Sequence[str], cumulative: Sequence[int], most: int) -> Iterator[str]:
    width = -1
    for _ in range(most):
        word = words[draw.place(cumulative)]
        width += 1 + len(word)
        if width > _WIDTH:
            return
        yield word


def _vocabulary(draw: SplitMix) -> list[str]:
    """Distinct pronounceable words, most frequent first."""
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        weights = next(weights for limit, weights in _LENGTHS if len(words) < limit)
        cumulative = list(accumulate(weights))
        length = 1 + draw.place(cumulative)
        # Consonants and vowels alternate; a word of one letter is a vowel.
        start = draw.below(2) if length > 1 else 1
        word = "".join(draw.one(_VOWELS if (place + start) % 2 else _CONSONANTS) for place in range(length))
        words.setdefault(word)
    return list(words)
