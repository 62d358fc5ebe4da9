"""Digests of everything that a run depends on, so that no run is played twice and no stale run is reused.

A run is identified by its description as plain data and by all code that the describing function and the
player use (`storm_lab.identity`). The way in which a claim is measured does not change its name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import ParameterValue, number_text
from storm_lab.identity.closure import own_code
from storm_lab.identity.value import value_digest
from storm_lab.machine.facts import installed_version
from storm_lab.machine.places import checkout
from storm_lab.papers.registry import place_of
from storm_lab.runs.play import play_description
from storm_lab.tuplelog import RunIdentity, RunWriter, Scalar
from storm_lab.tuplelog.manifest import file_sha256

PLAYING = ("numpy", "numba", "llvmlite", "pyarrow", "pandas", "scipy", "networkx", "ortools")
"""Libraries whose code can change what a run writes."""
SHOWING = (*PLAYING, "pyspark", "seaborn", "matplotlib", "ipykernel", "ipython", "nbformat")
"""Libraries whose code can change what a notebook shows."""


def identity_of(spec: RunSpec) -> RunIdentity:
    """Identity that names the run on disk."""
    return RunIdentity(
        experiment=spec.experiment,
        variant=spec.variant,
        parameters={name: scalar(value) for name, value in spec.parameters.items()},
        seed=spec.seed,
        storm_version=str(spec.storm_version),
        code_digest=emulation_digest(spec),
        lock_digest=library_digest(PLAYING),
        inputs=dict(spec.inputs),
        sample_every=spec.sample_every,
    )


def scalar(value: ParameterValue) -> Scalar:
    """Convert a parameter value to one JSON scalar; lists become text."""
    if isinstance(value, tuple):
        return ",".join(map(number_text, value))
    return value


@cache
def library_digest(libraries: tuple[str, ...]) -> str:
    """SHA-256 of the locked versions of some libraries; of the installed ones without a checkout."""
    root = checkout()
    if root is not None and (lock := root / "requirements.lock").is_file():
        return text_digest(*locked(lock.read_text(encoding="utf-8"), libraries))
    return text_digest(*(f"{name}=={installed_version(name) or 'none'}" for name in libraries))


def locked(lock: str, libraries: Iterable[str]) -> list[str]:
    """Lines of a lock file that pin the versions of some libraries."""
    names = set(libraries)
    return [line for line in lock.splitlines() if line.partition("==")[0].strip() in names]


def text_digest(*texts: str) -> str:
    """SHA-256 over texts and their boundaries."""
    parts = (text.encode("utf-8", "surrogatepass") for text in texts)
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).hexdigest()


def files_digest(place: Path) -> str:
    """SHA-256 over a file, or over the names and contents of all files in a folder."""
    files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
    names = (path.relative_to(place).as_posix() for path in files)
    return text_digest(*names, *map(file_sha256, files))


def emulation_digest(spec: RunSpec) -> str:
    """Digest of all code that can change what the run writes: code that describes, plays or logs it."""
    words = [value for value in spec.parameters.values() if isinstance(value, str)]
    return value_digest((spec.describe, play_description, RunSpec, RunWriter), words=words)


def experiment_digest(slug: str) -> str:
    """Digest of an experiment's code: its declaration, and how its runs are played and measured."""
    return own_code().closure([place_of(slug)]).digest
