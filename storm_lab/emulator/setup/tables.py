"""Lays out the kernel's arrays from topologies, traces and a cluster.

This covers everything that does not change during a run: components, tasks, streams, subscriptions, traces,
sources, nodes and channels. Workers, executors and threads are added when the control plane starts them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from storm_lab.emulator.plane import MOST_LINKS
from storm_lab.emulator.queue_sizes import QueueSizes, watermarks_of
from storm_lab.emulator.setup import flow
from storm_lab.emulator.setup.costs import cost_row, lognormal
from storm_lab.emulator.source import check_plan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state import kinds
from storm_lab.emulator.state.arrays import Kernel
from storm_lab.emulator.state.layout import Arrays, records
from storm_lab.emulator.state.names import NS_PER_MS, NS_PER_S, NS_PER_US, Names
from storm_lab.emulator.unreached import unreached_of
from storm_lab.model import ACKER, Executor, Topology, acker_count, executors_of
from storm_lab.model import settings as keys
from storm_lab.model.settings import flag_of, number_of
from storm_lab.model.version import V0_9_0, V0_9_2, V1_0_0, V2_0_0

# Defaults of topology.disruptor.batch.size and batch.timeout.millis of 1.x, and of
# topology.batch.flush.interval.millis of 2.x.
BATCH_1 = 100
FLUSH_MS_DEFAULT = 1
# Default of topology.backpressure.check.millis of 2.x.
OVERFLOW_CHECK_MS = 50
_ALL = 1 << 30
# Default of storm.messaging.netty.buffer_size, bytes: socket buffers at either end of a connection.
SOCKET_BUFFER = 5_242_880
SPARE_CHANNELS = 2 * MOST_LINKS
"""For links that are cut or delayed: one for each direction."""
BURST_WIDTH = 64
LINK_CHECK_NS = 100_000_000
"""The shortest wait between attempts to connect: a link cannot be back earlier."""


def build(spec: EmulationSpec) -> tuple[Kernel, Names]:
    """Lay out the arrays for one run; the `UserError` of a plan that cannot be played says why."""
    for plan in spec.topologies:
        check_plan(plan)
    names = _build_names(spec)
    cost, version = spec.cost, spec.version
    arrays: Arrays = {
        "s": records("s", 1),
        "cost": cost_row(cost, version, spec.settings),
        "spread": lognormal(cost.service_cv),
        **{name: records(name, 64) for name in ("worker", "executor", "thread")},
        **{name: records(name, 0) for name in ("message", "batch", "root")},
        **{name: records(name, 1 << 15) for name in ("root_row", "execution_row")},
    }
    _build_nodes(arrays, spec)
    _build_components(arrays, spec, names)
    flow.build_streams(arrays, spec, names)
    flow.build_traces(arrays, spec)
    flow.build_sources(arrays, spec.topologies, names)
    flow.build_pairs(arrays, spec.topologies, names)
    nodes, channels = len(spec.cluster.nodes), len(arrays["channel"])
    threads, sources = len(arrays["thread"]), len(arrays["source"])
    timers = 2 * nodes + channels + sources
    arrays["route"] = np.full(len(arrays["task"]), -1, np.int32)
    arrays["burst"] = records("burst", BURST_WIDTH * nodes)
    arrays["slot"] = records("slot", timers + 2 * threads)
    arrays["slot"]["place"] = kinds.UNSCHEDULED
    arrays["event"] = records("event", timers + 2 * threads)
    arrays["bucket"] = np.full(kinds.FAR_BUCKETS, -1, np.int32)
    arrays["ready"] = np.zeros(threads, np.int32)
    arrays["idle"] = np.full((sources, 4), -1, np.int64)
    kernel = Kernel(**arrays)
    s = kernel.s[0]
    s.nodes = nodes
    s.machine_capacity = round(1024 * (spec.cluster.shared_cores or 0.0))
    s.machine_cores = (s.machine_capacity + 1023) // 1024
    s.channels = channels
    s.timers = timers
    s.idle_width = kernel.idle.shape[1]
    s.first_link_channel = nodes * (len(spec.cluster.racks) + 1)
    s.first_card_channel = s.first_link_channel + SPARE_CHANNELS
    s.first_uplink_channel = s.first_card_channel + nodes
    s.task_pairs = len(kernel.traffic) // len(kinds.LOCALITY_NAMES)
    s.threads = threads
    s.burst_width = BURST_WIDTH
    s.max_root_rows = len(kernel.root_row)
    s.max_execution_rows = len(kernel.execution_row)
    s.horizon = kinds.NEVER
    s.free_message = s.free_root = -1
    s.sample_every = spec.sample_every
    s.cost_seed = np.uint64((spec.seed * 0xA0761D6478BD642F + 0x632BE59BD9B4E019) & 0xFFFFFFFFFFFFFFFF)
    high, low = watermarks_of(spec.settings)
    kernel.cost[0].high_watermark = high if version >= V2_0_0 else 0
    kernel.cost[0].low_watermark = low
    sockets = 2 * round(number_of(spec.settings, keys.NETTY_BUFFER, SOCKET_BUFFER))
    s.unread_high, s.unread_low = high + sockets, low + sockets
    s.link_check = LINK_CHECK_NS
    s.queued_bytes = round(cost.queued_tuple_bytes)
    s.heap_bytes = round(cost.worker_memory_mb * 1_000_000)
    s.heap_cost = round(65536 * cost.full_heap_cost)
    s.full_heap = int(1024 * cost.silent_heap_share)
    s.unreached = unreached_of(version) if spec.unreached is None else spec.unreached
    s.lists = 0 if version >= V1_0_0 else 1 if version < V0_9_2 else 2
    s.netty = int(V0_9_0 <= version < V2_0_0)
    s.version_1 = int(version >= V1_0_0)
    s.version_2 = int(version >= V2_0_0)
    s.bolt_margin = flow.max_copies(kernel, spec.topologies) + 4
    spec.bundle.apply(kernel)
    return kernel, names


def _build_names(spec: EmulationSpec) -> Names:
    nodes = tuple(node.id for node in spec.cluster.nodes)
    executors = {plan.topology.id: executors_of(plan.topology, spec.version) for plan in spec.topologies}
    component_index: dict[tuple[str, str], int] = {}
    first_task: dict[tuple[str, str], int] = {}
    source_index: dict[tuple[str, str], int] = {}
    readers: dict[tuple[str, str], tuple[Executor, ...]] = {}
    task = sources = 0
    for plan in spec.topologies:
        topology = plan.topology
        for component in (*(c.id for c in topology.components), ACKER):
            key = (topology.id, component)
            component_executors = tuple(e for e in executors[topology.id] if e.component == component)
            component_index[key] = len(component_index)
            first_task[key] = task
            task += sum(len(e.tasks) for e in component_executors)
            if component in plan.sources:
                source_index[key] = sources
                if plan.sources[component].checkpoint_ns > 0:
                    # A log has partitions: one source for each of its readers.
                    readers[key] = component_executors
                sources += len(readers.get(key, [component]))
    return Names(
        nodes=nodes,
        node_index={node: i for i, node in enumerate(nodes)},
        topologies=tuple(executors),
        component_index=component_index,
        first_task=first_task,
        executors=executors,
        source_index=source_index,
        readers=readers,
    )


def _build_nodes(arrays: Arrays, spec: EmulationSpec) -> None:
    cluster, cost = spec.cluster, spec.cost
    racks = {rack: i for i, rack in enumerate(cluster.racks)}
    n, r = len(cluster.nodes), len(racks)
    nodes = arrays["node"] = records("node", n)
    arrays["rack"] = records("rack", r)
    first_card = n * (r + 1) + SPARE_CHANNELS
    uplinks = 2 * n if cost.uplink_mbps > 0 else 0
    channels = arrays["channel"] = records("channel", first_card + n + uplinks)
    for field in ("head", "tail", "held_head", "held_tail"):
        channels[field] = -1
    channels["node"] = channels["start"] = channels["finish"] = -1
    for i, node in enumerate(cluster.nodes):
        p = nodes[i]
        p.cores = node.cores
        p.threads = node.cores * node.threads_per_core
        p.free = 1024 * node.cores
        p.max_free = 0 if cluster.shared_cores else 1024 * node.cores
        p.short_since = p.turn_ends = kinds.NEVER
        p.ht_gain = round(1024 * cost.hyper_thread_gain / max(1, node.threads_per_core - 1))
        p.slowdown = round(1024 * cost.slowdown(node, 0))
        p.fault_slowdown = p.poll_cost_part = 1024
        p.system_factor = round(65536 / node.work_per_clock)
        p.storm_factor = round(65536 * cost.version_factor(spec.version) / node.work_per_clock)
        p.wake_head = p.wake_tail = p.run_queue_head = -1
        if node.cpu_quota is not None:
            p.quota_period = round(node.quota_period_ms * 1e6)
            p.quota = p.quota_left = round(node.cpu_quota * 1024 * p.quota_period)
            # The phases of the nodes' quota periods are arbitrary, so spread them evenly.
            p.quota_from = -p.quota_period * i // n
        p.nic_ps_per_byte = round(8e6 / node.nic_mbps)
        p.rack = racks[node.rack]
        first = p.first_channel = i * (r + 1)
        channels[first].latency = round(cost.loopback_us * NS_PER_US)
        for rack in range(r):
            extra = 0.0 if rack == p.rack else cost.inter_rack_us
            channels[first + 1 + rack].latency = round((cost.lan_us + extra) * NS_PER_US)
        channels[first_card + i].node = i


def _build_components(arrays: Arrays, spec: EmulationSpec, names: Names) -> None:
    plans = spec.topologies
    components = arrays["component"] = records("component", len(names.component_index))
    topologies = arrays["topology"] = records("topology", len(plans))
    tasks = sum(len(e.tasks) for group in names.executors.values() for e in group)
    table = arrays["task"] = records("task", tasks)
    for t, plan in enumerate(plans):
        topology = plan.topology
        row = topologies[t]
        row.acker_component = names.component_index[topology.id, ACKER]
        row.ackers = acker_count(topology, spec.version)
        row.timeout = round(topology.message_timeout_s * NS_PER_S)
        row.back_pressure = int(flag_of(topology.settings, keys.BACK_PRESSURE))
        row.debug = int(flag_of(topology.settings, keys.DEBUG))
        # From 0.9.2 on the receive thread hands over what Netty's thread has read at once.
        batch = spec.cost.receive_batch if spec.version < V0_9_2 else _ALL
        row.receive_batch = round(number_of(topology.settings, keys.RECEIVER_BATCH, batch))
        row.max_pending = topology.max_spout_pending or 0
        sizes = QueueSizes.of(spec.version, topology.settings)
        row.main_places, row.send_places, row.transfer_places = sizes.main, sizes.send, sizes.transfer
        _set_batches(row, topology, spec)
    for (topology_id, component_id), index in names.component_index.items():
        t = names.topologies.index(topology_id)
        topology = plans[t].topology
        executors = [e for e in names.executors[topology.id] if e.component == component_id]
        c = components[index]
        c.topology = t
        c.first_task = names.first_task[topology.id, component_id]
        c.tasks = sum(len(e.tasks) for e in executors)
        c.is_acker = int(component_id == ACKER)
        c.tick_record = -1
        if component_id != ACKER:
            declared = topology.component(component_id)
            c.is_spout = int(declared.is_spout)
            if declared.tick_seconds:
                c.tick_period = round(declared.tick_seconds * NS_PER_S)
        numbers = [task for e in executors for task in e.tasks]
        for local, number in enumerate(numbers):
            row = table[c.first_task + local]
            # Each task has a random stream of its own, so its draws do not depend on other tasks.
            seed = spec.seed * 0x9E3779B97F4A7C15 + (t << 40) + number * 0xD1342543DE82EF95
            row.rng = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
            row.component = index
            row.id = number
            row.local = local


def _set_batches(row: Any, topology: Topology, spec: EmulationSpec) -> None:
    """Set how many tuples are gathered for the queues of a topology, and how often they are flushed."""
    given, version = topology.settings, spec.version
    flush_ms = 0.0
    row.producer_batch = row.transfer_batch = 1
    if version >= V2_0_0:
        row.producer_batch = round(number_of(given, keys.PRODUCER_BATCH, 1))
        row.transfer_batch = round(number_of(given, keys.TRANSFER_BATCH, 1))
        if max(row.producer_batch, row.transfer_batch) > 1:
            flush_ms = number_of(given, keys.FLUSH_MS, FLUSH_MS_DEFAULT)
    elif version >= V1_0_0:
        row.overflows = 1
        row.producer_batch = row.transfer_batch = round(number_of(given, keys.DISRUPTOR_BATCH, BATCH_1))
        if row.producer_batch > 1:
            flush_ms = number_of(given, keys.DISRUPTOR_FLUSH_MS, FLUSH_MS_DEFAULT)
    row.overflow_check = round(number_of(given, keys.OVERFLOW_CHECK_MS, OVERFLOW_CHECK_MS) * NS_PER_MS)
    if flush_ms > 0:
        # 2.x sets its timer relative to the present, so each tick is late by the slack; 1.x ticks at a
        # fixed period.
        slack_ns = spec.cost.timer_slack_us * NS_PER_US if version >= V2_0_0 else 0.0
        row.flush = round(flush_ms * NS_PER_MS + slack_ns)
