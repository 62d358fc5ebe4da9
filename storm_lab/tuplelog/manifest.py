"""The manifest of a run: what was run, how the run ended, and size and digest of each of its files.

It holds no wall-clock time, host or path, so that two runs with the same identity have the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from storm_lab.tuplelog.schema import EMULATOR, RUNTIMES, SCHEMA_VERSION

MANIFEST_NAME = "manifest.json"

Scalar = str | int | float | bool | None

# A list without lists or objects in it. Within a text a line break is written as two other characters.
_LIST = re.compile(r"\[\n([^\[\]{}]*)\n *\]")


class Status(StrEnum):
    """How a run ended."""

    COMPLETE = "complete"
    STOPPED = "stopped"
    """A stated limit ended the run before its planned duration; ``Manifest.reason`` names it."""


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """All that determines a run's bytes. Two runs of equal identity are the same run.

    ``parameters`` are JSON scalars by name. ``inputs`` maps the name of each input file or trace to its
    digest. ``sample_every`` = k means that the executions of one root tuple in k are logged; every other
    table is complete. ``runtime`` says what played the run: the emulator, or real Storm (``live``), which
    plays the same run a little differently each time. Raises `ValueError` if a parameter is not a finite JSON
    scalar, ``sample_every`` is below 1, or the runtime is unknown.
    """

    experiment: str
    variant: str
    parameters: Mapping[str, Scalar]
    seed: int
    storm_version: str
    code_digest: str
    lock_digest: str
    inputs: Mapping[str, str]
    sample_every: int = 1
    schema_version: int = SCHEMA_VERSION
    runtime: str = EMULATOR

    def __post_init__(self) -> None:
        if self.runtime not in RUNTIMES:
            raise ValueError(f"runtime {self.runtime!r}: there are {', '.join(RUNTIMES)}")
        if self.sample_every < 1:
            raise ValueError(f"sample_every = {self.sample_every}: must be 1 or more")
        for name, value in self.parameters.items():
            if not isinstance(value, str | int | float | bool | None):
                raise ValueError(f"parameter {name} = {value!r}: not a JSON scalar")
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"parameter {name} = {value!r}: not a finite number")

    @property
    def run(self) -> str:
        """Sixteen hexadecimal digits that name the run and, by convention, its folder."""
        return checksum_of(self._fields())[:16]

    @property
    def run_key(self) -> int:
        """The same 64 bits as a signed integer: the ``run`` column of every table."""
        key = int(self.run, 16)
        return key - (1 << 64) if key >> 63 else key

    def _fields(self) -> dict[str, Any]:
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.runtime == EMULATOR:
            del found["runtime"]
        return found | {"parameters": dict(self.parameters), "inputs": dict(self.inputs)}


@dataclass(frozen=True, slots=True)
class TableFacts:
    """Facts by which one table's file is checked: rows, bytes and SHA-256 of the file."""

    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Identity of a run, its outcome, and the facts of its files by table name.

    ``duration_ns`` is the time from the start of the run to its end (virtual time, except in live runs).
    ``warm_up_ns`` is the leading part that steady-state figures leave out. ``conditions`` describes where a
    live run was played: versions, machine, quotas, and the machine's load during the run.
    """

    identity: RunIdentity
    duration_ns: int
    warm_up_ns: int
    status: Status
    reason: str
    tables: Mapping[str, TableFacts]
    conditions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def run(self) -> str:
        """Name of the run."""
        return self.identity.run

    def to_json(self) -> str:
        """Return the text of ``manifest.json``: sorted keys, a line for each list, a newline at the end."""
        document = self.identity._fields() | {
            "run": self.run,
            "duration_ns": self.duration_ns,
            "warm_up_ns": self.warm_up_ns,
            "status": str(self.status),
            "reason": self.reason,
            "tables": {name: asdict(facts) for name, facts in self.tables.items()},
        }
        if self.conditions:
            document["conditions"] = dict(self.conditions)
        document["checksum"] = checksum_of(document)
        text = json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        return _LIST.sub(_on_one_line, text) + "\n"

    @staticmethod
    def from_json(text: str) -> Manifest:
        """Parse the output of `to_json`; raise `ValueError` with the fault if ``text`` is not a manifest."""
        try:
            document = dict(json.loads(text))
            checksum = document.pop("checksum")
            texts = ("experiment", "variant", "storm_version", "code_digest", "lock_digest")
            named: dict[str, Any] = {name: _text(document, name) for name in texts}
            named |= {name: int(document[name]) for name in ("seed", "sample_every", "schema_version")}
            identity = RunIdentity(
                **named,
                parameters=dict(document["parameters"]),
                inputs={str(name): str(digest) for name, digest in document["inputs"].items()},
                runtime=str(document.get("runtime", EMULATOR)),
            )
            manifest = Manifest(
                identity=identity,
                duration_ns=int(document["duration_ns"]),
                warm_up_ns=int(document["warm_up_ns"]),
                status=Status(document["status"]),
                reason=_text(document, "reason"),
                tables={
                    str(name): TableFacts(int(facts["rows"]), int(facts["bytes"]), str(facts["sha256"]))
                    for name, facts in document["tables"].items()
                },
                conditions=dict(document.get("conditions", {})),
            )
        except KeyError as error:
            raise ValueError(f"field {error} is missing") from error
        except (TypeError, AttributeError) as error:
            raise ValueError(f"a field has the wrong type ({error})") from error
        if document.get("run") != manifest.run:
            raise ValueError("the run's name does not follow from its fields")
        if checksum != checksum_of(document):
            raise ValueError("its checksum does not follow from its fields")
        return manifest


def _on_one_line(matched: re.Match[str]) -> str:
    return "[" + ", ".join(line.strip() for line in matched[1].split(",\n")) + "]"


def checksum_of(fields: Mapping[str, Any]) -> str:
    """Return the SHA-256 of fields as the unique JSON text of them; `ValueError` on NaN and infinities."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def schema_version_of(text: str) -> int | None:
    """Return the schema version that a manifest names, whatever else it holds; None if it names none."""
    try:
        version = json.loads(text)["schema_version"]
    except (ValueError, KeyError, TypeError):
        return None
    return version if isinstance(version, int) else None


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is not a text")
    return value
