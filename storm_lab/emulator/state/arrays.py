"""Access to the kernel's arrays: ``thread_at(k, i)`` is row i of the array of threads.

Compiled functions pass the whole state on as the address of one table, which holds the arrays' addresses.
(Passing some thirty array descriptors by value from function to function costs ten times more than the work
itself.) Without the JIT the same names index the numpy arrays, with bounds checks.

``fetch_message(k, i)`` prefetches a row without waiting for it (``prefetch.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from storm_lab.emulator.state.jit import ENABLED
from storm_lab.emulator.state.layout import DTYPES, FLAT, NARROW, Kernel, with_attributes
from storm_lab.emulator.state.record_types import CACHE_LINE

POINTERS = np.dtype([(name, np.uint64) for name in Kernel._fields], align=True)
_CELL = np.dtype([("value", np.int64)])
_CELLS = {name: np.dtype([("value", np.int32)]) for name in NARROW}


def handle(kernel: Kernel) -> tuple[Any, object]:
    """Return the state that a compiled function takes, and the table that must live as long as it is used.

    The state is the address of the table of the arrays' addresses, or without the JIT the arrays. It is valid
    as long as the arrays of ``kernel`` live. It is a plain number because numba takes ten times as long to
    find the type of a record.
    """
    if not ENABLED:
        cells = {
            name: with_attributes(getattr(kernel, name).reshape(-1).view(_CELLS.get(name, _CELL)))
            for name in FLAT
        }
        return kernel._replace(**cells), None
    assert all(getattr(kernel, name).dtype == _CELLS.get(name, _CELL)["value"] for name in FLAT)
    table = np.zeros(1, POINTERS)
    for name, array in kernel._asdict().items():
        table[name] = array.ctypes.data
    return int(table.ctypes.data), table


def _plain_accessor(name: str) -> Callable[[Any, int], Any]:
    def at(k: Any, i: int) -> Any:
        if i < 0:
            raise IndexError(f"{name}[{i}]")
        return getattr(k, name)[i]

    return at


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
        dtype = DTYPES.get(name, _CELLS.get(name, _CELL))
        record = Row(name, dtype)
        size = dtype.itemsize

        @intrinsic
        def at(typing_context: Any, k: Any, i: Any) -> Any:
            """Return row i of the array whose address is in k."""
            del typing_context

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                row = _address(context, builder, name, size, arguments)
                return builder.inttoptr(row, context.get_value_type(signature.return_type))

            return record(k, types.int64), generate

        accessor: Any = at
        return accessor

    def _fetcher(name: str, lines: int = 1) -> Callable[[Any, int], None]:
        size = DTYPES.get(name, _CELLS.get(name, _CELL)).itemsize

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
    _accessor = _plain_accessor

    def _fetcher(name: str, lines: int = 1) -> Callable[[Any, int], None]:
        return lambda k, i: None


assert set(Kernel._fields) == set(DTYPES) | set(FLAT)

s_at = _accessor("s")
cost_at = _accessor("cost")
node_at = _accessor("node")
rack_at = _accessor("rack")
channel_at = _accessor("channel")
worker_at = _accessor("worker")
executor_at = _accessor("executor")
thread_at = _accessor("thread")
message_at = _accessor("message")
batch_at = _accessor("batch")
root_at = _accessor("root")
task_at = _accessor("task")
component_at = _accessor("component")
topology_at = _accessor("topology")
stream_at = _accessor("stream")
subscription_at = _accessor("subscription")
shuffle_at = _accessor("shuffle")
source_at = _accessor("source")
server_at = _accessor("server")
record_at = _accessor("record")
emission_at = _accessor("emission")
event_at = _accessor("event")
root_row_at = _accessor("root_row")
execution_row_at = _accessor("execution_row")
slot_at = _accessor("slot")
bucket_at = _accessor("bucket")
burst_at = _accessor("burst")
route_at = _accessor("route")
permutation_at = _accessor("permutation")
ready_at = _accessor("ready")
idle_at = _accessor("idle")
line_record_at = _accessor("line_record")
arrival_at = _accessor("arrival")
server_place_at = _accessor("server_place")
spread_at = _accessor("spread")
pair_at = _accessor("pair")
moved_at = _accessor("moved")
traffic_at = _accessor("traffic")

fetch_message = _fetcher("message")
fetch_root = _fetcher("root", lines=2)
fetch_record = _fetcher("record", lines=2)
fetch_emission = _fetcher("emission")
