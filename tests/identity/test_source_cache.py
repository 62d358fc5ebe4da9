"""Cached sources equal freshly parsed ones, and stale ones are never used."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

import pytest

from storm_lab.identity.closure import Code
from storm_lab.identity.source import Source
from storm_lab.identity.source_cache import cached_source, sources_folder

TEXT = "from other import g\n\n\ndef f(x):\n    return g(x) + 1\n\n\nKINDS = {'a': 'm:A'}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return sources_folder()


@pytest.fixture
def parsed_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were parsed instead of taken from the cache."""
    texts: list[str] = []
    parsed = Source.parsed

    def noted(name: str, text: str, *, is_package: bool = False) -> Source:
        texts.append(text)
        return parsed(name, text, is_package=is_package)

    monkeypatch.setattr(Source, "parsed", noted)
    return texts


def content_of(source: Source) -> object:
    statements = [astuple(each) for each in source.statements]
    bound = {name: [source.statements.index(each) for each in own] for name, own in source.binds.items()}
    return source.name, source.is_package, statements, bound, source.imports


def test_a_closure_of_cached_sources_equals_that_of_parsed_sources() -> None:
    roots = [
        ("storm_lab.pipeline.batches", "computed_in_batches"),
        ("storm_lab.papers.nstorm.runs", "describe"),
    ]
    anew, kept, again = (Code(), *(Code(parsed=cached_source) for _ in range(2)))
    expected = anew.closure(roots)
    for code in (kept, again):
        found = code.closure(roots)
        assert (found.digest, found.definitions) == (expected.digest, expected.definitions)


def test_a_source_is_parsed_again_when_its_text_changes(parsed_texts: list[str]) -> None:
    first, second = cached_source("m", TEXT), cached_source("m", TEXT)
    assert content_of(first) == content_of(second) == content_of(Source.parsed("m", TEXT))
    parsed_texts.clear()
    assert cached_source("m", TEXT + "X = 1\n").binds.keys() == {"f", "KINDS", "X"}
    assert cached_source("m", TEXT).binds.keys() == {"f", "KINDS"}
    cached_source("m", TEXT, is_package=True)
    assert parsed_texts == [TEXT + "X = 1\n", TEXT, TEXT]


def test_a_source_with_a_damaged_cache_file_is_parsed_once_more(
    parsed_texts: list[str], folder: Path
) -> None:
    whole = content_of(cached_source("m", TEXT))
    (place,) = folder.iterdir()
    content = place.read_bytes()
    for damaged in (b"", content[:-1], content[:-1] + b"?", b"\n" + content):
        place.write_bytes(damaged)
        parsed_texts.clear()
        assert content_of(cached_source("m", TEXT)) == whole
        cached_source("m", TEXT)
        assert parsed_texts == [TEXT]


def test_a_source_that_cannot_be_cached_is_parsed_each_time(parsed_texts: list[str], folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("no folder")
    cached_source("m", TEXT)
    cached_source("m", TEXT)
    assert parsed_texts == [TEXT, TEXT]
