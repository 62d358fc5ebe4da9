"""Reader of runs: a folder either holds a complete run of this schema or is refused with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from storm_lab.errors import UserError
from storm_lab.tuplelog.manifest import MANIFEST_NAME, Manifest, TableFacts, file_sha256, schema_version_of
from storm_lab.tuplelog.schema import SCHEMA_VERSION, TABLES, tables_of


class Problem(StrEnum):
    """Why a folder cannot be read as a run."""

    INCOMPLETE = "incomplete"
    FOREIGN_SCHEMA = "foreign schema"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    DUPLICATED = "duplicated"


class RunRefused(UserError):
    """Raised for a folder that cannot be read as a run; ``folder`` and ``problem`` say which and why."""

    def __init__(self, folder: Path, problem: Problem, detail: str) -> None:
        self.folder = folder
        self.problem = problem
        self.detail = detail
        # Advise to delete a folder only if it holds a run.
        remedy = "give the folder of a run, or run the experiment again"
        with suppress(OSError, ValueError):
            if (folder / MANIFEST_NAME).exists():
                remedy = "delete the folder and run the experiment again"
        super().__init__(f"{problem} run ({detail})", field="run folder", value=str(folder), remedy=remedy)

    def __reduce__(self) -> tuple[object, ...]:
        return RunRefused, (self.folder, self.problem, self.detail)


@dataclass(frozen=True, slots=True)
class Run:
    """A complete run on disk, checked when it was opened."""

    folder: Path
    manifest: Manifest

    @property
    def run(self) -> str:
        """The run's name: sixteen hexadecimal digits."""
        return self.manifest.run

    @property
    def rows(self) -> int:
        """Number of rows of all tables together, according to the manifest."""
        return sum(facts.rows for facts in self.manifest.tables.values())

    def path(self, table: str) -> Path:
        """Return the file of a table; raise `KeyError` for an unknown table."""
        if table not in TABLES:
            raise KeyError(f"no table {table} in a tuple log; there are {', '.join(TABLES)}")
        return self.folder / f"{table}.parquet"

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Read a table; meant for the short ones (nodes, placements, control, traffic, cpu, counts)."""
        return pq.read_table(self.path(name), columns=None if columns is None else list(columns))

    def names(self, table: str, column: str) -> set[str]:
        """Return the distinct names in a column of a short table."""
        return set(pq.ParquetFile(self.path(table)).read([column])[column].unique().to_pylist())


def open_run(folder: Path | str, *, verify: bool = False) -> Run:
    """Check a run folder and return its run.

    The manifest, its schema version, and the presence, size, columns, row count and ownership of every table
    are checked. With ``verify``, the SHA-256 of every file is checked as well, which reads all files. Raises
    `RunRefused` if a check fails, and `UserError` if ``folder`` is not a path.
    """
    if not isinstance(folder, str | os.PathLike):
        raise UserError(
            "is not a folder", field="run folder", value=folder, remedy="give the folder of a run"
        )
    folder = Path(folder)
    manifest = _manifest(folder)
    strangers = sorted({path.stem for path in folder.glob("*.parquet")} - TABLES.keys())
    if strangers:
        detail = f"{strangers[0]}.parquet is not a table of a run; perhaps it is a copy of one"
        raise RunRefused(folder, Problem.DUPLICATED, detail)
    if manifest.tables.keys() != TABLES.keys():
        raise RunRefused(folder, Problem.FOREIGN_SCHEMA, "the manifest lists other tables")
    schemas = tables_of(manifest.identity.runtime)
    for name, facts in manifest.tables.items():
        _check_table(folder, name, schemas[name], facts, manifest.identity.run_key)
        if verify and file_sha256(folder / f"{name}.parquet") != facts.sha256:
            raise RunRefused(folder, Problem.TRUNCATED, f"{name}.parquet was changed after it was written")
    # A run of the control plane alone has decisions but no tuples.
    if not any(manifest.tables[name].rows for name in ("roots", "executions", "counts", "control")):
        raise RunRefused(folder, Problem.EMPTY, "nothing happens in it")
    return Run(folder, manifest)


def find_runs(root: Path, *, verify: bool = False) -> tuple[list[Run], list[RunRefused]]:
    """Return all runs under ``root``, and the folders that were refused, as `open_runs` does.

    The layout is ``root/<experiment>/<run>/``. Hidden folders hold runs that are being written and are
    skipped.
    """
    return open_runs((path for path in root.glob("[!.]*/[!.]*") if path.is_dir()), verify=verify)


def open_runs(folders: Iterable[Path], *, verify: bool = False) -> tuple[list[Run], list[RunRefused]]:
    """Return the runs in ``folders``, opened as by `open_run`, and the refused ones, both in path order.

    If several folders hold the same run, the one that has the run's name is kept, otherwise the first. The
    others are refused as duplicated.
    """
    runs: list[Run] = []
    refused: list[RunRefused] = []
    for folder in set(folders):
        try:
            runs.append(open_run(folder, verify=verify))
        except RunRefused as refusal:
            refused.append(refusal)
    kept: dict[str, Run] = {}
    for run in sorted(runs, key=lambda run: (run.folder.name != run.run, run.folder)):
        first = kept.setdefault(run.run, run)
        if first is not run:
            detail = f"the same run is in {first.folder.name}"
            refused.append(RunRefused(run.folder, Problem.DUPLICATED, detail))
    return sorted(kept.values(), key=lambda run: run.folder), sorted(refused, key=lambda each: each.folder)


def _manifest(folder: Path) -> Manifest:
    try:
        text = (folder / MANIFEST_NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        what = "it has no manifest" if folder.is_dir() else "there is no such folder"
        raise RunRefused(folder, Problem.INCOMPLETE, what) from None
    except (OSError, ValueError) as error:
        raise RunRefused(folder, Problem.INCOMPLETE, f"its manifest cannot be read: {error}") from error
    version = schema_version_of(text)
    if version is not None and version != SCHEMA_VERSION:
        detail = f"it has schema version {version}, this program reads {SCHEMA_VERSION}"
        raise RunRefused(folder, Problem.FOREIGN_SCHEMA, detail)
    try:
        return Manifest.from_json(text)
    except ValueError as error:
        raise RunRefused(folder, Problem.INCOMPLETE, f"its manifest is broken: {error}") from error


def _check_table(folder: Path, name: str, own: pa.Schema, facts: TableFacts, run_key: int) -> None:
    path = folder / f"{name}.parquet"

    def refusal(problem: Problem, detail: str) -> RunRefused:
        return RunRefused(folder, problem, f"{path.name} {detail}")

    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise refusal(Problem.INCOMPLETE, "is missing") from None
    if size == 0:
        raise refusal(Problem.EMPTY, "is empty")
    if size != facts.bytes:
        raise refusal(Problem.TRUNCATED, f"has {size} bytes, not {facts.bytes}")
    try:
        footer = pq.read_metadata(path)
        schema = footer.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise refusal(Problem.TRUNCATED, "is not a readable Parquet file") from error
    if not schema.equals(own, check_metadata=False):
        raise refusal(Problem.FOREIGN_SCHEMA, f"has other columns: {_difference(schema, own)}")
    if footer.num_rows != facts.rows:
        raise refusal(Problem.TRUNCATED, f"has {footer.num_rows} rows, not {facts.rows}")
    column = schema.get_field_index("run")
    for group in range(footer.num_row_groups):
        bounds = footer.row_group(group).column(column).statistics
        if bounds is None or bounds.min != run_key or bounds.max != run_key:
            raise refusal(Problem.DUPLICATED, "belongs to another run")


def _difference(schema: pa.Schema, own: pa.Schema) -> str:
    ours, theirs = (
        {(field.name, str(field.type), field.nullable) for field in columns} for columns in (own, schema)
    )
    names = sorted({name for name, _, _ in ours ^ theirs})
    return ", ".join(names) if names else "their order"
