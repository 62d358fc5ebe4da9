"""What takes the rows of a run, and a table's Parquet file, written one full row group at a time.

Names are held as int32 codes throughout. A Python string is handled once per distinct name, never per row.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from storm_lab.tuplelog.manifest import TableFacts, file_sha256

ROW_GROUP_ROWS = 1 << 20
"""Rows of a full row group. Part of the format: it makes the bytes independent of how rows are appended."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of names as codes: ``names[codes[i]]`` is the name in row i."""

    codes: NDArray[np.integer]
    names: Sequence[str]


Column = NDArray[np.generic] | Coded | Sequence[str]
"""What a caller may pass: numbers as an array; names as `Coded` or, if they are few, a list of strings."""


class Recorder(Protocol):
    """Takes rows of the tuple log's tables, as `storm_lab.tuplelog.writer.RunWriter` does."""

    def append(self, table: str, columns: Mapping[str, Any]) -> None:
        """Add rows: every column of the table's schema except ``run``."""


class TableFile:
    """The file of one table, opened with the first row group, and the rows that do not fill one yet.

    In nullable columns (all of them times or durations), a negative number stands for null.
    """

    def __init__(self, path: Path, schema: pa.Schema, run_key: int) -> None:
        self._path = path
        self._table = path.stem
        self._schema = schema
        self._run_key = run_key
        self._held = self._written = 0
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in schema.names if name != "run"}
        self._codes: dict[str, dict[str, int]] = {
            field.name: {} for field in schema if pa.types.is_dictionary(field.type)
        }

    @cached_property
    def _parquet(self) -> pq.ParquetWriter:
        integers = [field.name for field in self._schema if pa.types.is_integer(field.type)]
        return pq.ParquetWriter(
            self._path,
            self._schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[field.name for field in self._schema if not pa.types.is_primitive(field.type)],
            column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
            write_statistics=integers,
        )

    def append(self, columns: Mapping[str, Column]) -> None:
        """Add a copy of some rows; `ValueError` for missing, unknown or ill-fitting columns."""
        if columns.keys() != self._parts.keys():
            wrong = sorted(columns.keys() ^ self._parts.keys())
            raise ValueError(f"table {self._table}: columns missing or unknown: {', '.join(wrong)}")
        copied = {name: self._copied(self._schema.field(name), columns[name]) for name in self._parts}
        lengths = {len(values) for values in copied.values()}
        if len(lengths) != 1:
            raise ValueError(f"table {self._table}: columns differ in length: {sorted(lengths)}")
        rows = lengths.pop()
        done = 0
        while done < rows:
            step = min(rows - done, ROW_GROUP_ROWS - self._held)
            for name, values in copied.items():
                self._parts[name].append(values[done : done + step])
            self._held += step
            done += step
            if self._held == ROW_GROUP_ROWS:
                self._write_row_group()

    def close(self) -> TableFacts:
        """Write the rows held, close the file and return its facts."""
        if self._held:
            self._write_row_group()
        self._parquet.close()
        return TableFacts(self._written, self._path.stat().st_size, file_sha256(self._path))

    def sync(self) -> None:
        """Sync a closed file to disk."""
        with self._path.open("rb") as file:
            os.fsync(file.fileno())

    def abandon(self) -> None:
        """Close the file in whatever state it is."""
        if "_parquet" in vars(self):
            # Nothing is kept, so it does not matter if the last bytes do not fit on a full disk.
            with suppress(OSError):
                self._parquet.close()

    def _write_row_group(self) -> None:
        batch = pa.Table.from_arrays([*map(self._array, self._schema)], schema=self._schema)
        self._parquet.write_table(batch, row_group_size=self._held)
        self._written += self._held
        self._held = 0

    def _array(self, field: pa.Field) -> pa.Array:
        """Take the values of one column out of the buffer."""
        if field.name == "run":
            return pa.array(np.full(self._held, self._run_key, np.int64))
        values = np.concatenate(self._parts[field.name])
        self._parts[field.name].clear()
        if field.name in self._codes:
            return self._names(list(self._codes[field.name]), values)
        return pa.array(values, field.type, mask=np.less(values, 0) if field.nullable else None)

    def _names(self, all_names: Sequence[str], codes: NDArray[Any]) -> pa.DictionaryArray:
        """Encode only the names of this row group, sorted: the bytes must not depend on their first use."""
        used = np.flatnonzero(np.bincount(codes, minlength=len(all_names)))
        ranked = sorted(used.tolist(), key=all_names.__getitem__)
        rank = np.zeros(len(all_names), np.int32)
        rank[ranked] = np.arange(len(ranked), dtype=np.int32)
        names = pa.array([all_names[code] for code in ranked], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(rank[codes]), names)

    def _copied(self, field: pa.Field, column: Column) -> NDArray[Any]:
        """Check a column and copy it: numbers in their final type, texts as objects, names as codes."""
        if field.name in self._codes:
            return self._recoded(field.name, column)
        if pa.types.is_string(field.type):
            return np.array(self._plain(field.name, column), object)
        return self._number(field.name, column, np.dtype(field.type.to_pandas_dtype()))

    def _recoded(self, name: str, column: Column) -> NDArray[np.int32]:
        known = self._codes[name]
        if not isinstance(column, Coded):
            texts = self._plain(name, column)
            return np.array([known.setdefault(text, len(known)) for text in texts], np.int32)
        codes = np.asarray(column.codes)
        if codes.dtype.kind not in "iu":
            raise ValueError(f"table {self._table}: column {name}: codes must be integers, not {codes.dtype}")
        if len(codes) and not (int(codes.min()) >= 0 and int(codes.max()) < len(column.names)):
            raise ValueError(f"table {self._table}: column {name}: a code without a name")
        own = np.array([known.setdefault(text, len(known)) for text in column.names], np.int32)
        return own[codes] if len(codes) else np.empty(0, np.int32)

    def _plain(self, name: str, column: Column) -> Sequence[str]:
        if isinstance(column, Coded | np.ndarray | str) or not all(isinstance(text, str) for text in column):
            raise ValueError(f"table {self._table}: column {name}: must be a list of strings")
        return column

    def _number(self, name: str, column: Column, target: np.dtype[Any]) -> NDArray[Any]:
        values = np.asarray(column)
        if len(values) == 0:
            return np.empty(0, target)
        if values.dtype.kind not in "iufb" or (target.kind == "i" and values.dtype.kind == "f"):
            raise ValueError(f"table {self._table}: column {name}: {values.dtype} is not {target}")
        if target.kind == "i" and not np.can_cast(values.dtype, target):
            limits = np.iinfo(target.name)
            if int(values.min()) < limits.min or int(values.max()) > limits.max:
                raise ValueError(f"table {self._table}: column {name}: a value does not fit {target}")
        return values.astype(target)
