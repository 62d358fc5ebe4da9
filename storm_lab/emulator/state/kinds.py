"""The numbers that name kinds and states in the kernel's arrays."""

from __future__ import annotations

# A node's virtual CPU time runs at up to 2**SHARE_BITS per nanosecond (see cpu.py).
SHARE_BITS = 16
NEVER = 1 << 62
# Where the next event of an event source stands, unless it has a place in the heap.
UNSCHEDULED, FAR = -1, -2
# Buckets of far events; a power of two.
FAR_BUCKETS = 1 << 14
# What a thread is.
MAIN, SEND, RECEIVE, TRANSFER, HOUSEKEEPING, NETWORK, COMPILER = range(7)
THREAD_NAMES = ("main", "send", "receive", "transfer", "housekeeping", "network", "compiler")
# Whose CPU the log counts for a JVM that starts, which is no thread.
STARTING = "starting"
# What a main thread runs; every other thread: NONE.
NONE, BOLT, SPOUT, ACKER_BOLT = range(4)
# What a thread does.
IDLE, WAKING, RUNNING, WAITING, BLOCKED, POLLING, DEAD = range(7)
# What a running spout thread will have done when its CPU burst ends.
TURN_ACKS, TURN_EMIT = range(2)
# What a waiting thread waits for.
WAIT_SERVER, WAIT_FETCH, WAIT_SLEEP, WAIT_WIRE, WAIT_LOG = range(5)
# What a thread has to do with its worker's log.
LOG_NONE, LOG_WRITES, LOG_TURN = range(3)
# What a message is.
DATA, INIT, ACK, FAIL, COMPLETE, FAILED, TICK, RESET, EXTENDED, ANSWER, FLUSH = range(11)
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
# What becomes of messages without a connection: see emulator/unreached.py.
UNREACHED_DROPS, UNREACHED_KEEPS, UNREACHED_BLOCKS = range(3)
# Until when a worker sends nothing whose transfer thread waits for a connection.
HELD = NEVER
# Sources.
S_RATE, S_SATURATED, S_TRACE, S_CLOSED = range(4)
# Why the kernel came back.
REACHED, NEED_MESSAGES, NEED_ROOTS, NEED_LOG, NEED_BUDGET = range(5)
