"""The kernel's record types: the fields of a node, worker, thread, message, root, ...

Indices are whole numbers, -1 means none; times are nanoseconds of virtual time; CPU work is nanoseconds of
one core. A fraction is a whole number in units of 1/1024 or 1/65536, as its comment says.
"""

from __future__ import annotations

import numpy as np

# Fields are as narrow as their range allows, so that an event touches few cache lines. Compiled code reads
# all of them as 64 bits (row.py).
I1, I4, I8, U8 = np.int8, np.int32, np.int64, np.uint64
CACHE_LINE = 64


def each(kind: type, *names: str) -> tuple[tuple[str, type], ...]:
    """Return fields of one type."""
    return tuple((name, kind) for name in names)


def record(*fields: tuple[str, type]) -> np.dtype[np.void]:
    """Return a record type whose fields are aligned."""
    return np.dtype(list(fields), align=True)


def cache_line_record(*fields: tuple[str, type]) -> np.dtype[np.void]:
    """Return a record type that fills whole cache lines, so that no row touches more of them than it must."""
    packed = record(*fields)
    size = -(-packed.itemsize // CACHE_LINE) * CACHE_LINE
    offsets = [packed.fields[name][1] for name, _ in fields]  # type: ignore[index]
    names = [name for name, _ in fields]
    return np.dtype({"names": names, "formats": [f for _, f in fields], "offsets": offsets, "itemsize": size})


TYPES: dict[str, np.dtype[np.void]] = {
    "s": record(
        *each(I8, "now", "seq", "heap_n"),
        # Earlier events are in the heap, later ones in buckets; NEVER = all are in the heap.
        ("horizon", I8),
        ("bucket_bits", I8),  # a bucket is 2**bucket_bits ns wide
        ("far_n", I8),  # events in buckets
        ("fitted_events", I8),  # events played, and time, when the width was last fitted
        ("fitted_at", I8),
        *each(I8, "free_message", "free_messages", "free_root", "free_roots", "roots_emitted"),
        *each(I8, "root_rows", "execution_rows"),
        ("ready_n", I8),  # threads that found room in the queue they waited for, and may go on
        *each(I8, "ready_head", "events", "nodes", "channels"),
        ("timers", I8),  # number of event sources before those of threads
        ("idle_width", I8),  # columns of idle
        ("sample_every", I8),
        ("lists", I8),  # 1 up to Storm 0.10: a place of a queue holds a list of tuples
        ("version_1", I8),  # 1 from Storm 1.0 on: latency is measured in the acker
        ("netty", I8),  # 1 from Storm 0.9 to 1.x: workers have network threads before their receive thread
        ("version_2", I8),  # 1 from Storm 2.0 on: executors have no send thread
        ("bolt_margin", I8),  # maximum of messages that one event can create
        ("lost", I8),
        ("machine_capacity", I8),  # cores of all nodes' one machine, in 1/1024; 0: each has its own
        ("machine_cores", I8),  # threads that can run on that machine at a time
        ("poll_rate", I8),  # of all nodes that no quota holds back
        ("core_holder", I8),  # thread that keeps its core while it decides what to do next; -1: none
        ("burst_width", I8),  # rows of `burst` for each node
        ("task_pairs", I8),  # traffic counters for each locality
        ("first_link_channel", I8),  # channels for single links are from here on up to the next
        ("first_card_channel", I8),  # one for each node's card, as a receiver
        ("first_uplink_channel", I8),  # limited uplinks: each node's way up, then each one's way down
        *each(I8, "threads", "max_root_rows", "max_execution_rows"),
        ("unread_high", I8),  # bytes that a 2.x worker has not read at which its senders stop writing
        ("unread_low", I8),
        ("link_check", I8),  # 2.x: how often a sender that a cut link stops looks whether it is back
        ("unreached", I8),  # what happens to messages without a connection: an Unreached
        ("queued_bytes", I8),  # heap that a queued tuple takes beside its payload
        ("heap_bytes", I8),
        ("heap_cost", I8),  # cost that a heap adds when it is half full, in 1/65536
        ("full_heap", I8),  # filled part, in 1/1024, from which on a worker only collects garbage
        ("full_heaps", I8),  # number of workers that do
        ("cost_seed", U8),  # seed of the draws of calls' costs
    ),
    "cost": record(
        *each(I8, "dispatch", "emit", "serialise", "serialise_kb", "deserialise", "deserialise_kb", "send"),
        *each(I8, "transfer", "receive", "read", "write", "deliver", "log_emit", "log_receive"),
        *each(I8, "acker", "spout_ack", "poll", "wake", "slice", "turn", "switch"),
        *each(I8, "header_bytes", "uplink_ps_per_byte"),
        ("late", I8),  # how much later than asked a sleep ends
        *each(I8, "idle_sleep", "inactive_sleep", "housekeeping_period", "housekeeping_work"),
        ("wait_work", I8),  # CPU of ending a thread's wait, whether it times out or the thread is woken
        ("asleep", I8),  # most that a long sleep adds to that
        ("sleep_half", I8),  # sleep that adds half of it
        ("cold_cache", I8),  # most that a run costs more after a long wait
        ("cold_cache_half", I8),  # wait that adds half of it
        ("wait_timeout", I8),  # up to 0.10: after that a wait for a queue starts again; 0 = never
        ("waits_work", I8),  # CPU of one thread's time-outs in a housekeeping period
        ("room_poll", I8),  # up to 0.10: CPU of a poll of a thread that waits for room; 0 = it does not poll
        ("flush_work", I8),  # CPU of a connection's flush timer in a housekeeping period
        ("flush_from", I8),  # age of a worker at which these timers begin
        ("warm_excess", I8),  # extra cost of cold code, in 1/65536
        ("compile_calls", I8),  # calls of user code by a worker after which half of what is compiled is due
        ("compile", I8),  # CPU of the compilers until a worker's code is warm
        ("halvings", I8),  # how often the excess halves until then, each time after as much compiling
        ("method", I8),  # CPU of compiling one method
        ("call", I8),  # calls that one played call stands for
        ("spread", I8),  # 1: costs of execute and nextTuple vary
        ("empty_batch", I8),  # up to 0.10: CPU of an idle transfer thread that is woken for nothing
        ("empty_turn", I8),  # CPU of an empty turn of an idle spout, with the end of its sleep
        ("look", I8),  # 2.x: CPU of an idle thread's poll of its queue
        ("look_beside", I8),  # cost of a poll where many threads poll on a core, in 1/1024 of that alone
        ("clocked", I8),  # from this length on, calls of user code measure themselves; 0: none does
        ("interrupts", I8),  # what polls on a core take of a running thread's CPU, see `polling`, in 1/1024
        ("fine_poll", I8),  # how long a thread parks between polls at first ...
        ("parks", I8),  # ... so many times
        ("room_parks", I8),  # the same, where it waits for room
        ("poll_wait", I8),  # how long such a poll waits for the core, where threads run one after another
        ("coarse_poll", I8),  # polling interval after that
        ("room_sleep", I8),  # the same, where it waits for room
        ("high_watermark", I8),  # bytes in a node's card at which a 2.x worker stops writing ...
        ("low_watermark", I8),  # ... and goes on again
        ("receive_batch", I8),
    ),
    "node": cache_line_record(
        ("v", I8),  # virtual time: CPU of a thread that is always on a core, 2**-SHARE_BITS ns
        ("fair", I8),  # the same of a thread that always has the fair share
        ("v_at", I8),  # when both were last advanced
        ("core_free_since", I8),  # when a core last became free after all had been taken
        ("active", I4),  # threads that run
        ("run_queue_length", I4),  # threads in the run queue: they wait for one of those to give up its core
        ("run_queue_head", I4),
        ("head_preempts", I4),  # whether the first of the run queue takes a core at once
        ("vruntimes", I8),  # sum of vruntimes of threads that run or wait in the run queue
        ("last_mean", I8),  # mean vruntime when the last of them left
        ("starting", I4),  # threads of JVMs that start; they always want CPU
        ("cores", I4),
        ("threads", I4),  # hardware threads
        ("slowdown", I4),  # cost multiplier, in 1/1024: clock, processes, memory
        ("fault_slowdown", I4),  # multiplier of a fault, in 1/1024
        ("storm_factor", I4),  # multiplier of Storm's own code, in 1/65536: processor, version
        ("system_factor", I4),  # multiplier of periodic work and wake-ups, in 1/65536: processor
        ("pollers", I4),  # threads that poll: idle ones, those that wait for room, and idle spouts
        *each(I4, "wake_head", "wake_tail"),
        # From here on another cache line: fields used only where threads poll or want more than there is.
        ("ht_gain", I4),  # capacity that each hardware thread beyond the cores adds, in 1/1024 core
        ("periodic_load", I4),  # what its workers' periodic work would take, in 1/1024 core
        ("free", I4),  # what that and other nodes of its machine leave of its cores, in 1/1024 core
        ("max_free", I4),  # what other nodes of its machine leave of them, in 1/1024 core
        ("competitors", I4),  # threads of those nodes that compete for its cores
        ("poll_load_alone", I4),  # CPU of its polls and empty turns if each thread were alone, in 1/1024 core
        ("poll_load", I4),  # CPU that they really take where there is room, in 1/1024 core
        ("poll_rate", I4),  # rate of its polls, in 1/1024 of that of a thread that parks for a nanosecond
        ("poll_cost_part", I4),  # cost of a poll, in 1/1024 of that of one whose core was asleep
        ("poll_clock", I8),  # runs at the speed of the polls, in ns / 1024; polls are due at times of it
        ("poll_cpu_clock", I8),  # runs as fast as they take CPU, in ns / 1024
        # Of a node with a CPU quota: its CPU in each period, and what is left, in ns / 1024; 0 = no quota.
        *each(I8, "quota", "quota_left"),
        *each(I8, "quota_period", "quota_from"),  # ns
        ("throttled", I4),  # 1: it has used its quota up
        # Of a node that shares a machine with others.
        ("granted", I4),  # cores that it has now
        ("short_since", I8),  # since when it has wanted more; NEVER: it does not
        ("last_change", I8),  # sequence number of the last time that it got or gave up a core
        *each(I8, "turn_from", "turn_ends"),  # its turn; NEVER: no other node waits
        ("starting_cpu", I8),  # CPU of starting JVMs since the last sample, ns
        # From here on fields of the network alone.
        *each(I8, "nic_out_free", "nic_in_free", "nic_ps_per_byte"),
        ("rack", I4),
        ("first_channel", I4),  # channel to itself; those to each rack follow
        ("links", I4),  # number of links from it that have a channel of their own
    ),
    "rack": record(("out_free", I8), ("in_free", I8)),
    "channel": cache_line_record(
        ("latency", I8),
        ("up_at", I8),  # when its connections are up again after a cut
        *each(I4, "head", "tail", "cut", "node"),
        # From here on fields of cut or delayed links.
        ("undisturbed", I8),
        ("start", I4),  # of a channel for a single link: its nodes
        ("finish", I4),
        ("gives_up_at", I8),  # when the senders over a cut link stop trying to connect
        ("held_head", I4),  # messages that wait for the end of the cut
        ("held_tail", I4),
        ("held_bytes", I8),
    ),
    "worker": cache_line_record(
        ("unread", I8),  # 2.x: bytes sent to it that its receive thread has not read
        ("last_batch", I8),  # number of the last batch that read from it or wrote to it
        ("held_until", I8),  # until then its table of connections is locked and it sends nothing
        ("node", I4),
        ("calls", I4),  # calls of user code by its executors
        ("route", I4),  # where in `route` task 0 would be, in the routing table that this worker sees
        *each(I4, "receive_thread", "transfer_thread", "network_thread"),
        ("warm_excess", I4),  # extra cost of cold code, in 1/65536
        ("heap_excess", I4),  # extra cost of garbage collection with what is queued, in 1/65536
        ("log_holder", I4),  # thread that writes into the log, with debug logging
        ("last_read", I4),  # last message of that batch that was read from it
        ("alive", I1),
        # Fields from here on are seldom used.
        ("log_turn", I8),  # CPU that the thread that holds its log has spent since it got the log, ns
        ("backlog", I8),  # CPU that its housekeeping thread has still to spend, ns
        ("wait_balance", I8),  # CPU of waits that ended in this period, less what was charged before
        ("periodic_load", I4),  # what its periodic work takes of a core in this period, in 1/1024
        ("compile_due", I8),  # CPU of compiling what its calls so far have made hot, ns
        ("to_compile", I8),  # the part of it that no compiler has begun
        ("started", I8),
        ("topology", I4),
        ("rack", I4),  # of its node
        ("waiting", I4),  # threads that wait for their queues, with a time-out
        ("refresh_due", I8),  # when its timer for load-aware shuffles fires next
        ("report_due", I8),  # from when on it then reports the loads of its executors
        ("housekept_at", I8),  # when its last housekeeping period ended
        ("awake_until", I8),  # until then its idle transfer thread is awake, as it was woken for nothing
        ("connections", I4),  # to workers that its executors send to
        *each(I4, "housekeeping_thread", "compiler_thread"),  # the first of its compiler threads
        ("parked_head", I4),  # messages that wait because their executor is out of reach
        ("parked_tail", I4),
        ("dropped", I8),  # messages dropped because their executor was out of reach
        ("full_since", I8),  # since when it only collects garbage; 0 = it does not
        ("connecting", I4),  # 1: it lacks a connection that it wants
        ("log_head", I4),  # threads that wait to write
        ("log_tail", I4),
    ),
    "executor": cache_line_record(
        ("poll_phase", I8),
        *each(I4, "worker", "topology", "component"),
        ("first_task", I4),  # global task index
        *each(I4, "tasks", "main_thread", "source", "pending"),
        ("bucket", I4),  # rotations of the pending map so far
        *each(I4, "first_pending", "last_pending"),
        *each(I1, "alive", "active", "turn"),
        ("in_idle_table", I1),  # 1: it is in its source's table of idle spouts
        # Fields from here on are used less often.
        *each(I8, "started", "line"),
        ("fetch_end", I8),  # when its client's fetch thread delivers, or delivered, the next lines
        *each(I4, "send_thread", "turn_task"),
        ("reported_load", I4),  # load of its queue, as last reported to other workers, in 1/1000
        ("turn_head", I4),  # acks taken in this turn
        ("fetched", I4),  # lines of its last fetch that it has not emitted yet
        ("attempt", I4),
    ),
    "thread": cache_line_record(
        ("cpu", I8),  # CPU used since the last sample
        ("since", I8),  # start of the present execute; of a woken thread: when it will run at the latest
        ("awake", I8),  # of a woken thread: from when on it can run
        *each(I4, "node", "worker", "head", "tail", "out_head", "out_tail", "length", "capacity"),
        ("places", I4),  # places of its queue that are in use, including those of the present batch
        ("waiters", I4),
        *each(I1, "kind", "state"),
        ("waits", I1),  # 1: it waits for room in another thread's queue
        *each(I1, "wait", "serialising"),
        ("resetting", I1),  # reset of the time-out of its tuple: 1 = not sent yet, 2 = sent
        ("flagged", I1),  # 1.x: its queue is so full that it asks the topology's spouts to stop
        ("role", I1),  # of a main thread: what it runs
        ("gathers", I1),  # from 1.0 on, 1: it gathers batches for the queues that it puts tuples into
        ("flushing", I1),  # 2.x: a flush tuple has told it to hand its batches over
        ("wait_ended_by", I1),  # how its wait ended: WOKEN, ...; NOT_IDLE once it is charged for that
        # Fields from here on are used less often.
        ("log_work", I8),  # CPU of the log lines that it has still to write for the present tuple, ns
        ("hand_over", I8),  # number of its present batch, and of the last batch that has a place in its queue
        ("placed", I8),
        *each(I4, "executor", "current", "last_waiter", "next_waiter", "next_wake"),
        # Its turns on a core.
        ("vruntime", I8),  # CPU that it has had, ns; while it runs, less its node's `v`
        ("lag", I8),  # how far it was behind the mean when it last gave up its core, ns
        ("core_from", I8),  # its node's `v` when it got its core, ns
        ("left", I8),  # what is left of its burst, 2**-SHARE_BITS ns; -1: it has none yet, only wants a core
        ("work", I8),  # CPU of its burst, ns
        ("next_in_run_queue", I4),
        ("core", I4),  # the core that it has, or had last
        ("in_run_queue", I1),
        ("batch", I4),  # messages of the present batch that are still in the queue
        ("held", I4),  # messages of the present batch that were taken
        ("held_places", I4),  # places of these, which become free when the batch is done
        ("next_log", I4),
        ("poll_load", I4),  # what its polls take of a core, in 1/1024
        ("idle_from", I8),  # when it became idle
        ("waits_charged_to", I8),  # until when its worker's housekeeping had charged for waits at that time
        ("poll_rate", I4),  # its part of its node's `poll_rate`
        ("poll_every", I8),  # polling interval; 0 = it does not poll
        ("poll_from", I8),  # its node's `poll_clock` when it began to poll at this interval
        ("wait_from", I8),  # its node's `poll_clock` when it began to wait
        ("polls_charged_to", I8),  # its node's `poll_cpu_clock` up to which its polls' CPU has been counted
        ("poll_slept", I8),  # how long its core sleeps before each of its polls, ns
        ("log", I1),  # 1: it writes into the log, 2: it holds the log and does something else
        ("batches", I4),  # the first of the batches that it gathers
        # 2.x: messages of other workers that found its queue full.
        *each(I4, "overflow_head", "overflow_tail"),
        ("overflow", I4),  # how many there are
        ("overflow_due", I4),  # how many of them it takes before it looks at its queue again
        ("stops_senders", I1),  # 1: there were some when its worker's timer last looked
        *each(I4, "senders", "last_sender"),  # executors of other workers that wait for that to end
    ),
    "message": cache_line_record(
        ("edge", U8),
        ("time", I8),  # arrival on a connection, or entry into the receive queue
        ("number", I8),  # root number, for the log; -1 = not logged
        ("next", I4),
        ("task", I4),  # global index of the target task
        ("target", I4),  # executor instance that the sender chose
        ("source_task", I4),  # global index; -1 = system
        *each(I4, "root", "record", "bytes"),
        *each(I1, "kind", "locality"),
        ("place", I1),  # 1: it takes a place in its queue, 0: it shares the place of the message before
    ),
    # From 1.0 on: a batch that a thread gathers for a queue, in the row with the number of its first message.
    "batch": record(*each(I4, "receiver", "tail", "length", "next")),
    "root": cache_line_record(
        *each(U8, "id", "ledger"),
        ("init_time", I8),  # when the acker got the init message; -1: it has not
        *each(I8, "number", "line", "emitted", "delta", "sleep"),
        ("references", I4),
        ("executor", I4),  # spout executor instance that waits for it
        ("task", I4),
        ("acker", I4),  # acker instance that holds the entry
        ("rotation", I4),  # the acker's rotation count when the entry was last renewed
        *each(I4, "next", "previous", "bucket", "attempt"),
        ("outcome", I1),
        ("failed", I1),  # a bolt has failed a tuple of its tree
    ),
    "task": cache_line_record(
        ("rng", U8),
        ("execute", I8),
        ("calls", I8),  # calls of user code so far: numbers the draws of their costs
        ("component", I4),
        ("id", I4),  # task id in its topology
        ("local", I4),  # index among the component's tasks
        ("shuffle", I4),  # first entry of its grouping states; one per subscription of its component
        *each(I4, "emitted", "transferred", "executed", "acked", "failed"),
    ),
    "root_row": record(
        *each(I8, "number", "topology", "task", "line", "attempt", "emitted", "completed", "outcome"),
        *each(I8, "latency", "sleep"),
    ),
    "execution_row": record(
        *each(I8, "number", "task", "source_task", "worker", "locality", "enqueued", "started", "ended"),
    ),
}
