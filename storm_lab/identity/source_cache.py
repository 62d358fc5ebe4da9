"""A cache of parsed sources in the user's cache folder: parsing takes most of the time of an identity.

A cached source is used only for the same text, parsed by the same code under the same Python.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from storm_lab.identity import source as parser
from storm_lab.identity.source import Source
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.machine.places import user_cache


def sources_folder() -> Path:
    """Return the folder of cached sources, with a file for each module."""
    return user_cache() / "sources"


def cached_source(name: str, text: str, *, is_package: bool = False) -> Source:
    """Do what `Source.parsed` does, with the cache; without write access, parse every time."""
    place = sources_folder() / f"{name}.pickle"
    key = f"{_parser_version()}\n{name}\n{is_package}\n{text}".encode("utf-8", "surrogatepass")
    try:
        digest, content = place.read_bytes().split(b"\n", 1)
    except (OSError, ValueError):
        digest, content = b"", b""
    # The digest covers the text and the stored bytes, so that neither an outdated nor a damaged file is
    # loaded.
    if digest == _digest(key, content):
        found: Source = pickle.loads(content)
        return found
    source = Source.parsed(name, text, is_package=is_package)
    content = pickle.dumps(source)
    with suppress(OSError):
        write_atomic(place, _digest(key, content) + b"\n" + content)
    return source


def _digest(key: bytes, content: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(key).digest() + content).hexdigest().encode()


@cache
def _parser_version() -> str:
    code = Path(parser.__file__).read_bytes()
    return f"{sys.version}\n{hashlib.sha256(code).hexdigest()}"
