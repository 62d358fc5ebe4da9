"""Digests of what runs and notebooks depend on: nothing is played twice, and nothing stale is reused."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import ParameterValue
from storm_lab.machine.places import PACKAGE, project_root
from storm_lab.tuplelog import RunIdentity, Scalar

EMULATION_ROOMS = (
    "model",
    "schedulers",
    "tuplelog",
    "workloads",
    "emulator",
    "monitoring",
    "experiments/experiment.py",
    "experiments/parameter.py",
)
"""Parts of the package that can change what an emulation writes; the paper's own package comes on top."""

CONCLUSION_ROOMS = ("experiments", "papers", "league", "pipeline", "reporting", "runs", "machine")
"""Parts that can change what a notebook makes of given runs."""

_LIBRARIES = ("numpy", "numba", "pyarrow", "pandas", "pyspark", "scipy", "networkx", "seaborn", "matplotlib")


def identity_of(spec: RunSpec) -> RunIdentity:
    """What names the run on disk."""
    return RunIdentity(
        experiment=spec.experiment,
        variant=spec.variant,
        parameters={name: scalar(value) for name, value in spec.parameters.items()},
        seed=spec.seed,
        storm_version=str(spec.storm_version),
        code_digest=emulation_digest(spec),
        lock_digest=lock_digest(),
        inputs=dict(spec.inputs),
        sample_every=spec.sample_every,
    )


def scalar(value: ParameterValue) -> Scalar:
    """A parameter value as one JSON scalar; lists become text."""
    if isinstance(value, tuple):
        return ",".join(f"{item:g}" if isinstance(item, float) else str(item) for item in value)
    return value


@cache
def code_digest(*rooms: str) -> str:
    """SHA-256 over names and bytes of the files in the package's ``rooms`` (folders or files)."""
    digest = hashlib.sha256()
    for path in sorted({path for room in rooms for path in _files(PACKAGE / room)}):
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@cache
def lock_digest() -> str:
    """SHA-256 of the lock of exact versions; of the installed versions where the package has no checkout."""
    lock = project_root() / "requirements.lock"
    if lock.is_file():
        return hashlib.sha256(lock.read_bytes()).hexdigest()
    versions = "\n".join(f"{name}=={_version(name)}" for name in _LIBRARIES)
    return hashlib.sha256(versions.encode()).hexdigest()


def text_digest(*texts: str) -> str:
    """SHA-256 over texts, with their borders."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def emulation_digest(spec: RunSpec) -> str:
    """Digest of all code that can change what the run writes, wherever the run's own function stands."""
    parts = spec.describe.__module__.split(".")
    if parts[:2] == ["storm_lab", "papers"]:
        own = "/".join(parts[1:-1]) if len(parts) > 3 else "/".join(parts[1:]) + ".py"
        return code_digest(*EMULATION_ROOMS, own)
    file = getattr(sys.modules.get(spec.describe.__module__), "__file__", None)
    own = Path(file).read_text(encoding="utf-8") if file else ""
    return text_digest(code_digest(*EMULATION_ROOMS), own)


def _files(room: Path) -> list[Path]:
    if room.is_file():
        return [room]
    return [
        path
        for path in room.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".pyc", ".nbi", ".nbc")
    ]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"
