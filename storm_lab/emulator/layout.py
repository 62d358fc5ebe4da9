"""The kernel's state: one record array per kind of thing, and the numbers that name kinds and states.

Everything the kernel knows stands in these arrays, so it can stop at any event and be entered again.
Indices are int64, -1 means none; times are int64 nanoseconds of virtual time; CPU work is int64 nanoseconds
of one core.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storm_lab.workloads.trace import EMISSION, RECORD

# A node's virtual CPU time runs at up to 2**SHARE_BITS per nanosecond (see cpu.py).
SHARE_BITS = 16
NEVER = 1 << 62

# What a thread is.
MAIN, SEND, RECEIVE, TRANSFER, HOUSEKEEPING, NETWORK = range(6)
THREAD_NAMES = ("main", "send", "receive", "transfer", "housekeeping", "network")

# What a thread does.
IDLE, WAKING, RUNNING, WAITING, BLOCKED, POLLING, DEAD = range(7)

# What a running spout thread will have done when its CPU burst ends.
TURN_ACKS, TURN_EMIT = range(2)
# What a waiting thread waits for.
WAIT_SERVER, WAIT_FETCH, WAIT_SLEEP, WAIT_WIRE, WAIT_LOG = range(5)

# What a message is.
DATA, INIT, ACK, FAIL, COMPLETE, FAILED, TICK, RESET, EXTENDED = range(9)

# How far a message travels.
IN_PROCESS, IN_NODE, IN_RACK, IN_CLUSTER = range(4)
LOCALITY_NAMES = ("process", "node", "rack", "cluster")

# Groupings.
G_SHUFFLE, G_FIELDS, G_ALL, G_GLOBAL, G_NONE, G_DIRECT, G_LOCAL, G_PARTIAL, G_SHUFFLE_ONCE, G_LOAD_AWARE = (
    range(10)
)

# How a root tuple ended.
PENDING, ACKED, TIMED_OUT, LOST = range(4)
OUTCOME_NAMES = ("pending", "acked", "failed", "lost")

# Sources.
S_RATE, S_SATURATED, S_TRACE, S_CLOSED = range(4)

# Why the kernel came back.
REACHED, NEED_MESSAGES, NEED_ROOTS, NEED_LOG, NEED_BUDGET = range(5)

# Narrow where the range allows: what an event touches is to lie in few cache lines. Compiled code reads all
# of them as 64 bits (row.py).
_I1, _I4, _I8, _U8 = np.int8, np.int32, np.int64, np.uint64

CACHE_LINE = 64


def _record(*fields: tuple[str, type]) -> np.dtype[np.void]:
    return np.dtype(list(fields), align=True)


def _lines(*fields: tuple[str, type]) -> np.dtype[np.void]:
    """A record that fills whole cache lines, so that none straddles one more than it must."""
    packed = np.dtype(list(fields), align=True)
    size = -(-packed.itemsize // CACHE_LINE) * CACHE_LINE
    offsets = [packed.fields[name][1] for name, _ in fields]  # type: ignore[index]
    names = [name for name, _ in fields]
    return np.dtype({"names": names, "formats": [f for _, f in fields], "offsets": offsets, "itemsize": size})


SCALARS = _record(
    ("now", _I8),
    ("seq", _I8),
    ("heap_n", _I8),
    ("free_message", _I8),
    ("free_messages", _I8),
    ("free_root", _I8),
    ("free_roots", _I8),
    ("roots_emitted", _I8),
    ("root_rows", _I8),
    ("execution_rows", _I8),
    ("ready_n", _I8),  # threads that found room in the queue they waited for, and go on
    ("ready_head", _I8),
    ("events", _I8),
    ("nodes", _I8),
    ("channels", _I8),
    ("timers", _I8),  # event sources before those of threads
    ("idle_width", _I8),  # columns of idle
    ("sample_every", _I8),
    ("version_09", _I8),  # 1 from Storm 0.9 on: messages to an unknown place wait for it
    ("version_1", _I8),  # 1 from Storm 1.0 on: latency is measured in the acker
    ("netty", _I8),  # 1 from Storm 0.9 to 1.x: workers have network threads before their receive thread
    ("version_2", _I8),  # 1 from Storm 2.0 on: executors have no send thread
    ("bolt_margin", _I8),  # most messages one event can create
    ("lost", _I8),
    ("queue_width", _I8),  # columns of run_queue
    ("moved", _I8),  # rows of moved
    ("moved_most", _I8),
    ("first_spare", _I8),  # channels for single links: s.channels - s.nodes - first_spare of them
    ("threads", _I8),
    ("root_rows_most", _I8),
    ("execution_rows_most", _I8),
    ("unread_high", _I8),  # bytes that a 2.x worker has not read at which its senders stop writing
    ("unread_low", _I8),
    ("reconnect_first", _I8),  # wait before the first try to connect again; doubles with each try
    ("reconnect_most", _I8),  # up to this
    ("keep", _I8),  # how long messages are kept for a receiver out of reach; 0 = for ever
    ("queued_bytes", _I8),  # heap that a queued tuple takes beside its payload
    ("heap_bytes", _I8),
    ("heap_cost", _I8),  # extra cost with a full heap, of 65536
)

COSTS = _record(
    ("dispatch", _I8),
    ("emit", _I8),
    ("serialise", _I8),
    ("serialise_kb", _I8),
    ("deserialise", _I8),
    ("deserialise_kb", _I8),
    ("send", _I8),
    ("transfer", _I8),
    ("receive", _I8),
    ("deliver", _I8),
    ("log_emit", _I8),
    ("log_receive", _I8),
    ("acker", _I8),
    ("spout_ack", _I8),
    ("poll", _I8),
    ("wake", _I8),
    ("switch", _I8),
    ("header_bytes", _I8),
    ("uplink_ps_per_byte", _I8),
    ("idle_sleep", _I8),
    ("inactive_sleep", _I8),
    ("housekeeping_period", _I8),
    ("housekeeping_work", _I8),
    ("warm_keep", _I8),  # share of the warm-up excess kept from one housekeeping round to the next, of 65536
    ("wire_high", _I8),  # bytes in a node's card at which a 2.x worker stops writing, and goes on again
    ("wire_low", _I8),
    ("receive_batch", _I8),
    ("send_batch", _I8),
)

NODE = _lines(
    ("v", _I8),  # virtual CPU time, 2**-SHARE_BITS ns
    ("v_at", _I8),  # when it was last advanced
    ("nic_out_free", _I8),
    ("nic_in_free", _I8),
    ("nic_ps_per_byte", _I8),
    ("active", _I4),  # threads that want CPU
    ("cores", _I4),
    ("threads", _I4),  # hardware threads
    ("ht_gain", _I4),  # capacity of all hardware threads, of 1024 per core
    ("slow", _I4),  # cost multiplier, of 1024: clock, processes, memory
    ("extra", _I4),  # multiplier of a fault, of 1024
    ("wake_head", _I4),
    ("wake_tail", _I4),
    ("rack", _I4),
    ("first_channel", _I4),  # to itself, then to each rack
    ("links", _I4),  # channels of its own that single links from it have
)

RACK = _record(("out_free", _I8), ("in_free", _I8))

CHANNEL = _record(
    ("latency", _I8),
    ("undisturbed", _I8),
    ("head", _I4),
    ("tail", _I4),
    ("node", _I4),
    ("start", _I4),  # of a single link: its nodes
    ("finish", _I4),
    ("cut", _I4),
    ("up_at", _I8),  # when the connections over it are there again after a cut
    ("cut_at", _I8),
    ("held_head", _I4),  # messages that wait for the end of the cut
    ("held_tail", _I4),
    ("held_bytes", _I8),
)

WORKER = _lines(
    ("unread", _I8),  # 2.x: bytes sent to it that its receive thread has not read
    ("owed", _I8),  # CPU that housekeeping has still to spend, ns
    ("held_until", _I8),  # until then the connections' table is locked and nothing is sent
    ("node", _I4),
    ("topology", _I4),
    ("route", _I4),  # where the executor of task 0 would stand in the routing table that this worker sees
    ("receive_thread", _I4),
    ("transfer_thread", _I4),
    ("housekeeping_thread", _I4),
    ("network_thread", _I4),
    ("warm_excess", _I4),  # extra cost of cold code, of 65536
    ("heap_excess", _I4),  # extra cost of garbage collection with what is queued, of 65536
    ("parked_head", _I4),  # messages to executors whose place is not known yet
    ("parked_tail", _I4),
    ("log_holder", _I4),  # thread that writes into the log, with debug logging
    ("log_head", _I4),  # threads that wait to write
    ("log_tail", _I4),
    ("alive", _I1),
)

EXECUTOR = _lines(
    ("poll_phase", _I8),
    ("started", _I8),
    ("line", _I8),
    ("worker", _I4),
    ("topology", _I4),
    ("component", _I4),
    ("first_task", _I4),  # global task index
    ("tasks", _I4),
    ("main_thread", _I4),
    ("send_thread", _I4),
    ("source", _I4),
    ("turn_task", _I4),
    ("reported_load", _I4),  # filled part of its receive queue as last told to other workers, of 1000
    ("pending", _I4),
    ("bucket", _I4),  # rotations of the pending map so far
    ("new_head", _I4),
    ("new_tail", _I4),
    ("old_head", _I4),
    ("old_tail", _I4),
    ("expired_head", _I4),  # roots that fell out of the pending map and are still to be failed
    ("expired_tail", _I4),
    ("turn_head", _I4),  # acks taken in this turn
    ("attempt", _I4),
    ("alive", _I1),
    ("active", _I1),
    ("turn", _I1),
    ("awaits", _I1),  # it stands in its source's table of idle spouts
)

THREAD = _lines(
    ("v_finish", _I8),
    ("v_seq", _I8),
    ("work", _I8),
    ("cpu", _I8),  # CPU used since the last sample
    ("since", _I8),  # start of the present execute, or when it will be awake
    ("log_work", _I8),  # CPU of the log lines that the present tuple has still to write, ns
    ("node", _I4),
    ("worker", _I4),
    ("executor", _I4),
    ("head", _I4),
    ("tail", _I4),
    ("out_head", _I4),
    ("out_tail", _I4),
    ("current", _I4),
    ("waiters", _I4),
    ("last_waiter", _I4),
    ("next_waiter", _I4),
    ("next_wake", _I4),
    ("heap_pos", _I4),
    ("length", _I4),
    ("capacity", _I4),
    ("batch", _I4),  # messages of the present batch that are still in the queue
    ("held", _I4),  # places of the present batch's messages that were taken; free when the batch is done
    ("next_log", _I4),
    ("kind", _I1),
    ("state", _I1),
    ("waits", _I1),  # for room in another thread's queue
    ("wait", _I1),
    ("serialising", _I1),
    ("resetting", _I1),  # 1: before, 2: after the reset of its tuple's time-out
    ("flagged", _I1),  # 1.x: its queue is so full that it asks the topology's spouts to stop
)

MESSAGE = _lines(
    ("edge", _U8),
    ("time", _I8),  # arrival on a wire, or entry into the receive queue
    ("number", _I8),  # root number, for the log; -1 = not logged
    ("next", _I4),
    ("task", _I4),  # global index of the target task
    ("target", _I4),  # executor instance that the sender chose
    ("source_task", _I4),  # global index; -1 = system
    ("root", _I4),
    ("record", _I4),
    ("bytes", _I4),
    ("kind", _I1),
    ("locality", _I1),
)

ROOT = _lines(
    ("id", _U8),
    ("ledger", _U8),
    ("number", _I8),
    ("line", _I8),
    ("emitted", _I8),
    ("init_time", _I8),
    ("delta", _I8),
    ("sleep", _I8),
    ("references", _I4),
    ("executor", _I4),  # spout executor instance that waits for it
    ("task", _I4),
    ("acker", _I4),  # acker instance that holds the entry
    ("rotation", _I4),  # the acker's rotation count at the last put
    ("next", _I4),
    ("previous", _I4),
    ("bucket", _I4),
    ("attempt", _I4),
    ("outcome", _I1),
    ("known", _I1),  # the acker has its init message
    ("failed", _I1),  # a bolt has failed a tuple of its tree
)

TASK = _lines(
    ("rng", _U8),
    ("execute", _I8),
    ("component", _I4),
    ("id", _I4),  # task id in its topology
    ("local", _I4),  # index among the component's tasks
    ("shuffle", _I4),  # first entry of its grouping states; one per subscription of its component
    ("emitted", _I4),
    ("transferred", _I4),
    ("executed", _I4),
    ("acked", _I4),
    ("failed", _I4),
)

COMPONENT = _record(
    ("tick_period", _I8),
    ("topology", _I4),
    ("first_task", _I4),
    ("tasks", _I4),
    ("first_subscription", _I4),  # subscriptions TO this component, all its streams
    ("subscriptions", _I4),
    ("is_spout", _I4),
    ("is_acker", _I4),
    ("acks", _I4),  # bolts that ack their input
    ("tick_record", _I4),
    ("first_pair", _I4),  # components that it sends to
    ("pairs", _I4),
)

# Two components that exchange tuples, and their block of traffic counters: one for each pair of their tasks.
PAIR = _record(("component", _I4), ("first", _I8))

# Narrow, and with one distance: what a large topology touches most. A change of distance is written to MOVED.
TRAFFIC = _record(("bytes", _I8), ("tuples", _I4), ("locality", _I4))

MOVED = _record(("pair", _I8), ("locality", _I8), ("tuples", _I8), ("bytes", _I8))


TOPOLOGY = _record(
    ("acker_component", _I8),
    ("ackers", _I8),
    ("first_stream", _I8),
    ("first_record", _I8),
    ("first_emission", _I8),
    ("timeout", _I8),
    ("max_pending", _I8),  # per task; 0 = none
    ("acker_buckets", _I8),
    ("debug", _I8),  # topology.debug: log lines are written
    ("back_pressure", _I8),  # 1.x: topology.backpressure.enable
    ("raised", _I8),  # 1.x: executors that ask the spouts to stop
)

STREAM = _record(("first_subscription", _I4), ("subscriptions", _I4))

SUBSCRIPTION = _record(("component", _I4), ("grouping", _I4), ("own", _I4), ("load_aware", _I4))

# One per (sending task, subscription of its component): where its shuffle stands.
SHUFFLE = _record(("first", _I4), ("index", _I4), ("due", _I8), ("scope", _I4), ("local", _I4))

SOURCE = _record(
    ("kind", _I8),
    ("component", _I8),
    ("anchored", _I8),
    ("replay", _I8),
    ("head", _I8),  # lines to be emitted before new ones: replays, or calls of a closed loop
    ("tail", _I8),
    ("first_line", _I8),
    ("lines", _I8),
    ("next_line", _I8),
    ("stride", _I8),  # from one line to the next: the number of sources that a log's lines are dealt out to
    ("idle", _I8),  # spouts that sleep and look for its lines
    ("finder", _I8),  # the one of them whose turn will find the next line
    ("origin", _I8),
    ("taken", _I8),
    ("rate_milli", _I8),  # lines per 1000 s
    ("first_arrival", _I8),
    ("arrivals", _I8),
    ("arrival_period", _I8),
    ("sleep", _I8),
    ("fetch", _I8),
    ("answer", _I8),  # closed loop: time from the ack to the next call
)

SERVER = _record(("free", _I8), ("latency", _I8), ("first", _I8), ("places", _I8))

EVENT = _record(("time", _I8), ("seq", _I8), ("source", _I8))

ROOT_ROW = _record(
    ("number", _I8),
    ("topology", _I8),
    ("task", _I8),
    ("line", _I8),
    ("attempt", _I8),
    ("emitted", _I8),
    ("completed", _I8),
    ("outcome", _I8),
    ("spare", _I8),
    ("latency", _I8),
    ("sleep", _I8),
)

EXECUTION_ROW = _record(
    ("number", _I8),
    ("task", _I8),
    ("source_task", _I8),
    ("worker", _I8),
    ("locality", _I8),
    ("enqueued", _I8),
    ("started", _I8),
    ("ended", _I8),
)


Arrays = dict[str, NDArray[Any]]


class Kernel(NamedTuple):
    """All arrays that a kernel function may touch. Arrays are replaced by larger ones between calls, never
    inside.
    """

    s: NDArray[Any]
    cost: NDArray[Any]
    node: NDArray[Any]
    rack: NDArray[Any]
    channel: NDArray[Any]
    worker: NDArray[Any]
    executor: NDArray[Any]
    thread: NDArray[Any]
    message: NDArray[Any]
    root: NDArray[Any]
    task: NDArray[Any]
    component: NDArray[Any]
    topology: NDArray[Any]
    stream: NDArray[Any]
    subscription: NDArray[Any]
    shuffle: NDArray[Any]
    source: NDArray[Any]
    server: NDArray[Any]
    record: NDArray[Any]
    emission: NDArray[Any]
    event: NDArray[Any]  # binary heap
    root_row: NDArray[Any]
    execution_row: NDArray[Any]
    position: NDArray[np.int32]  # heap position of each event source; -1 = not scheduled
    run_queue: NDArray[np.int32]  # [node, i]: heap of threads that want CPU, by finish
    route: NDArray[np.int32]  # tables of a topology's tasks -> executor instance; -1 = unknown
    permutation: NDArray[np.int32]
    ready: NDArray[np.int32]  # ring of threads that were blocked and may go on
    idle: NDArray[np.int64]  # [source, i]: spouts that sleep, in order of their turns (lines.py)
    line_record: NDArray[np.int64]
    arrival: NDArray[np.int64]
    server_place: NDArray[np.int64]
    pair: NDArray[Any]
    traffic: NDArray[Any]
    moved: NDArray[Any]  # counters of pairs whose distance has changed since


# Plain arrays of whole numbers; two-dimensional ones are laid out row by row.
FLAT = (
    "position",
    "run_queue",
    "route",
    "permutation",
    "ready",
    "idle",
    "line_record",
    "arrival",
    "server_place",
)

# Those of them that hold 32 bits.
NARROW = ("position", "run_queue", "route", "permutation", "ready")

# What a kernel function takes: a handle on a Kernel (see arrays.py).
State = Any

DTYPES: dict[str, np.dtype[np.void]] = {
    "s": SCALARS,
    "cost": COSTS,
    "node": NODE,
    "rack": RACK,
    "channel": CHANNEL,
    "worker": WORKER,
    "executor": EXECUTOR,
    "thread": THREAD,
    "message": MESSAGE,
    "root": ROOT,
    "task": TASK,
    "component": COMPONENT,
    "topology": TOPOLOGY,
    "stream": STREAM,
    "subscription": SUBSCRIPTION,
    "shuffle": SHUFFLE,
    "source": SOURCE,
    "server": SERVER,
    "record": RECORD,
    "emission": EMISSION,
    "event": EVENT,
    "pair": PAIR,
    "traffic": TRAFFIC,
    "moved": MOVED,
    "root_row": ROOT_ROW,
    "execution_row": EXECUTION_ROW,
}


def records(name: str, length: int) -> NDArray[Any]:
    """A zeroed record array of one kind whose fields read as attributes."""
    dtype = DTYPES[name]
    # Rows begin at a cache line.
    raw = np.zeros(length * dtype.itemsize + CACHE_LINE, np.uint8)
    first = -raw.ctypes.data % CACHE_LINE
    return raw[first : first + length * dtype.itemsize].view(dtype).view(np.recarray)
