"""Writer of one run: rows stream to Parquet files in a hidden folder beside the run's folder.

The manifest is written last; then the folder is renamed, so that the run appears complete or not at all.
Memory stays at one row group per table, however long the run. The same rows give the same bytes.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError
from storm_lab.tuplelog.buffer import Column, TableFile
from storm_lab.tuplelog.manifest import MANIFEST_NAME, Manifest, RunIdentity, Status
from storm_lab.tuplelog.schema import tables_of

_PARTIAL = ".partial-"


class RunWriter:
    """Writes the tuple log of one run into ``folder``; use it as a context manager.

    >>> with RunWriter(folder, identity) as log:          # doctest: +SKIP
    ...     log.append("roots", {"root_id": ids, "topology": Coded(codes, names), ...})
    ...     manifest = log.finish(duration_ns=600_000_000_000)

    If the block is left without `finish`, by an error or by Ctrl-C, everything written is removed. A run
    that already exists in ``folder`` is replaced at the end. Raises `UserError` when the disk is full or the
    folder cannot be made.
    """

    def __init__(self, folder: Path, identity: RunIdentity) -> None:
        self.folder = folder
        self.identity = identity
        self._partial = folder.parent / f"{_PARTIAL}{folder.name}-{os.getpid()}"
        self._tables: dict[str, TableFile] = {}
        self._finished = False

    def __enter__(self) -> RunWriter:
        with _disk(self.folder):
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(self.folder)
            self._partial.mkdir()
        for name, schema in tables_of(self.identity.runtime).items():
            path = self._partial / f"{name}.parquet"
            self._tables[name] = TableFile(path, schema, self.identity.run_key)
        return self

    def append(self, table: str, columns: Mapping[str, Column]) -> None:
        """Add rows to a table: every column of its schema except ``run``, all of one length.

        Arrays are copied. Raises `KeyError` for an unknown table and `ValueError` for columns that do not fit
        the schema.
        """
        with _disk(self.folder):
            self._tables[table].append(columns)

    def finish(
        self,
        *,
        duration_ns: int,
        warm_up_ns: int = 0,
        status: Status = Status.COMPLETE,
        reason: str = "",
        conditions: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Close the tables, write the manifest, publish the run under its name and return the manifest."""
        if status is Status.STOPPED and not reason:
            raise ValueError("a stopped run needs a reason")
        with _disk(self.folder):
            facts = {}
            # One table is synced to disk while the next is encoded.
            with ThreadPoolExecutor(1) as disk:
                syncs = []
                for name, table in self._tables.items():
                    facts[name] = table.close()
                    syncs.append(disk.submit(table.sync))
                manifest = Manifest(
                    self.identity, duration_ns, warm_up_ns, status, reason, facts, dict(conditions or {})
                )
                with (self._partial / MANIFEST_NAME).open("w", encoding="utf-8") as text:
                    text.write(manifest.to_json())
                    text.flush()
                    os.fsync(text.fileno())
                for sync in syncs:
                    sync.result()
            self._publish()
        self._finished = True
        return manifest

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for table in self._tables.values():
            table.abandon()
        if not self._finished:
            shutil.rmtree(self._partial, ignore_errors=True)

    def _publish(self) -> None:
        stale = self.folder.parent / f"{_PARTIAL}{self.folder.name}-{os.getpid()}-replaced"
        while self._partial.exists():
            # Another process may remove or publish the same run between these lines.
            with suppress(FileNotFoundError):
                self.folder.rename(stale)
            try:
                self._partial.rename(self.folder)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            shutil.rmtree(stale, ignore_errors=True)
        directory = os.open(self.folder.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    """Turn a full disk or a folder without write permission into a `UserError`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            message = "no space left on the disk while the tuple log was written; nothing of the run was kept"
            remedy = "free some space, or sample the executions"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
            message = f"the run cannot be written ({os.strerror(error.errno)})"
            remedy = "choose a folder that you may write to"
        else:
            raise
        raise UserError(message, field="run folder", value=str(folder), remedy=remedy) from error


def remove_leftovers(folder: Path) -> bool:
    """Remove what killed processes left of this run; files of living processes stay.

    Returns whether anything remains.
    """
    # Not what belongs to a run whose name begins with this one's and a hyphen.
    own = re.compile(re.escape(f"{_PARTIAL}{folder.name}-") + r"(\d+)(-replaced)?")
    remaining = False
    for path in folder.parent.glob(f"{_PARTIAL}*"):
        if leftover := own.fullmatch(path.name):
            if int(leftover[1]) == os.getpid() or not _alive(int(leftover[1])):
                shutil.rmtree(path, ignore_errors=True)
            remaining |= path.exists()
    return remaining


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
