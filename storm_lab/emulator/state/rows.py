"""Access to the kernel's arrays: ``rows.thread(k, i)`` is row i of the array of threads.

Compiled functions pass the whole state on as the address of one table, which holds the arrays' addresses.
(Passing some thirty array descriptors by value from function to function costs ten times more than the work
itself.) Without the JIT the same names index the numpy arrays, with bounds checks.

``rows.fetch_message(k, i)`` prefetches a row without waiting for it (``queues.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from storm_lab.emulator.state.jit import ENABLED
from storm_lab.emulator.state.layout import DTYPES
from storm_lab.emulator.state.record_types import CACHE_LINE

POINTERS = np.dtype([(name, np.uint64) for name in DTYPES], align=True)

if ENABLED:
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    from storm_lab.emulator.state.row import Row

    _BYTES: Any = types.voidptr

    def _address(context: Any, builder: Any, name: str, size: int, arguments: Any) -> Any:
        """Return the address of a row of ``size`` bytes, from a state and an index."""
        state, index = arguments
        offset: int = POINTERS.fields[name][1]  # type: ignore[index]
        word = context.get_value_type(types.int64)
        first = builder.inttoptr(state, context.get_value_type(_BYTES))
        place = builder.gep(first, [word(offset)])
        address = builder.load(builder.bitcast(place, word.as_pointer()))
        # The addresses do not change while compiled code runs, so they need not be read again.
        address.set_metadata("invariant.load", builder.module.add_metadata([]))
        return builder.add(address, builder.mul(index, word(size)))

    def _accessor(name: str) -> Callable[[Any, int], Any]:
        dtype = DTYPES[name]
        row_type = Row(name, dtype)
        size = dtype.itemsize

        @intrinsic
        def at(typing_context: Any, k: Any, i: Any) -> Any:
            """Return row i of the array whose address is in k."""
            del typing_context

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                row = _address(context, builder, name, size, arguments)
                return builder.inttoptr(row, context.get_value_type(signature.return_type))

            return row_type(k, types.int64), generate

        accessor: Any = at
        return accessor

    def _fetcher(name: str, lines: int = 1) -> Callable[[Any, int], None]:
        size = DTYPES[name].itemsize

        @intrinsic
        def fetch(typing_context: Any, k: Any, i: Any) -> Any:
            """Prefetch the first cache lines of row i; a hint, so the row need not exist."""
            del typing_context

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                del signature
                row = _address(context, builder, name, size, arguments)
                pointer = context.get_value_type(_BYTES)
                number = context.get_value_type(types.int32)
                kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
                prefetch = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                    builder.module, kind, "llvm.prefetch.p0"
                )
                for line in range(lines):
                    # A short row may begin near the end of a cache line and end in the next.
                    place = builder.add(row, row.type(min(line * CACHE_LINE, size - 1)))
                    # For reading, into every cache level, data cache.
                    hint = (number(0), number(3), number(1))
                    builder.call(prefetch, [builder.inttoptr(place, pointer), *hint])
                return context.get_dummy_value()

            return types.none(k, types.int64), generate

        fetcher: Any = fetch
        return fetcher
else:

    def _accessor(name: str) -> Callable[[Any, int], Any]:
        def at(k: Any, i: int) -> Any:
            if i < 0:
                raise IndexError(f"{name}[{i}]")
            return getattr(k, name)[i]

        return at

    def _fetcher(name: str, lines: int = 1) -> Callable[[Any, int], None]:
        return lambda k, i: None


# In the order of `DTYPES`.
(
    s, cost, node, rack, channel, worker, executor, thread, message, batch, root, task, root_row,
    execution_row, component, pair, traffic, topology, stream, subscription, shuffle, source, server, event,
    slot, burst, record, emission, bucket, route, permutation, ready, idle, line_record, arrival,
    server_place, spread,
) = map(_accessor, DTYPES)  # fmt: skip

fetch_message = _fetcher("message")
fetch_root = _fetcher("root", lines=2)
fetch_record = _fetcher("record", lines=2)
fetch_emission = _fetcher("emission")
