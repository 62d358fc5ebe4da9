"""The cost model: what handling a tuple costs in CPU and time, on any node, under any schedule.

Every physical or fitted constant of the data plane stands here once. CPU costs hold at ``reference_mhz``
and scale with a node's clock. The ranges are those of plausible hardware and of published measurements; a
constant marked *fitted* was moved inside its range by the calibration procedure, on the claims and
recordings that the calibration file names.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.emulator.constant import check_constants, constant
from storm_lab.model import Node

_RANGE = "physical range of a JVM of that time on 2-3 GHz cores"


@dataclass(frozen=True, slots=True)
class CostModel:
    """Costs of the message path, the acker, the operating system and the network."""

    reference_mhz: float = constant(2000.0, "MHz", 500, 6000, "clock at which the CPU costs hold")
    dispatch_us: float = constant(
        4.0, "us", 1, 20, f"take a tuple from the receive queue and call execute; {_RANGE}"
    )
    emit_us: float = constant(3.0, "us", 0.5, 20, f"choose a target and hand one copy over; {_RANGE}")
    serialise_us: float = constant(
        13.0, "us", 5, 60, f"Kryo, small record, sender's end; {_RANGE}", fitted=True
    )
    serialise_us_per_kb: float = constant(5.0, "us/KB", 2, 15, f"Kryo, size part; {_RANGE}")
    deserialise_us: float = constant(5.61, "us", 5, 60, f"Kryo, receiver's end; {_RANGE}", fitted=True)
    deserialise_us_per_kb: float = constant(5.0, "us/KB", 2, 15, f"Kryo, size part; {_RANGE}")
    send_us: float = constant(2.0, "us", 0.5, 10, f"send thread, per tuple; {_RANGE}")
    transfer_us: float = constant(
        1.89,
        "us",
        0.5,
        30,
        f"transfer thread, per tuple, beside the system call of its batch; {_RANGE}",
        fitted=True,
    )
    receive_us: float = constant(
        21.8,
        "us",
        2,
        60,
        "decode an arriving tuple and pass it on, beside the system call of its batch; "
        f"{_RANGE}. Receive thread (0.8, 2.x) "
        "or network thread (0.9 to 1.x), which does so whether or not the tuple is ever executed",
        fitted=True,
    )
    read_us: float = constant(
        39.0,
        "us",
        0,
        60,
        "system call and turn of the event loop that read all that a batch holds from one worker; "
        f"{_RANGE}. Tuples that wait share it; 0 leaves it to them",
        fitted=True,
    )
    write_us: float = constant(
        12.3,
        "us",
        0,
        60,
        f"system call that writes all that a batch holds for one worker; {_RANGE}",
        fitted=True,
    )
    deliver_us: float = constant(
        2.0, "us", 0.5, 20, f"receive thread behind a network thread, per tuple; {_RANGE}"
    )
    acker_us: float = constant(5.0, "us", 3, 10, "hash map update; Storm@Twitter section 3.3.2 bounds it")
    spout_ack_us: float = constant(5.0, "us", 1, 20, f"pending map and user ack; {_RANGE}")
    poll_us: float = constant(5.0, "us", 1, 50, f"one nextTuple call without user code; {_RANGE}")
    log_emit_us: float = constant(
        63.7,
        "us",
        10,
        200,
        "topology.debug: format and write the log line of an emit; R-Storm's recordings",
        fitted=True,
    )
    log_receive_us: float = constant(
        15.7,
        "us",
        10,
        200,
        "topology.debug: format and write the log line of a received tuple; R-Storm's recordings",
        fitted=True,
    )
    log_turn_us: float = constant(
        3000.0,
        "us",
        0,
        100000,
        "how long a thread on a single core keeps the log while others of its worker wait for it: a "
        "time slice of Linux, 0.75 to 100 ms; 0 = the log changes hands after every tuple; chosen in that "
        "range with the sinks and ratios of R-Storm's recordings in view",
        fitted=True,
        by_hand=True,
    )
    wake_us: float = constant(30.0, "us", 5, 100, "futex wake to running, Linux")
    switch_us: float = constant(
        2.13, "us", 1, 50, "context switch and cache refill, per burst and run-queue round", fitted=True
    )
    loopback_us: float = constant(50.0, "us", 20, 500, "loopback TCP between processes of a node")
    lan_us: float = constant(100.0, "us", 50, 300, "switched Ethernet, one way, same rack")
    inter_rack_us: float = constant(
        0.0, "us", 0, 5000, "further one-way latency between racks; R-Storm: 2000"
    )
    uplink_mbps: float = constant(0.0, "Mbit/s", 0, 100000, "a rack's uplink; 0 = no limit")
    header_bytes: float = constant(
        90.0, "bytes", 40, 200, "TCP/IP/Ethernet and Storm's own header, per tuple"
    )
    idle_jvm_share: float = constant(
        0.0031,
        "cores",
        0.0,
        0.05,
        "a worker's heartbeat, written to disk every second; 2.4 ms/s at 2.6 GHz on live Storm 0.9.2",
    )
    consumer_wake_us: float = constant(
        6.6,
        "us",
        0,
        20,
        "a thread whose wait for its queue ends after 10 ms (0.8, 0.9: two an executor, three a "
        "worker); live Storm 0.9.2: 5.6 ms/s of an idle worker at 2.6 GHz, less its heartbeat, in 630 waits",
    )
    flush_us: float = constant(
        13.0,
        "us",
        0,
        40,
        "a turn of the flush timer of a Netty connection (0.9.0 to 0.9.2: 100 a second from 30 s on); "
        "live Storm 0.9.2: 1 ms/s at 2.6 GHz for each connection",
    )
    housekeeping_period_ms: float = constant(100.0, "ms", 10, 1000, "how often housekeeping runs")
    hyper_thread_gain: float = constant(
        0.25, "cores", 0.0, 0.5, "capacity that a core's second hardware thread adds"
    )
    process_penalty: float = constant(
        0.13,
        "1",
        0.0,
        1.0,
        "how much dearer code is that shares its core's caches with another worker process; live "
        "Storm 0.9.2, executor threads beside a second JVM: 10 to 16 % more CPU a tuple",
    )
    worker_memory_mb: float = constant(768.0, "MB", 256, 2048, "heap of a worker, Storm's default -Xmx768m")
    resident_mb: float = constant(
        200.0,
        "MB",
        50,
        2400,
        "memory that a worker process really takes, most of its heap being empty; live Storm, 0.9.2 "
        "and 2.8.3: 105 to 290 MB",
    )
    system_memory_mb: float = constant(300.0, "MB", 100, 800, "operating system and supervisor")
    memory_slowdown: float = constant(
        2.0, "1", 0.0, 10.0, "slow-down per unit of memory demanded beyond a node's RAM, in units of that RAM"
    )
    queued_tuple_bytes: float = constant(
        200.0,
        "bytes",
        100,
        2000,
        "heap that a queued tuple takes: byte array, message and queue node, with their headers",
    )
    full_heap_cost: float = constant(
        0.2,
        "1",
        0.0,
        1.0,
        "what garbage collection adds to a worker's costs when queued tuples fill its heap, in "
        "proportion below that; set on one trend of R-Storm's recordings: sinks lose 11 to 16 % from 300 s "
        "to 850 s while backlogs grow by more than half a heap",
        fitted=True,
        by_hand=True,
    )
    warm_up_factor: float = constant(
        6.0,
        "1",
        1,
        60,
        "cost of the framework's code when it is interpreted, against compiled; an identity bolt of "
        "10 KB tuples on a plain JVM 5 to 6.5, latency of a chain on live Storm 2.8.3 5.4 in its first "
        "calls; an identity bolt of 60 bytes 20 to 43",
    )
    warm_up_calls: float = constant(
        2400.0,
        "calls",
        200,
        15000,
        "calls of user code in a worker after which half of that excess is gone; identity bolt on a "
        "plain JVM with HotSpot's server compiler (threshold 10,000)",
    )
    compile_s: float = constant(
        6.0,
        "s",
        0,
        24,
        "CPU of the compiler threads while a worker's code warms up; live Storm: 0.1 to 0.4 cores in "
        "the first minute",
    )
    service_cv: float = constant(
        0.35,
        "1",
        0,
        1.5,
        "coefficient of variation of a call of user code; an identity bolt of 10 KB tuples on a plain "
        "JVM: 0.30 to 0.39 in CPU, 0.34 and 0.35 in time without the longest in a thousand; 0 = no spread",
    )
    look_us: float = constant(
        11.7,
        "us",
        0,
        20,
        "2.x: CPU of one look of an idle thread at its queue (parkNanos); live Storm 2.8.3: 8 to 10 "
        "us at 2.6 GHz; 0 = idle threads are woken, and looking is free",
    )
    receive_batch: float = constant(8.0, "tuples", 1, 100, "topology.receiver.buffer.size, Storm 0.8-0.9")
    send_batch: float = constant(
        100.0, "tuples", 1, 1000, "most tuples a transfer or network thread takes at once"
    )
    server_places: float = constant(
        0.0, "places", 0, 1000, "requests an external server handles at once; 0 = no limit"
    )
    server_latency_us: float = constant(200.0, "us", 50, 2000, "round trip to a server in the same LAN")

    def __post_init__(self) -> None:
        check_constants(self)

    def slowdown(self, node: Node, processes: int) -> float:
        """Factor by which all CPU costs on a node grow: its clock, its processes, its memory.

        What worker processes take beyond the node's RAM slows everything down in proportion.
        """
        demand = self.system_memory_mb + processes * self.resident_mb
        excess = max(0.0, demand / node.memory_mb - 1.0)
        slow = self.reference_mhz / node.core_mhz * self.crowding(node, processes)
        return slow * (1.0 + self.memory_slowdown * excess)

    def crowding(self, node: Node, processes: int) -> float:
        """Factor by which code is dearer because its core's caches are shared with other worker processes.

        With n processes over c cores each core has (n - 1) / c others, and more than one displace no more
        than there is. A machine's ``process_sharing`` says what part of that counts there.
        """
        others = min(1.0, max(0, processes - 1) / node.cores)
        return 1.0 + self.process_penalty * node.process_sharing * others
