"""Buffers of a table's rows: each fills a preallocated row group and hands it on when it is full.

Names are held as int32 codes throughout. A Python string is handled once per distinct name, never per row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

ROW_GROUP_ROWS = 1 << 20
"""Rows of a full row group. Part of the format: it makes the bytes independent of how rows are appended."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of names as codes: ``names[codes[i]]`` is the name in row i."""

    codes: NDArray[np.integer]
    names: Sequence[str]


Column = NDArray[np.generic] | Coded | Sequence[str]
"""What a caller may pass: numbers as an array; names as `Coded` or, if they are few, a list of strings."""


class TableBuffer:
    """Collects appended rows and calls ``flush(batch)`` with every full row group, in order.

    In nullable columns (all of them times or durations), a negative number stands for null. The buffer holds
    at most one row group.
    """

    def __init__(
        self, table: str, schema: pa.Schema, run_key: int, flush: Callable[[pa.Table], None]
    ) -> None:
        self._table = table
        self._schema = schema
        self._run_key = run_key
        self._flush = flush
        self._rows = 0
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in schema.names if name != "run"}
        self._codes: dict[str, dict[str, int]] = {
            field.name: {} for field in schema if pa.types.is_dictionary(field.type)
        }

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
            step = min(rows - done, ROW_GROUP_ROWS - self._rows)
            for name, values in copied.items():
                self._parts[name].append(values[done : done + step])
            self._rows += step
            done += step
            if self._rows == ROW_GROUP_ROWS:
                self.drain()

    def drain(self) -> None:
        """Flush the rows held, if any."""
        if self._rows:
            self._flush(pa.Table.from_arrays([*map(self._array, self._schema)], schema=self._schema))
            self._rows = 0

    def _array(self, field: pa.Field) -> pa.Array:
        """Take the values of one column out of the buffer."""
        if field.name == "run":
            return pa.array(np.full(self._rows, self._run_key, np.int64))
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
