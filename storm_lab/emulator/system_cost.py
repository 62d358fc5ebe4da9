"""What the operating system, the processor and the network cost: the base of the cost model."""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.model.constant import constant


@dataclass(frozen=True, slots=True)
class SystemCost:
    """Costs of waiting, waking and switching threads, of caches and memory, and of messages between hosts."""

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
    system_memory_mb: float = constant(300.0, (100, 800), "operating system and supervisor")
    memory_slowdown: float = constant(
        2.0,
        allowed=(0.0, 10.0),
        source="slowdown per unit of memory demanded beyond a node's RAM, in units of that RAM. Four plain "
        "JVMs, each with a circulating queue in half of its 768 MB, swapping to a virtual disk: 2 to 2.7 "
        "times slower with 9 to 33 % too little memory, so this value is low",
    )
    park_us: float = constant(
        55.0,
        allowed=(1, 250),
        source="how long parkNanos(1) takes beside its own CPU: Linux's timer slack of 50 us and the wake-up."
        " Java 17 on a virtual core: 64 us beside a busy thread and 73 us alone, of these 13 and 18 of CPU",
    )
    poll_wait_us: float = constant(
        90.0,
        allowed=(0, 1000),
        source="how long a thread that has parked waits for a core that others want, where threads run one "
        "after another; threads of live Storm 0.9.2 that wait for room on hosts of one core, by the kernel's "
        "counts (schedstat): 45 to 150 us. Another thread runs from one poll to the next",
    )
    look_us: float = constant(
        4.4,
        allowed=(0, 80),
        source="CPU per poll of a thread that parks for a nanosecond: one that waits for room in a queue or, "
        "in 2.x, for tuples. Two context switches and a timer's interrupt, 3.8 us each on R-Storm's family "
        "of Xeons (see `switch_us`), are 5.5; in virtual machines 52, as each timer's interrupt leaves the "
        "machine. Where `interrupt_part` is given (2.x), what the thread's own clock counts (virtual: 33). "
        "0 = idle threads are woken, and polls are free",
        fitted=True,
    )
    interrupt_part: float = constant(
        0.0,
        allowed=(0.0, 0.5),
        source="interrupts of such polls also stop the threads that run: the part of a running thread's CPU "
        "that they take if eight threads poll on its core, halved. Virtual machine, Java 17: a busy thread "
        "beside 1, 2, 4, 6, 8, 10, 12 and 16 pollers loses 0.19, 0.21, 0.24, 0.28, 0.34, 0.40, 0.46 and 0.63 "
        "of its CPU, whichever process they are of. 0: not measured on physical hardware, and a poll's whole "
        "cost is the polling thread's",
    )
    clocked_us: float = constant(
        0.0,
        allowed=(0.0, 1e6),
        source="calls of user code that last this long, or longer, take no more CPU beside polling threads, "
        "as they end by their thread's CPU clock: 20 in the player of recorded sittings (`Burner.java`). 0 = "
        "none do",
    )
    look_beside: float = constant(
        1.0,
        allowed=(0.0, 1.0),
        source="CPU of a poll where many threads poll on a core, relative to one thread alone. In virtual "
        "machines 0.16, as they share interrupts: parkNanos(1) of Java 17 by 1, 2, 4, 8 and 16 threads takes "
        "22, 13, 8, 5.6 and 4.5 us of a core with a busy thread, of which the busy one is charged 9 to 1",
    )
