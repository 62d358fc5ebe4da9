"""Buffers of a table's rows: each fills a preallocated row group and hands it on when it is full.

Names are held as int32 codes throughout. A Python string is handled once per distinct name, never per row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
"""Column types that a caller may pass: numbers as an array; names as `Coded` or, for short tables, as a list
of strings.
"""


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
        self._capacity = 0
        self._columns: dict[str, NDArray[np.generic]] = {}
        self._texts: dict[str, list[str]] = {}
        self._codes: dict[str, dict[str, int]] = {}
        for field in schema:
            if field.name == "run":
                continue
            if pa.types.is_string(field.type):
                self._texts[field.name] = []
            elif pa.types.is_dictionary(field.type):
                self._columns[field.name] = np.empty(0, np.int32)
                self._codes[field.name] = {}
            else:
                self._columns[field.name] = np.empty(0, field.type.to_pandas_dtype())

    def append(self, columns: Mapping[str, Column]) -> int:
        """Add rows and return their number; `ValueError` for missing, unknown or ill-fitting columns."""
        expected = self._columns.keys() | self._texts.keys()
        if columns.keys() != expected:
            wrong = sorted(columns.keys() ^ expected)
            raise ValueError(f"table {self._table}: columns missing or unknown: {', '.join(wrong)}")
        texts = {name: self._plain(name, columns[name]) for name in self._texts}
        numbers = {
            name: (self._recoded if name in self._codes else self._number)(name, columns[name])
            for name in self._columns
        }
        lengths = {len(values) for values in (*numbers.values(), *texts.values())}
        if len(lengths) != 1:
            raise ValueError(f"table {self._table}: columns differ in length: {sorted(lengths)}")
        rows = lengths.pop()
        done = 0
        while done < rows:
            step = min(rows - done, ROW_GROUP_ROWS - self._rows)
            self._reserve(self._rows + step)
            for name, values in numbers.items():
                self._columns[name][self._rows : self._rows + step] = values[done : done + step]
            for name, lines in texts.items():
                self._texts[name].extend(lines[done : done + step])
            self._rows += step
            done += step
            if self._rows == ROW_GROUP_ROWS:
                self.drain()
        return rows

    def drain(self) -> None:
        """Flush the rows held, if any."""
        if self._rows:
            self._flush(self._batch())
            self._rows = 0
            for lines in self._texts.values():
                lines.clear()

    def _reserve(self, rows: int) -> None:
        if rows <= self._capacity:
            return
        self._capacity = min(ROW_GROUP_ROWS, max(1024, 2 * self._capacity, rows))
        for name, values in self._columns.items():
            grown = np.empty(self._capacity, values.dtype)
            grown[: self._rows] = values[: self._rows]
            self._columns[name] = grown

    def _batch(self) -> pa.Table:
        arrays = []
        for field in self._schema:
            if field.name == "run":
                arrays.append(pa.array(np.full(self._rows, self._run_key, np.int64)))
            elif field.name in self._texts:
                arrays.append(pa.array(self._texts[field.name], pa.string()))
            elif field.name in self._codes:
                arrays.append(self._names(field.name))
            else:
                values = self._columns[field.name][: self._rows]
                none = np.less(values, 0) if field.nullable else None
                arrays.append(pa.array(values, field.type, mask=none))
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _names(self, column: str) -> pa.DictionaryArray:
        """Encode only the names of this row group, sorted: the bytes must not depend on their first use."""
        codes = self._columns[column][: self._rows]
        all_names = list(self._codes[column])
        used = np.flatnonzero(np.bincount(codes.astype(np.int64, copy=False), minlength=len(all_names)))
        ranked = sorted(used.tolist(), key=all_names.__getitem__)
        rank = np.zeros(len(all_names), np.int32)
        rank[ranked] = np.arange(len(ranked), dtype=np.int32)
        names = pa.array([all_names[code] for code in ranked], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(rank[codes]), names)

    def _recoded(self, name: str, column: Column) -> NDArray[np.generic]:
        known = self._codes[name]
        if not isinstance(column, Coded):
            return np.array(
                [known.setdefault(text, len(known)) for text in self._plain(name, column)], np.int32
            )
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

    def _number(self, name: str, column: Column) -> NDArray[np.generic]:
        target = self._columns[name].dtype
        values = np.asarray(column)
        if len(values) == 0:
            return np.empty(0, target)
        if values.dtype.kind not in "iufb" or (target.kind == "i" and values.dtype.kind == "f"):
            raise ValueError(f"table {self._table}: column {name}: {values.dtype} is not {target}")
        if target.kind == "i" and values.dtype.itemsize > target.itemsize:
            limits = np.iinfo(target.name)
            if int(values.min()) < limits.min or int(values.max()) > limits.max:
                raise ValueError(f"table {self._table}: column {name}: a value does not fit {target}")
        return values.astype(target, copy=False)
