"""The cost model: CPU and time that handling a tuple takes, on any node and under any schedule.

Every physical or fitted constant of the data plane is defined here once. CPU costs hold at ``reference_mhz``
and scale with a node's clock. Ranges are those of plausible hardware and of published measurements. *Fitted*
constants were moved within them, on the claims and recordings that the calibration file names.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.model import Node, StormVersion
from storm_lab.model.constant import check_constants, constant
from storm_lab.model.version import V0_10_0, V1_0_0, V2_0_0

_RANGE = "physical range of a JVM of that time on 2-3 GHz cores"


@dataclass(frozen=True, slots=True)
class CostModel:
    """Costs of the message path, the acker, the operating system and the network."""

    reference_mhz: float = constant(2000.0, (500, 6000), "clock at which the CPU costs hold")
    dispatch_us: float = constant(4.0, (1, 20), f"take a tuple from its queue and call execute; {_RANGE}")
    emit_us: float = constant(3.0, (0.5, 20), f"choose a target and hand over one copy; {_RANGE}")
    serialise_us: float = constant(
        7.0,
        allowed=(5, 60),
        source="Kryo, small record, at the sender; send threads of live Storm 0.9.2, flooded on one-core "
        "hosts, batches of 40 tuples and more: 3.5 us with `send_us`, on a core 2.6 times as fast",
    )
    serialise_us_per_kb: float = constant(5.0, (2, 15), f"Kryo, part by size; {_RANGE}", unit="us/KB")
    deserialise_us: float = constant(
        6.0,
        allowed=(5, 60),
        source="Kryo, at the receiver; in the same runs, the difference between bolts that receive all of "
        "their tuples from other workers and bolts that receive half of them: 2.3 us",
    )
    deserialise_us_per_kb: float = constant(5.0, (2, 15), f"Kryo, part by size; {_RANGE}", unit="us/KB")
    send_us: float = constant(2.0, (0.5, 10), f"send thread, per tuple; {_RANGE}")
    transfer_us: float = constant(
        0.5,
        allowed=(0.1, 30),
        source="transfer thread, per tuple, without the system call of its batch; the same runs, batches of "
        "8 to 50 tuples: 8.7 us per batch and 0.15 us per tuple, on a core 2.6 times as fast",
    )
    receive_us: float = constant(
        1.0,
        allowed=(0.1, 60),
        source="decode an arriving tuple and pass it on, without its batch's system call; the same runs, "
        "batches of 13 to 60: 25 us per batch and 0.15 to 0.3 us per tuple, on a core 2.6 times as fast. "
        "Paid by the receive thread (0.8, 2.x) or the network thread, even if the tuple is never executed",
    )
    zeromq_factor: float = constant(
        1.67,
        allowed=(1.0, 2.5),
        source="cost of sending and receiving over ZeroMQ (0.8) relative to Netty (from 0.9 on); Yahoo's "
        "comparison of both in Storm, 3 to 408 workers: 40 to 100 percent more messages with Netty",
    )
    storm_1_factor: float = constant(
        0.4,
        allowed=(0.1, 1.0),
        source="cost of Storm's own code in 1.x (batches) relative to 0.9; live Storm 1.2.4 and 0.9.2, a "
        "chain of bolts that do nothing in one worker: 1.37 against 3.46 us without acks, 5.5 against 13.8 "
        "with acks",
    )
    storm_2_factor: float = constant(
        0.1,
        allowed=(0.02, 1.0),
        source="cost of Storm's own code in 2.x (JCTools queues, no send threads) relative to 0.9; live "
        "Storm 2.8.3, CPU of a chain of bolts that do nothing, six set-ups, 2.0 work per clock",
    )
    code_factor: float = constant(
        1.0,
        allowed=(0.1, 4.0),
        source="cost of Storm's own code on the Java version that runs it, relative to these CPU costs; live "
        "Storm 0.9.2 on Java 17, chains of bolts that do nothing in one worker, on a core 2.6 times as fast: "
        "0.33 with HotSpot's second compiler, 0.9 with its first compiler alone",
    )
    read_us: float = constant(
        39.9,
        allowed=(0, 100),
        source="system call and event loop turn that read everything a batch holds from one worker, in all "
        f"versions; {_RANGE}; live Storm 0.9.2, flooded: 52, wake-up included. 0: included in the tuples",
        fitted=True,
    )
    write_us: float = constant(
        48.7,
        allowed=(0, 400),
        source="wake-up of the event loop that writes everything a batch holds for one worker, and its "
        f"system call, in all versions; {_RANGE}; live Storm 0.9.2, flooded: 57. More on idle virtual cores",
        fitted=True,
    )
    deliver_us: float = constant(2.0, (0.5, 20), f"receive thread behind a network one, per tuple; {_RANGE}")
    acker_us: float = constant(5.0, (3, 10), "hash map update; Storm@Twitter section 3.3.2 bounds it")
    spout_ack_us: float = constant(5.0, (1, 20), f"pending map and user ack; {_RANGE}")
    poll_us: float = constant(5.0, (1, 50), f"one nextTuple call without user code; {_RANGE}")
    log_emit_us: float = constant(
        20.0,
        allowed=(10, 200),
        source="topology.debug: format and write the log line of an emit; spouts of live Storm 0.9.2 with "
        "and without it, HotSpot's first compiler: 7.6 us, on a core 2.6 times as fast",
    )
    log_receive_us: float = constant(
        19.0,
        allowed=(10, 200),
        source="topology.debug: format and write the log line of a received tuple; bolts of the same runs: "
        "15 us for both lines of a tuple",
    )
    slice_us: float = constant(
        750.0,
        allowed=(0, 10000),
        source="how long a thread keeps a core that others want: the shortest time slice of Linux up to 6.5 "
        "on one CPU (sysctl_sched_min_granularity of fair.c). A woken thread waits this long for a core if "
        "none becomes free, and a thread that writes to a log on a single core keeps the log this long; 0 = "
        "a woken thread runs at once",
    )
    turn_us: float = constant(
        0.0,
        allowed=(0, 10000),
        source="how long a thread keeps a core that others want if only as many threads as cores run at a "
        "time, in turn, as under Linux since 6.6: the shortest slice of its scheduler (base_slice_ns of "
        "fair.c), 0.7 ms in 6.18, and 1.4 ms on two cores; 0 = all run at once, after a wait of slice_us",
    )
    wake_us: float = constant(30.0, (5, 100), "from futex wake to running, Linux")
    switch_us: float = constant(
        1.8,
        allowed=(0, 50),
        source="context switch, per burst and run-queue round; Li, Ding and Shen, Quantifying the cost of "
        "context switch (2007): 3.8 us on a Xeon of 2.0 GHz and R-Storm's family. 0 on machines of recorded "
        "live runs, where consumer_wake_us includes it: each run of a thread there costs 7.1 us for wake-up "
        "and switch together",
    )
    loopback_us: float = constant(
        50.0,
        allowed=(1, 500),
        source="loopback TCP between processes of a node; polled sockets: 4 and 9 us, depending on machine",
    )
    lan_us: float = constant(
        100.0,
        allowed=(1, 300),
        source="switched Ethernet, one way, same rack; between network namespaces of one machine 11 us",
    )
    inter_rack_us: float = constant(0.0, (0, 5000), "extra one-way latency between racks; R-Storm: 2000")
    uplink_mbps: float = constant(0.0, (0, 100000), "a rack's uplink; 0 = no limit", unit="Mbit/s")
    header_bytes: float = constant(90.0, (40, 200), "TCP/IP/Ethernet and Storm's own header, per tuple")
    idle_jvm_share: float = constant(
        0.0062,
        unit="cores",
        allowed=(0.0, 0.1),
        source="a worker's heartbeat, written to disk every second; 2.4 ms/s on live Storm 0.9.2, on a core "
        "2.6 times as fast. Workers on Java 17, including the JVM's timers, ZooKeeper's client and their own "
        "threads: 11 to 20 ms/s, at any rate of tuples",
    )
    consumer_wake_us: float = constant(
        13.2,
        allowed=(0, 120),
        source="CPU of a thread whose wait ends: by a wake-up, at its time-out (up to 0.10: two threads per "
        "bolt, one per spout, three per worker), or between turns of an idle spout; live Storm 0.9.2: 5.6 "
        "ms/s of an idle worker, less its heartbeat, in 630 waits, on a core 2.6 times as fast. On idle "
        "virtual cores each takes 16 to 20 us, three times as much",
    )
    asleep_us: float = constant(
        0.0,
        allowed=(0, 1000),
        source="extra cost of ending a wait after a long sleep of the thread and of its core, which stays "
        "awake while other threads use it. Threads of Java 17 that wake each other on idle virtual cores: 8 "
        "us after 0.2 ms of sleep, 15 after 0.5, 23 after 1, 32 to 38 from 5 ms on; of C on two cores: 25 "
        "after 20 ms, 7 if another thread keeps the core busy. 0: not measured on physical hardware",
    )
    sleep_half_us: float = constant(1500.0, (100, 20000), "sleep that adds half of it; same measurement")
    cold_cache_us: float = constant(
        0.0,
        allowed=(0, 1000),
        source="extra cost of a thread's run after a long wait, when its code and data have left the core's "
        "caches, whether or not the core slept. Threads of Java 17 in a ring, all compiled, two virtual "
        "cores at 2.6 GHz, after waits of 1, 5, 10, 20, 50 and 100 ms: 9.5, 10, 14, 14 to 18, 18 to 21, 19 "
        "to 20 us a run, and as much beside threads that keep both cores awake (but 9 in one play of 100 "
        "ms); with 32 KB of data each 10, 12, 14, 20, 29, 24. Threads of Storm run more code: of 0, 40, 80, "
        "120, 160 and 220, 120 is nearest to the calibrating scenes of live Storm on three machines. 0: not "
        "measured on physical hardware",
    )
    cold_cache_half_us: float = constant(
        15000.0, (100, 200000), "wait that adds half of it; same measurement"
    )
    timer_slack_us: float = constant(
        55.0,
        allowed=(0, 250),
        source="how much later than requested a sleep ends, also in nextTuple: Linux's timer slack of 50 us "
        "and the wake-up; parkNanos(1) of Java 17 takes 55 us, and a sleep of 1 ms in live Storm, 0.9.2 and "
        "2.8.3, takes 1.06 ms. Sleeps of 1 and of 5 ms in Java 17 on slower, idle virtual cores: 128 and 169 "
        "us (median of thousands; tenth to ninetieth percentile: 105 to 166 and 134 to 242)",
    )
    flush_us: float = constant(
        26.0,
        allowed=(0, 80),
        source="one turn of the flush timer of a Netty connection (0.9.0 to 0.9.2: 100 per second from 30 s "
        "on); live Storm 0.9.2: 1 ms/s per connection, on a core 2.6 times as fast",
    )
    housekeeping_period_ms: float = constant(100.0, (10, 1000), "how often CPU for housekeeping is charged")
    hyper_thread_gain: float = constant(
        0.25, (0.0, 0.5), "capacity that a core's hardware threads beyond the first add", unit="cores"
    )
    process_penalty: float = constant(
        0.13,
        allowed=(0.0, 1.0),
        source="extra cost of code that shares its core's caches with another worker process; live Storm "
        "0.9.2, executor threads beside a second JVM: 10 to 16 % more CPU per tuple. 0 on machines of "
        "recorded live runs, where all but one or two of the workers are idle",
    )
    worker_memory_mb: float = constant(768.0, (256, 2048), "heap of a worker, Storm's default -Xmx768m")
    resident_mb: float = constant(
        200.0,
        allowed=(50, 2400),
        source="memory that a worker process actually uses, as most of its heap is empty; live Storm, 0.9.2 "
        "and 2.8.3: 105 to 290 MB",
    )
    system_memory_mb: float = constant(300.0, (100, 800), "operating system and supervisor")
    memory_slowdown: float = constant(
        2.0,
        allowed=(0.0, 10.0),
        source="slowdown per unit of memory demanded beyond a node's RAM, in units of that RAM. Four plain "
        "JVMs, each with a circulating queue in half of its 768 MB, swapping to a virtual disk: 2 to 2.7 "
        "times slower with 9 to 33 % too little memory, so this value is low",
    )
    queued_tuple_bytes: float = constant(
        200.0,
        allowed=(100, 2000),
        source="heap used by a queued tuple: byte array, message and queue node, with their headers",
    )
    full_heap_cost: float = constant(
        0.01,
        allowed=(0.0, 1.0),
        source="share that garbage collection adds to a worker's costs when queued tuples fill half of its "
        "heap; a queue of tuples of 164 bytes in half of 768 MB, serial collector of a plain JVM: 0.7 to 0.8 "
        "us of CPU per tuple, with 1 as with 4 KB of other garbage, on a core 2.6 times as fast, in addition "
        "to about 190 us per tuple with its log lines",
    )
    silent_heap_share: float = constant(
        0.98,
        allowed=(0.5, 1.0),
        source="share of its heap that queued tuples fill when a worker only collects garbage, sends no "
        "heartbeats and is therefore killed; HotSpot's limit of 2 % free. Live Storm 0.9.2 in 64 MB: 50 MB "
        "of live data in a receiver that fell silent, 61 in its sender when it ended, of which some 10 MB "
        "each are the JVM's own; 1 = never",
    )
    warm_up_factor: float = constant(
        6.0,
        allowed=(1, 60),
        source="cost of the framework's code when interpreted, relative to compiled; an identity bolt of 10 "
        "KB tuples on a plain JVM 5 to 6.5, latency of a chain on live Storm 2.8.3 in its first calls 5.4; "
        "an identity bolt of 60 bytes 20 to 43",
    )
    warm_up_calls: float = constant(
        2400.0,
        allowed=(200, 100000),
        source="calls of user code in a worker after which half of that excess is gone; identity bolt on a "
        "plain JVM with HotSpot's server compiler (threshold 10,000). Java 17, which compiles in tiers: "
        "1.5 to 12 times as many, fitted to floods and bursts of live Storm",
    )
    compile_s: float = constant(
        12.0,
        allowed=(0, 60),
        source="CPU of the compiler threads while a worker's code warms up; live Storm: 0.1 to 0.4 cores in "
        "the first minute, on a core 2.6 times as fast",
    )
    jvm_start_cpu_s: float = constant(
        6.5,
        allowed=(0, 40),
        source="CPU of a worker JVM until it listens, half of it for compilers; live Storm 0.9.2 and 2.8.3: "
        "2.3 to 2.8 s, and 1.2 to 1.9 with the first compiler alone, on a core 2.6 times as fast; 0 = "
        "starting JVMs slow nothing down",
    )
    jvm_start_cv: float = constant(
        0.12, (0, 0.5), "coefficient of variation of that CPU; 51 plays of live Storm: 0.10 to 0.14; 0 = none"
    )
    log_writer_part: float = constant(
        0.3,
        allowed=(0, 1),
        source="CPU for starting a worker's second JVM, LogWriter, which starts the first one and writes its "
        "log (from 0.10.0 on), relative to the first; live Storm 2.8.3: 0.8 s for each of eight, whose "
        "workers took 2.1 to 3.4 s",
        unit="of a start",
    )
    warm_up_halvings: float = constant(
        7.0,
        allowed=(1, 20),
        source="how often that excess halves during compilation, as the hottest code is compiled first; "
        "floods of live Storm 0.9.2 by age of the worker, two slow machines: 187 to 85 and 163 to 81 us of "
        "CPU per tuple",
        unit="halvings",
    )
    compile_burst_ms: float = constant(
        20.0, (1, 500), "CPU that a compiler thread uses at a time, for one method; assumed, not measured"
    )
    service_cv: float = constant(
        0.35,
        allowed=(0, 1.5),
        source="coefficient of variation of a call of user code; an identity bolt of 10 KB tuples on a plain "
        "JVM: 0.30 to 0.39 in CPU, 0.34 and 0.35 in time without the longest of a thousand; 0 = no spread",
    )
    look_us: float = constant(
        15.0,
        allowed=(0, 40),
        source="CPU per poll of a thread that parks for a nanosecond: an idle thread at its queue (2.x), or "
        "one that waits for room in a queue (up to 0.10); parkNanos of Java 17 and idle bolts of live Storm "
        "2.8.3: 5.9 us on a core 2.6 times as fast; live Storm 0.9.2, threads that wait for room: 7.6 with "
        "two on a core, 4.3 with ten; 0 = idle threads are woken, and polls are free",
    )
    look_beside: float = constant(
        0.45,
        allowed=(0.0, 1.0),
        source="CPU of a poll where many threads poll on a core, relative to one thread alone, whose core "
        "sleeps; parkNanos(1) of Java 17 by 1, 2, 4, 8 and 16 threads on a core: 5.9, 4.0, 3.3, 2.8, 2.8 us",
    )
    receive_batch: float = constant(8.0, (1, 100), "topology.receiver.buffer.size, up to 0.9", unit="tuples")
    server_places: float = constant(
        0.0, (0, 1000), "requests a server handles at once; 0 = no limit", unit="places"
    )
    server_latency_us: float = constant(200.0, (50, 2000), "round trip to a server in the same LAN")

    def __post_init__(self) -> None:
        check_constants(self)

    def version_factor(self, version: StormVersion) -> float:
        """Factor on the CPU costs for the code of a Storm version; log lines are not included."""
        later = self.storm_2_factor if version >= V2_0_0 else self.storm_1_factor
        return self.code_factor * (later if version >= V1_0_0 else 1.0)

    def slowdown(self, node: Node, processes: int) -> float:
        """Factor by which all CPU costs on a node grow: its clock, processes, and memory beyond its RAM."""
        demand = self.system_memory_mb + processes * self.resident_mb
        excess = max(0.0, demand / node.memory_mb - 1.0)
        slow = self.reference_mhz / node.core_mhz * self.cache_sharing_factor(node, processes)
        return slow * (1.0 + self.memory_slowdown * excess)

    def worker_start_ns(self, node: Node, version: StormVersion) -> int:
        """CPU in ns for starting a worker's JVM on a node, with its log writer's JVM from 0.10.0 on."""
        slow = self.reference_mhz / (node.core_mhz * node.work_per_clock)
        jvms = 1.0 + (self.log_writer_part if version >= V0_10_0 else 0.0)
        return round(self.jvm_start_cpu_s * jvms * slow * 1e9)

    def cache_sharing_factor(self, node: Node, processes: int) -> float:
        """Factor by which code costs more because its core's caches are shared with other worker processes.

        With n processes on c cores, each core has (n - 1) / c others. More than one other process cannot
        displace more than the whole cache.
        """
        others = min(1.0, max(0, processes - 1) / node.cores)
        return 1.0 + self.process_penalty * others
