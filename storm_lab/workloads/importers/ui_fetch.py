"""Pages of Storm's UI fetched over HTTP: only when a URL was given in place of files."""

from __future__ import annotations

import urllib.request
from http.client import HTTPException
from urllib.parse import quote, unquote, urlsplit

from storm_lab.errors import UserError
from storm_lab.workloads.importers.documents import LARGEST_FILE, Part, json_part
from storm_lab.workloads.importers.place import Notes, Place
from storm_lab.workloads.importers.scalars import a_text

TIMEOUT_S = 10.0
MOST_PAGES = 500


def is_url(text: str) -> bool:
    """Whether a source is to be fetched."""
    return text.startswith(("http://", "https://"))


def fetch_pages(url: str, notes: Notes) -> list[Part]:
    """The pages of the topology that a URL names, or of the only one that the UI behind it has.

    Raises:
        UserError: the UI cannot be reached, or has no such topology or several.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise _unfetched(url, error) from None
    before, _, after = parts.path.partition("/api/v1/")
    base = f"{parts.scheme}://{parts.netloc}{before.rstrip('/')}/api/v1"
    words = after.split("/")
    named = words[0] == "topology" and len(words) > 1 and words[1] not in ("", "summary")
    identity = unquote(words[1]) if named else _only_topology(base)
    topology = _fetch(f"{base}/topology/{quote(identity, safe='')}")
    pages = [topology]
    names = [
        a_text(item.get(key)) or ""
        for section, key in (("spouts", "spoutId"), ("bolts", "boltId"))
        for item in topology.under(section)
    ]
    rest = [f"topology/{quote(identity, safe='')}/component/{quote(name, safe='')}" for name in names if name]
    rest += [f"topology/{quote(identity, safe='')}/visualization", "cluster/summary", "supervisor/summary"]
    for page in rest[:MOST_PAGES]:
        try:
            pages.append(_fetch(f"{base}/{page}"))
        except UserError as error:
            notes.cannot_use(Place(f"{base}/{page}"), "this page", error.message)
    return pages


def _only_topology(base: str) -> str:
    found = [a_text(item.get("id")) or "" for item in _fetch(f"{base}/topology/summary").under("topologies")]
    if len(found) != 1:
        raise UserError(
            f"the UI has {len(found)} topologies",
            field="url",
            value=base,
            remedy="add /topology/ID, with one of: " + (", ".join(found[:20]) or "none"),
        )
    return found[0]


def _fetch(url: str) -> Part:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            data = answer.read(LARGEST_FILE + 1)
    except (OSError, ValueError, HTTPException) as error:
        raise _unfetched(url, error) from None
    if len(data) > LARGEST_FILE:
        raise UserError("the page is too large", field="url", value=url)
    return json_part(data.decode("utf-8", "replace"), url)


def _unfetched(url: str, error: Exception) -> UserError:
    reason = getattr(error, "reason", None) or error
    message = f"the page cannot be fetched ({reason})"
    return UserError(message, field="url", value=url, remedy="save it, and give the file")
