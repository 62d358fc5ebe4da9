"""Store the metric tables of a run as files, so that they need not be computed again.

Each run has one archive with a checksum for each table: the tables replace a computation, so a changed byte
must be noticed.
"""

from __future__ import annotations

import hashlib
import shutil
import zlib
from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

import pyarrow as pa

from storm_lab.identity.closure import own_code
from storm_lab.machine.atomic_file import atomic_file
from storm_lab.tuplelog.reader import Run

TABLES_FILE = "tables.zip"
"""The tables of a run, one Arrow stream each; as separate files they would take a hundred times as long."""

_LARGE_BYTES = 32_768
"""Size from which a table is compressed. Compressing a smaller one takes longer than its input and output."""

_COMPUTED_BY = ("storm_lab.pipeline.batches", "computed_in_batches")
"""The function that turns logs into tables; all code that it uses counts too."""

_UNREADABLE = (OSError, EOFError, ValueError, RuntimeError, BadZipFile, zlib.error, pa.ArrowException)
"""What reading a damaged archive may raise. `ZipFile` calls a changed flag an encrypted file, for example."""

_SMALL = pa.ipc.IpcWriteOptions()
_LARGE = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)


def metrics_folder(run: Run, home: Path | None) -> Path:
    """Return the folder of a run's stored metrics, named after the run's files and the code that reads them.

    ``home`` is the folder of all metrics; the default is ``metrics`` beside the folder of all runs.
    """
    # Links are not followed: an experiment's folder of runs may be on another disk.
    home = home or run.folder.absolute().parents[:3][-1] / "metrics"
    digest = hashlib.sha256(f"{code_digest()}\n{run.manifest.to_json()}".encode())
    return home / f"{run.run}-{digest.hexdigest()[:16]}"


@cache
def code_digest() -> str:
    """Return a digest of what the metrics depend on besides the log: PySpark and the code that uses it."""
    used = own_code().closure([_COMPUTED_BY]).digest
    return hashlib.sha256(f"{version('pyspark')}\n{used}".encode()).hexdigest()


def store_tables(folder: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write a run's metrics, beside those stored before; if the folder is not writable, do nothing."""
    streams = {name: _stream(table) for name, table in {**load_tables(folder), **tables}.items()}
    try:
        with atomic_file(folder / TABLES_FILE) as partial, ZipFile(partial, "w") as archive:
            for name, stream in streams.items():
                archive.writestr(ZipInfo(name), stream)
        # Metrics that older code stored for this run are no longer of use.
        for older in folder.parent.glob(f"{folder.name.partition('-')[0]}-*"):
            if older != folder:
                shutil.rmtree(older, ignore_errors=True)
    except OSError:
        pass


def _stream(table: pa.Table) -> bytes:
    content = pa.BufferOutputStream()
    options = _LARGE if table.nbytes >= _LARGE_BYTES else _SMALL
    with pa.ipc.new_stream(content, table.schema, options=options) as stream:
        stream.write_table(table)
    return bytes(content.getvalue())


def stored_names(folder: Path) -> Collection[str]:
    """Return the names of the stored tables; `load_tables` finds out whether they can be read."""
    try:
        with ZipFile(folder / TABLES_FILE) as archive:
            return tuple(archive.namelist())
    except _UNREADABLE:
        return ()


def load_tables(folder: Path, names: Collection[str] | None = None) -> dict[str, pa.Table]:
    """Return a run's stored metrics, all or those in ``names``; delete a damaged archive and return none."""
    try:
        with ZipFile(folder / TABLES_FILE) as archive:
            wanted = archive.namelist() if names is None else [n for n in archive.namelist() if n in names]
            return {name: pa.ipc.open_stream(archive.read(name)).read_all() for name in wanted}
    except FileNotFoundError:
        return {}
    except _UNREADABLE:
        shutil.rmtree(folder, ignore_errors=True)
        return {}
