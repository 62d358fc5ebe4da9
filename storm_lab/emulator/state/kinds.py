"""The constants for kinds and states in the kernel's arrays."""

from __future__ import annotations

# A node's virtual time advances by at most 2**SHARE_BITS per nanosecond (see cpu.py).
SHARE_BITS = 16
NEVER = 1 << 62
# Values of an event source's `place` when it is not in the heap: no next event, or one in a bucket.
UNSCHEDULED, FAR = -1, -2
# Number of buckets for far events; a power of two.
FAR_BUCKETS = 1 << 14
# Kinds of threads.
MAIN, SEND, RECEIVE, TRANSFER, HOUSEKEEPING, NETWORK, COMPILER = range(7)
THREAD_NAMES = ("main", "send", "receive", "transfer", "housekeeping", "network", "compiler")
# Name under which the log counts the CPU of JVMs that start, which have no threads here.
STARTING = "starting"
# What a main thread runs; all other threads have NONE.
NONE, BOLT, SPOUT, ACKER_BOLT = range(4)
# States of a thread.
IDLE, WAKING, RUNNING, WAITING, BLOCKED, POLLING, DEAD = range(7)
# What a running spout thread has done when its CPU burst ends.
TURN_ACKS, TURN_EMIT = range(2)
# What a waiting thread waits for.
WAIT_SERVER, WAIT_FETCH, WAIT_SLEEP, WAIT_CHANNEL, WAIT_LOG, WAIT_PREPARE = range(6)
# What a thread does with its worker's log: nothing, write into it, or hold it for the next lines.
LOG_NONE, LOG_WRITES, LOG_TURN = range(3)
# How a thread's wait ended: it was woken, or one of its polls found something.
NOT_IDLE, WOKEN, POLL_FOUND = range(3)
# Kinds of messages.
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
# What happens to messages without a connection: see emulator/unreached.py.
UNREACHED_DROPS, UNREACHED_KEEPS, UNREACHED_BLOCKS = range(3)
# `held_until` of a worker whose transfer thread waits for a connection: it sends nothing.
HELD = NEVER
# Kinds of sources, in the order of SourceKind.
S_RATE, S_SATURATED, S_TRACE, S_CLOSED = range(4)
# Why the kernel returned.
REACHED, NEED_MESSAGES, NEED_ROOTS, NEED_LOG, NEED_BUDGET = range(5)
