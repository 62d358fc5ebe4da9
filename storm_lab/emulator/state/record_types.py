"""The kernel's record types: what is known of one thread, message, root, ...

Indices are whole numbers, -1 means none; times are nanoseconds of virtual time; CPU work is nanoseconds of
one core.
"""

from __future__ import annotations

import numpy as np

# Narrow where the range allows: what an event touches is to lie in few cache lines. Compiled code reads all
# of them as 64 bits (row.py).
I1, I4, I8, U8 = np.int8, np.int32, np.int64, np.uint64


CACHE_LINE = 64


def each(kind: type, *names: str) -> tuple[tuple[str, type], ...]:
    """Fields of one type."""
    return tuple((name, kind) for name in names)


def record(*fields: tuple[str, type]) -> np.dtype[np.void]:
    """A record with its fields where the machine likes them."""
    return np.dtype(list(fields), align=True)


def lined_record(*fields: tuple[str, type]) -> np.dtype[np.void]:
    """A record that fills whole cache lines, so that none straddles one more than it must."""
    packed = np.dtype(list(fields), align=True)
    size = -(-packed.itemsize // CACHE_LINE) * CACHE_LINE
    offsets = [packed.fields[name][1] for name, _ in fields]  # type: ignore[index]
    names = [name for name, _ in fields]
    return np.dtype({"names": names, "formats": [f for _, f in fields], "offsets": offsets, "itemsize": size})


SCALARS = record(
    *each(I8, "now", "seq", "heap_n"),
    # Events before it stand in the heap, others in buckets; NEVER = all in the heap.
    ("horizon", I8),
    ("bucket_bits", I8),  # a bucket is 2**bucket_bits ns wide
    ("far_n", I8),  # events in buckets
    ("fitted_events", I8),  # when the width was looked at last: events played, and time
    ("fitted_at", I8),
    *each(I8, "free_message", "free_messages", "free_root", "free_roots", "roots_emitted"),
    *each(I8, "root_rows", "execution_rows"),
    ("ready_n", I8),  # threads that found room in the queue they waited for, and go on
    *each(I8, "ready_head", "events", "nodes", "channels"),
    ("timers", I8),  # event sources before those of threads
    ("idle_width", I8),  # columns of idle
    ("sample_every", I8),
    ("version_09", I8),  # 1 from Storm 0.9 on: queues are counted in tuples
    ("version_1", I8),  # 1 from Storm 1.0 on: latency is measured in the acker
    ("netty", I8),  # 1 from Storm 0.9 to 1.x: workers have network threads before their receive thread
    ("version_2", I8),  # 1 from Storm 2.0 on: executors have no send thread
    ("bolt_margin", I8),  # most messages one event can create
    ("lost", I8),
    ("shared", I8),  # cores of the one machine that all nodes are on, of 1024; 0: each is a machine
    ("machine_cores", I8),  # how many of its threads run at a time
    ("holder", I8),  # thread that has a core while it decides what to do next; -1: none
    ("queue_width", I8),  # places of run_queue for each node
    ("moved", I8),  # rows of moved
    ("moved_most", I8),
    ("first_spare", I8),  # channels for single links: s.channels - s.nodes - first_spare of them
    *each(I8, "threads", "root_rows_most", "execution_rows_most"),
    ("unread_high", I8),  # bytes that a 2.x worker has not read at which its senders stop writing
    ("unread_low", I8),
    ("reconnect_first", I8),  # wait before the first try to connect again; doubles with each try
    ("reconnect_most", I8),  # up to this
    ("keep", I8),  # how long messages are kept for a receiver out of reach; 0 = for ever
    ("unreached", I8),  # what becomes of messages without a connection: an Unreached
    ("queued_bytes", I8),  # heap that a queued tuple takes beside its payload
    ("heap_bytes", I8),
    ("heap_cost", I8),  # extra cost with a full heap, of 65536
    ("silent_heap", I8),  # filled part, of 1024, from which on a worker does nothing but collect
    ("full_heaps", I8),  # workers that do
    ("draws", U8),  # of the spread of costs
)

COSTS = record(
    *each(I8, "dispatch", "emit", "serialise", "serialise_kb", "deserialise", "deserialise_kb", "send"),
    *each(I8, "transfer", "receive", "read", "write", "deliver", "log_emit", "log_receive"),
    *each(I8, "acker", "spout_ack", "poll", "wake", "slice", "turn", "switch"),
    *each(I8, "header_bytes", "uplink_ps_per_byte"),
    ("late", I8),  # how much later than asked a sleep ends
    *each(I8, "idle_sleep", "inactive_sleep", "housekeeping_period", "housekeeping_work"),
    ("wait_work", I8),  # CPU of a thread whose wait ends, by time or because it is woken
    ("asleep", I8),  # what that costs more after a long sleep
    ("sleep_half", I8),  # half of that after one so long
    ("wait_most", I8),  # up to 0.10: time after which a wait for a queue ends and begins anew; 0 = never
    ("waits_work", I8),  # CPU of such ends in a housekeeping period
    ("room_look", I8),  # up to 0.10: CPU of a look of a thread that waits for room; 0 = it does not look
    ("flush_work", I8),  # of a connection's flush timer, a housekeeping period
    ("flush_from", I8),  # age of a worker at which these timers begin
    ("warm_excess", I8),  # extra cost of cold code, of 65536
    ("compile_calls", I8),  # calls of user code by a worker after which half of what is compiled is due
    ("compile", I8),  # CPU of the compilers until a worker's code is warm
    ("halvings", I8),  # of the excess meanwhile; each takes the compilers as long
    ("method", I8),  # CPU of compiling one method
    ("call", I8),  # calls that one played call stands for
    ("spread", I8),  # 1: execute and nextTuple vary
    ("empty_batch", I8),  # up to 0.10: CPU of an idle transfer thread that a send thread wakes for nothing
    ("empty_turn", I8),  # CPU of an idle spout's turn: it ends a sleep, and finds nothing
    ("look", I8),  # 2.x: CPU of an idle thread's look at its queue
    ("look_beside", I8),  # what a look costs where many threads look, of 1024
    ("fine_look", I8),  # time from one look to the next at first ...
    ("fine_time", I8),  # ... for so long
    ("coarse_look", I8),  # ... and after that
    ("wire_high", I8),  # bytes in a node's card at which a 2.x worker stops writing, and goes on again
    ("wire_low", I8),
    ("receive_batch", I8),
)

NODE = lined_record(
    ("v", I8),  # what each thread on a core has had, 2**-SHARE_BITS ns
    ("fair", I8),  # what a fair scheduler would have given each that wants one
    ("v_at", I8),  # when it was last advanced
    ("rested_at", I8),  # since when it has had a core to spare
    ("active", I4),  # threads that run
    ("in_line", I4),  # threads that wait for one of them to give up its core
    ("line_head", I4),
    ("urgent", I4),  # whether the first of them is to have a core at once
    ("vruntimes", I8),  # sum over those that run and those that wait
    ("last_mean", I8),  # mean vruntime when the last of them left
    ("starting", I4),  # threads of JVMs that start, which always want CPU
    ("cores", I4),
    ("threads", I4),  # hardware threads
    ("slow", I4),  # cost multiplier, of 1024: clock, processes, memory
    ("extra", I4),  # multiplier of a fault, of 1024
    ("storm", I4),  # multiplier of Storm's own code, of 65536: processor, version
    ("system", I4),  # multiplier of periodic work and wake-ups, of 65536: processor
    ("lookers", I4),  # idle threads that look at their queues, and idle spouts
    ("wake_head", I4),
    ("wake_tail", I4),
    # A line of memory later: what is used where threads look, or want more than there is.
    ("ht_gain", I4),  # capacity of all hardware threads, of 1024 per core
    ("own", I4),  # what its workers' own small work would take, of 1024 a core
    ("free", I4),  # what that leaves of its cores, and other nodes of its machine leave it
    ("most", I4),  # what these leave it, of 1024 a core
    ("beside", I4),  # their threads that want cores which it could have
    ("alone", I4),  # what their looks and turns would take of a core each if it were alone, of 1024
    ("polling", I4),  # what they take of its cores where there is room, of 1024
    ("look_rate", I4),  # of 1024 a thread that parks for a nanosecond
    ("look_part", I4),  # what looks cost, of 1024 that one costs whose core was asleep
    ("looked", I8),  # a clock that runs as fast as they look, in ns / 1024: threads wait for instants of it
    ("look_work", I8),  # and one that runs as fast as they take CPU, in ns / 1024
    # Of a node whose control group may use so much CPU in each period, in ns / 1024; 0: as much as there is.
    *each(I8, "quota", "quota_left"),
    *each(I8, "quota_period", "quota_from"),  # ns
    ("held", I4),  # whether it has used its quota up
    # Of a node that shares a machine with others.
    ("given", I4),  # cores that it has now
    ("less_from", I8),  # since when it has wanted more; NEVER: it does not
    ("moved", I8),  # running number of the last time that it was given or gave up a core
    *each(I8, "turn_from", "turn_ends"),  # its turn; NEVER: nobody else waits
    ("starting_cpu", I8),  # of JVMs that started since the last sample, ns
    # What follows only the network touches.
    *each(I8, "nic_out_free", "nic_in_free", "nic_ps_per_byte"),
    ("rack", I4),
    ("first_channel", I4),  # to itself, then to each rack
    ("links", I4),  # channels of its own that single links from it have
)

RACK = record(("out_free", I8), ("in_free", I8))

CHANNEL = lined_record(
    ("latency", I8),
    ("up_at", I8),  # when the connections over it are there again after a cut
    *each(I4, "head", "tail", "cut", "node"),
    # What follows is of cut or delayed links.
    ("undisturbed", I8),
    ("start", I4),  # of a single link: its nodes
    ("finish", I4),
    ("cut_at", I8),
    ("held_head", I4),  # messages that wait for the end of the cut
    ("held_tail", I4),
    ("held_bytes", I8),
)

WORKER = lined_record(
    ("unread", I8),  # 2.x: bytes sent to it that its receive thread has not read
    ("batch", I8),  # the last batch that read from it or wrote to it
    ("held_until", I8),  # until then the connections' table is locked and nothing is sent
    ("node", I4),
    ("calls", I4),  # of user code by its executors
    ("route", I4),  # where the executor of task 0 would stand in the routing table that this worker sees
    *each(I4, "receive_thread", "transfer_thread", "network_thread"),
    ("warm_excess", I4),  # extra cost of cold code, of 65536
    ("heap_excess", I4),  # extra cost of garbage collection with what is queued, of 65536
    ("log_holder", I4),  # thread that writes into the log, with debug logging
    ("alive", I1),
    # What follows is seldom touched.
    ("log_turn", I8),  # CPU of the thread that holds its log, since it got hold of it, ns
    ("owed", I8),  # CPU that its housekeeping thread has still to spend, ns
    ("due", I8),  # CPU of waits that ended since it rang, less what had been paid for them
    ("own", I4),  # what its own small work takes of a core in this period, of 1024
    ("compile_due", I8),  # CPU of compiling what its calls so far have made hot, ns
    ("to_compile", I8),  # of that, what no compiler has begun
    ("started", I8),
    ("topology", I4),
    ("rack", I4),  # of its node
    ("waiting", I4),  # threads that wait for their queues, for 10 ms at most
    ("rang", I8),  # when its last housekeeping period ended
    ("awake_until", I8),  # until then its idle transfer thread, woken for nothing, is awake
    ("connections", I4),  # to workers that its executors send to
    *each(I4, "housekeeping_thread", "compiler_thread"),  # the first of its compilers'
    ("parked_head", I4),  # messages to executors out of reach that wait
    ("parked_tail", I4),
    ("dropped", I8),  # messages to executors out of reach
    ("full_since", I8),  # since when it does nothing but collect; 0 = it does not
    ("connecting", I4),  # 1: it lacks a connection that it wants
    ("log_head", I4),  # threads that wait to write
    ("log_tail", I4),
)

EXECUTOR = lined_record(
    ("poll_phase", I8),
    *each(I4, "worker", "topology", "component"),
    ("first_task", I4),  # global task index
    *each(I4, "tasks", "main_thread", "source", "pending"),
    ("bucket", I4),  # rotations of the pending map so far
    ("new_head", I4),
    ("new_tail", I4),
    *each(I1, "alive", "active", "turn"),
    ("awaits", I1),  # it stands in its source's table of idle spouts
    # What follows is touched less often.
    ("started", I8),
    ("line", I8),
    ("fetch_end", I8),  # when its client's fetch thread has, or had, the lines that it emits next
    ("send_thread", I4),
    ("turn_task", I4),
    ("reported_load", I4),  # filled part of its receive queue as last told to other workers, of 1000
    ("old_head", I4),
    ("old_tail", I4),
    ("expired_head", I4),  # roots that fell out of the pending map and are still to be failed
    ("expired_tail", I4),
    ("turn_head", I4),  # acks taken in this turn
    ("fetched", I4),  # lines that its last fetch has brought and it has not emitted yet
    ("attempt", I4),
)

THREAD = lined_record(
    ("cpu", I8),  # CPU used since the last sample
    ("since", I8),  # start of the present execute, or when it will run at the latest
    ("awake", I8),  # of a thread that was woken: from when on it can run
    *each(I4, "node", "worker", "head", "tail", "out_head", "out_tail", "length", "capacity"),
    ("places", I4),  # of its queue that are in use, those of the present batch too
    ("waiters", I4),
    ("kind", I1),
    ("state", I1),
    ("waits", I1),  # for room in another thread's queue
    ("wait", I1),
    ("serialising", I1),
    ("resetting", I1),  # 1: before, 2: after the reset of its tuple's time-out
    ("flagged", I1),  # 1.x: its queue is so full that it asks the topology's spouts to stop
    ("role", I1),  # of a main thread: what it runs
    ("gathers", I1),  # from 1.0 on: it gathers batches for the queues that it hands over to
    ("flushing", I1),  # 2.x: a flush tuple has told it to hand them over
    ("woken", I1),  # it slept until now, and has still to pay for waking up
    # What follows is touched less often.
    ("log_work", I8),  # CPU of the log lines that the present tuple has still to write, ns
    ("hand_over", I8),  # its present batch, and the last one that has a place in its queue
    ("placed", I8),
    *each(I4, "executor", "current", "last_waiter", "next_waiter", "next_wake"),
    # Of its turns at a core.
    ("vruntime", I8),  # what it has had, ns; while it runs, less what its node's `v` says
    ("lag", I8),  # how much less than the others of its node it had had when it last gave up its core, ns
    ("core_from", I8),  # its node's `v` when it got its core, ns
    ("left", I8),  # of its burst, 2**-SHARE_BITS ns; -1: it has none, and takes what comes when it has a core
    ("work", I8),  # of its burst, ns
    ("next_in_line", I4),
    ("core", I4),  # the core that it has, or had last
    ("in_line", I1),
    ("batch", I4),  # messages of the present batch that are still in the queue
    ("held", I4),  # messages of the present batch that were taken
    ("held_places", I4),  # of these; free when the batch is done
    ("next_log", I4),
    ("polls", I4),  # what its looks take of a core, of 1024
    ("idle_from", I8),  # when it fell idle
    ("paid_from", I8),  # until when its worker's housekeeping had paid for waits then
    ("look_every", I8),  # time from one look to the next; 0 = it does not look
    ("look_from", I8),  # when it began to look at this pace, by its node's `looked`
    ("look_paid", I8),  # until when its looks' CPU has been counted, by its node's `look_work`
    ("look_slept", I8),  # how long its core sleeps before each of its looks, in ns
    ("log", I1),  # 1: writes into the log, 2: has its turn at it and does something else
    ("batches", I4),  # the first of those that it gathers
)

MESSAGE = lined_record(
    ("edge", U8),
    ("time", I8),  # arrival on a wire, or entry into the receive queue
    ("number", I8),  # root number, for the log; -1 = not logged
    ("next", I4),
    ("task", I4),  # global index of the target task
    ("target", I4),  # executor instance that the sender chose
    ("source_task", I4),  # global index; -1 = system
    *each(I4, "root", "record", "bytes"),
    ("kind", I1),
    ("locality", I1),
    ("place", I1),  # 1: it takes a place in its queue, 0: it shares that of the one before
)

# In the row of the message that it begins with: what a thread gathers for a queue, from 1.0 on.
BATCH = record(*each(I4, "receiver", "tail", "length", "next"))

ROOT = lined_record(
    ("id", U8),
    ("ledger", U8),
    *each(I8, "number", "line", "emitted", "init_time", "delta", "sleep"),
    ("references", I4),
    ("executor", I4),  # spout executor instance that waits for it
    ("task", I4),
    ("acker", I4),  # acker instance that holds the entry
    ("rotation", I4),  # the acker's rotation count at the last put
    *each(I4, "next", "previous", "bucket", "attempt"),
    ("outcome", I1),
    ("known", I1),  # the acker has its init message
    ("failed", I1),  # a bolt has failed a tuple of its tree
)

TASK = lined_record(
    ("rng", U8),
    ("execute", I8),
    ("calls", I8),  # so far: numbers the draws of their costs
    ("component", I4),
    ("id", I4),  # task id in its topology
    ("local", I4),  # index among the component's tasks
    ("shuffle", I4),  # first entry of its grouping states; one per subscription of its component
    *each(I4, "emitted", "transferred", "executed", "acked", "failed"),
)


ROOT_ROW = record(
    *each(I8, "number", "topology", "task", "line", "attempt", "emitted", "completed", "outcome", "spare"),
    *each(I8, "latency", "sleep"),
)


EXECUTION_ROW = record(
    *each(I8, "number", "task", "source_task", "worker", "locality", "enqueued", "started", "ended"),
)
