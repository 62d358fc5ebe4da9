"""The cost model: CPU and time that handling a tuple takes, on any node and under any schedule.

Every physical or fitted constant of the data plane is defined once, here or in `SystemCost`. CPU costs hold
at ``reference_mhz`` and scale with a node's clock. Ranges are those of plausible hardware and of published
measurements. *Fitted* constants were moved within them, on the recordings that the calibration file names.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.emulator.system_cost import SystemCost
from storm_lab.model import Node, StormVersion
from storm_lab.model.constant import check_constants, constant
from storm_lab.model.version import V0_10_0, V1_0_0, V2_0_0

_RANGE = "physical range of a JVM of that time on 2-3 GHz cores"


@dataclass(frozen=True, slots=True)
class CostModel(SystemCost):
    """Costs of the message path, the acker and the JVM, beside those of the system that they run on."""

    reference_mhz: float = constant(2000.0, (500, 6000), "clock at which the CPU costs hold")
    dispatch_us: float = constant(4.0, (1, 20), f"take a tuple from its queue and call execute; {_RANGE}")
    emit_us: float = constant(
        1.5,
        allowed=(0.5, 20),
        source="choose a target and hand over one copy. In a chain of live Storm 0.9.2 whose bolts do "
        "nothing the last bolt's thread takes 0.58 us a tuple, which is `dispatch_us`, and the spout's 0.47 "
        "us: `poll_us` and this. Spouts that emit four copies take 1.1 to 2.1 us more than those that emit "
        "one, under HotSpot's first compiler, where a dispatch takes 1.7",
    )
    serialise_us: float = constant(
        7.0,
        allowed=(0.2, 60),
        source="Kryo, small record, at the sender; send threads of live Storm 0.9.2, flooded on one-core "
        "hosts, batches of 40 tuples and more: 3.5 us with `send_us`, on a core 2.6 times as fast. Most of "
        "that is not Kryo on Java 17, so machines of live runs have 1.6, and 3 for `send_us`; R-Storm's "
        "recordings agree less with these",
    )
    serialise_us_per_kb: float = constant(5.0, (2, 15), f"Kryo, part by size; {_RANGE}", unit="us/KB")
    deserialise_us: float = constant(
        6.0,
        allowed=(0.2, 60),
        source="Kryo, at the receiver; in the same runs, the difference between bolts that receive all of "
        "their tuples from other workers and bolts that receive half of them: 2.3 us; in later ones none, so "
        "machines of live runs have 1",
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
        0.147,
        allowed=(0.02, 1.0),
        source="cost of Storm's own code in 2.x (JCTools queues, no send threads) relative to 0.9; live "
        "Storm 2.8.3, CPU of a chain of bolts that do nothing, six set-ups, 2.0 work per clock",
    )
    kryo_2_factor: float = constant(
        0.24,
        allowed=(0.05, 2.0),
        source="cost of Kryo in 2.x relative to 0.9, beside that of Storm's own code; threads of live Storm "
        "2.8.3 that serialise 1.8 and deserialise 1.3 of what `storm_2_factor` makes of 7 and 6 us",
    )
    code_factor: float = constant(
        1.0,
        allowed=(0.1, 4.0),
        source="cost of Storm's own code on the Java version that runs it, relative to these CPU costs; live "
        "Storm 0.9.2 on Java 17, chains of bolts that do nothing in one worker, on a core 2.6 times as fast: "
        "0.33 with HotSpot's second compiler, 0.9 with its first compiler alone",
    )
    read_us: float = constant(
        52.0,
        allowed=(0, 100),
        source="system call and event loop turn that read everything a batch holds from one worker, in all "
        "versions; live Storm 0.9.2, flooded, wake-up included. 0: included in the tuples",
    )
    write_us: float = constant(
        57.0,
        allowed=(0, 400),
        source="wake-up of the event loop that writes everything a batch holds for one worker, and its "
        "system call, in all versions; live Storm 0.9.2, flooded. More on idle virtual cores",
    )
    deliver_us: float = constant(2.0, (0.5, 20), f"receive thread behind a network one, per tuple; {_RANGE}")
    acker_us: float = constant(5.0, (3, 10), "hash map update; Storm@Twitter section 3.3.2 bounds it")
    spout_ack_us: float = constant(5.0, (1, 20), f"pending map and user ack; {_RANGE}")
    poll_us: float = constant(2.0, (1, 50), "one nextTuple call without user code; as for `emit_us`")
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
    idle_jvm_share: float = constant(
        0.0062,
        unit="cores",
        allowed=(0.0, 0.1),
        source="a worker's heartbeat, written to disk every second; 2.4 ms/s on live Storm 0.9.2, on a core "
        "2.6 times as fast. Workers on Java 17, including the JVM's timers, ZooKeeper's client and their own "
        "threads: 11 to 20 ms/s, at any rate of tuples",
    )
    flush_us: float = constant(
        26.0,
        allowed=(0, 80),
        source="one turn of the flush timer of a Netty connection (0.9.0 to 0.9.2: 100 per second from 30 s "
        "on); live Storm 0.9.2: 1 ms/s per connection, on a core 2.6 times as fast",
    )
    housekeeping_period_ms: float = constant(100.0, (10, 1000), "how often CPU for housekeeping is charged")
    worker_memory_mb: float = constant(768.0, (256, 2048), "heap of a worker, Storm's default -Xmx768m")
    resident_mb: float = constant(
        200.0,
        allowed=(50, 2400),
        source="memory that a worker process actually uses, as most of its heap is empty; live Storm, 0.9.2 "
        "and 2.8.3: 105 to 290 MB",
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
    receive_batch: float = constant(
        8.0, (1, 100), "topology.receiver.buffer.size, up to 0.9.1", unit="tuples"
    )
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
