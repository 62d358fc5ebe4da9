"""Rows of the kernel's arrays as compiled code sees them: fields are narrow in memory and 64 bits when read.

A field may be 1, 4 or 8 bytes wide. Reading it always gives 64 bits, so that every kernel function is
compiled for one signature only. Storing truncates to the field's width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
)


class Row(types.Type):
    """A pointer to one row of an array of records."""

    def __init__(self, name: str, dtype: np.dtype[np.void]) -> None:
        self.dtype = dtype
        super().__init__(name=f"Row({name}:{dtype.descr})")


@register_model(Row)
class _RowModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, cgutils.voidptr_t)  # type: ignore[no-untyped-call]


@infer_getattr
class _RowAttributes(AttributeTemplate):
    key = Row

    def generic_resolve(self, row: Row, name: str) -> Any:  # type: ignore[override]
        """Return the type that reading a field gives."""
        fields = row.dtype.fields
        if fields is None or name not in fields:
            return None
        return types.uint64 if fields[name][0].kind == "u" else types.int64


def _place(context: Any, builder: Any, row: Row, pointer: Any, name: str) -> tuple[Any, int]:
    """Return the address of a field, and its width in bytes."""
    dtype, offset = row.dtype.fields[name][:2]  # type: ignore[index]
    start = builder.gep(pointer, [context.get_value_type(types.int64)(offset)])
    width = context.get_value_type(types.Integer.from_bitwidth(8 * dtype.itemsize))
    return builder.bitcast(start, width.as_pointer()), dtype.itemsize


@lower_getattr_generic(Row)  # type: ignore[no-untyped-call]
def _read(context: Any, builder: Any, row: Row, pointer: Any, name: str) -> Any:
    place, size = _place(context, builder, row, pointer, name)
    value = builder.load(place, align=size)
    return value if size == 8 else builder.sext(value, context.get_value_type(types.int64))


@lower_setattr_generic(Row)  # type: ignore[no-untyped-call]
def _store(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    pointer, value = arguments
    place, size = _place(context, builder, signature.args[0], pointer, name)
    if size != 8:
        value = builder.trunc(value, place.type.pointee)
    builder.store(value, place, align=size)
