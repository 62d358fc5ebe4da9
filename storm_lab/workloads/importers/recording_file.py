"""Recorded calls and given records in a file beside a topology's YAML, so that no code has to run again.

Compressed JSON. What is read from it is bounded and checked like any other file from outside.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError
from storm_lab.workloads.importers.calls import RecordedCall, RecordedCalls, RecordedEmit

KIND = "recording/1"
LARGEST = 512 * 1024 * 1024
"""Bytes of it, unpacked."""

Given = Mapping[str, tuple[tuple[object, ...], ...]]


def recording_bytes(calls: RecordedCalls | None, given: Given) -> bytes:
    """The file's content: the same for the same calls, on every machine and day."""
    content: dict[str, Any] = {"storm_lab": KIND, "given": {name: list(rows) for name, rows in given.items()}}
    if calls is not None:
        content["spouts"] = {name: [_call(c) for c in items] for name, items in calls.spouts.items()}
        content["bolts"] = {name: [_call(c) for c in items] for name, items in calls.bolts.items()}
        content["ticks"] = {name: _call(item) for name, item in calls.ticks.items()}
    text = json.dumps(content, separators=(",", ":"))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(text.encode())
    return packed.getvalue()


def read_recording(path: Path) -> tuple[RecordedCalls | None, dict[str, tuple[tuple[object, ...], ...]]]:
    """What a recording holds: calls, if there are any, and given records by spout.

    Raises:
        UserError: it cannot be read, is too large or is no recording.
    """

    def refusal(message: str) -> UserError:
        return UserError(message, field="recording", value=str(path), remedy="export the topology anew")

    try:
        with gzip.open(path) as file:
            data = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise refusal(f"cannot be read ({error})") from None
    if len(data) > LARGEST:
        raise refusal(f"unpacks to more than {LARGEST // 2**20} MiB")
    try:
        content = json.loads(data)
        if not isinstance(content, dict) or content.get("storm_lab") != KIND:
            raise refusal("is no recording of storm-lab")
        given = {str(k): tuple(tuple(row) for row in rows) for k, rows in content["given"].items()}
        if "spouts" not in content:
            return None, given
        calls = RecordedCalls(
            spouts={str(k): tuple(map(_read_call, v)) for k, v in content["spouts"].items()},
            bolts={str(k): tuple(map(_read_call, v)) for k, v in content["bolts"].items()},
            ticks={str(k): _read_call(v) for k, v in content["ticks"].items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise refusal("is damaged") from None
    return calls, given


def _call(call: RecordedCall) -> list[Any]:
    emits = [[e.stream, list(e.values), e.size, e.task] for e in call.emits]
    return [emits, None if call.source is None else list(call.source), int(call.failed)]


def _read_call(row: Any) -> RecordedCall:
    emits, source, failed = row
    return RecordedCall(
        emits=tuple(_read_emit(item) for item in emits),
        source=None if source is None else (str(source[0]), str(source[1])),
        failed=bool(failed),
    )


def _read_emit(item: Any) -> RecordedEmit:
    stream, values, size, task = item
    return RecordedEmit(str(stream), tuple(values), int(size), None if task is None else int(task))
