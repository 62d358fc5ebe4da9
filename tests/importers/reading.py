"""Helpers that import texts in tests."""

from __future__ import annotations

from pathlib import Path

from storm_lab.workloads.importers.imported import Imported, Playable
from storm_lab.workloads.importers.importing import import_topology


def import_text(folder: Path, text: str, name: str = "topology.yaml", **options: object) -> Imported:
    """Write a text to a file and import it."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return import_topology(path, **options)  # type: ignore[arg-type]


def overlay_of(folder: Path, text: str, name: str = "overlay.yaml") -> Path:
    """Write an overlay file."""
    path = folder / name
    path.write_text(f"storm_lab: overlay/1\n{text}", encoding="utf-8")
    return path


def unusable_text(imported: Imported) -> str:
    """Return all that an import reports as unusable, one item per line."""
    return "\n".join(str(item) for item in imported.unusable)


def assumptions(imported: Imported) -> set[tuple[str, str]]:
    """Return the assumed figures, each with its component."""
    return {(item.component, item.what) for item in imported.assumed}


def ready(imported: Imported) -> Playable:
    """Return the playable topology; fail with what is missing if there is none."""
    assert imported.playable is not None, unusable_text(imported)
    return imported.playable


def executions(playable: Playable) -> dict[str, int]:
    """Return how often each component is called in the trace."""
    trace = playable.trace()
    counts = dict.fromkeys((c.id for c in playable.topology.components), 0)
    for spout, records in trace.sources.items():
        counts[spout] += len(records)
    heard: dict[tuple[str, str], list[str]] = {}
    for component in playable.topology.components:
        for item in component.inputs:
            heard.setdefault((item.source, item.stream), []).append(component.id)
    for stream in trace.emissions["stream"]:
        for bolt in heard.get(trace.streams[stream], ()):
            counts[bolt] += 1
    return counts
