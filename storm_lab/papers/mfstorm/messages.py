"""Input of MF-Storm's topologies: short sentences, single words, and messages as short as tweets.

No messages of real people are used. The default messages consist of the generated text's words and have the
lengths that the paper and storm-starter give. Readers can use their own file instead, with one sentence or
message per line.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import cycle

from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.text import BOOK, GENERATED, Text, load_text

SENTENCE_WORDS = (6, 8, 6, 6, 6)
"""Word counts of the five sentences that storm-starter's RandomSentenceSpout chooses from: 6.4 on average."""

STARTER_WORDS = 5
"""Number of words that storm-starter's TestWordSpout chooses from."""

TWEETS = 5000
"""Number of messages of the tweet word count (section on tweet topologies)."""

TWEET_WORDS = 2500
"""Number of words of the tweet exclamation (same section)."""

OWN = (GENERATED, BOOK)
"""The project's own texts, of which samples as large as the paper's are taken."""

_TWEET_CHARACTERS = 140
_SHORTEST, _LONGEST = 20, 140
"""Lengths of generated messages, in characters; all lengths are equally frequent."""

_SEED = 7


def sentences(choice: str) -> Text:
    """Five sentences cut from generated text or the book, or a file's lines; errors as in `load_text`."""
    text = load_text(choice)
    if choice not in OWN:
        return Text(text.name, _with_words(text))
    words = _words(text)
    return Text(text.name, tuple(" ".join(next(words) for _ in range(size)) for size in SENTENCE_WORDS))


def starter_words(choice: str) -> Text:
    """The first five distinct words of four letters or more, or all of a file; errors as in `sentences`."""
    text = load_text(choice)
    words = tuple(dict.fromkeys(_words(text)))
    if choice in OWN:
        words = tuple(word for word in words if len(word) > 3)[:STARTER_WORDS]
    return Text(text.name, words)


def tweets(choice: str) -> Text:
    """5,000 messages of up to 140 characters, or a file's first lines with words; errors as above."""
    text = load_text(choice)
    return _tweets_from(text) if choice in OWN else Text(text.name, _with_words(text)[:TWEETS])


@lru_cache(maxsize=2)
def _tweets_from(text: Text) -> Text:
    """Messages made of a text's words, the same for every seed and grid."""
    draw = SplitMix(_SEED)
    words = cycle(_words(text))
    return Text(text.name, tuple(_message(words, draw) for _ in range(TWEETS)))


def tweet_words(choice: str) -> Text:
    """The first 2,500 words of the messages; `UserError` as in `sentences`."""
    made = tweets(choice)
    words = [word for line in made.lines for word in line.split()]
    return Text(made.name, tuple(words[:TWEET_WORDS]))


def _with_words(text: Text) -> tuple[str, ...]:
    return tuple(line for line in text.lines if line.strip())


def _words(text: Text) -> Iterator[str]:
    return (word for line in text.lines for word in line.split())


def _message(words: Iterator[str], draw: SplitMix) -> str:
    """Words until a random length is reached, cut at the limit of a message."""
    length = _SHORTEST + draw.below(_LONGEST - _SHORTEST + 1)
    message = next(words)
    while len(message) < length:
        message = f"{message} {next(words)}"
    return message[:_TWEET_CHARACTERS].rstrip()
