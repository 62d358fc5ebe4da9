"""Costs in the kernel's units, and the distribution of the costs of calls of user code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.kernel.bursts import QUANTILES
from storm_lab.emulator.state.layout import records
from storm_lab.emulator.state.names import NS_PER_MS, NS_PER_S, NS_PER_US
from storm_lab.model import StormVersion
from storm_lab.model.settings import (
    BOLT_PARKS,
    BOLT_SLEEP_MS,
    ROOM_PARKS,
    ROOM_SLEEP_MS,
    SettingValue,
    number_of,
)
from storm_lab.model.version import V0_9_0, V0_9_3, V0_9_6, V1_0_0, V2_0_0

# Disruptor consumers wait 10 ms at most, from 0.9.6 on a second (topology.disruptor.wait.timeout.millis).
WAIT_MS, LATER_WAIT_MS = 10.0, 1000.0
# 0.9.2 flushes a connection so often, from 30 s on.
FLUSH_MS = 10.0
FLUSH_FROM_NS = 30 * NS_PER_S
# Defaults of WaitStrategyProgressive of 2.x: calls of parkNanos(1), then the length of each sleep in ms.
PARKS_BEFORE_SLEEP = 1000
SLEEP_MS = 1


def cost_row(
    cost: CostModel, version: StormVersion, settings: Mapping[str, SettingValue]
) -> NDArray[np.void]:
    """Return the kernel's single row of costs; ``settings`` are those of the cluster."""
    table = records("cost", 1)
    c = table[0]
    for name in c.dtype.names:
        if hasattr(cost, f"{name}_us"):
            setattr(c, name, round(getattr(cost, f"{name}_us") * NS_PER_US))
    c.serialise_kb = round(cost.serialise_us_per_kb * NS_PER_US)
    c.deserialise_kb = round(cost.deserialise_us_per_kb * NS_PER_US)
    if version < V0_9_0:
        for name in ("transfer", "receive", "read", "write"):
            setattr(c, name, round(getattr(c, name) * cost.zeromq_factor))
    if version >= V2_0_0:
        # The overhead of a burst counts as Storm's own code, as few bursts are real context switches.
        c.switch = round(c.switch * cost.storm_2_factor)
        for name in ("serialise", "serialise_kb", "deserialise", "deserialise_kb"):
            setattr(c, name, round(getattr(c, name) * cost.kryo_2_factor))
    # A log line costs the same in all versions, so cancel the factor of the version's own code.
    c.log_emit = round(c.log_emit / cost.version_factor(version))
    c.log_receive = round(c.log_receive / cost.version_factor(version))
    c.header_bytes = round(cost.header_bytes)
    c.uplink_ps_per_byte = round(8e6 / cost.uplink_mbps) if cost.uplink_mbps > 0 else 0
    c.late = round(cost.timer_slack_us * NS_PER_US)
    c.idle_sleep = NS_PER_MS + c.late
    c.inactive_sleep = 100 * NS_PER_MS
    c.housekeeping_period = round(cost.housekeeping_period_ms * NS_PER_MS)
    c.housekeeping_work = round(cost.idle_jvm_share * cost.housekeeping_period_ms * NS_PER_MS)
    c.wait_work = c.empty_turn = round(cost.consumer_wake_us * NS_PER_US)
    if version < V1_0_0:
        c.empty_batch = c.wait_work
        wait_ms = WAIT_MS if version < V0_9_6 else LATER_WAIT_MS
        c.wait_timeout = round(wait_ms * NS_PER_MS)
        c.waits_work = round(cost.housekeeping_period_ms / wait_ms * cost.consumer_wake_us * NS_PER_US)
        # Disruptor 2 (MultiThreadedClaimStrategy): a thread that waits for room parks like an idle one of
        # 2.x.
        c.room_poll = c.look
    if V0_9_0 <= version < V0_9_3:
        c.flush_work = round(cost.housekeeping_period_ms / FLUSH_MS * cost.flush_us * NS_PER_US)
    c.flush_from = FLUSH_FROM_NS
    c.warm_excess = round(65536 * (cost.warm_up_factor - 1.0))
    # The share due for compilation grows linearly at first, so this puts the first halving of the excess at
    # ``warm_up_calls``.
    c.halvings = round(cost.warm_up_halvings)
    c.compile_calls = round(cost.warm_up_calls * c.halvings / 2)
    c.compile = round(cost.compile_s * NS_PER_S)
    c.method = round(cost.compile_burst_ms * NS_PER_MS)
    c.call = 1
    c.spread = int(cost.service_cv > 0)
    c.fine_poll = max(round(cost.park_us * NS_PER_US), NS_PER_US)
    c.look_beside = round(1024 * cost.look_beside)
    c.interrupts = round(1024 * cost.interrupt_part)
    c.clocked = round(cost.clocked_us * NS_PER_US)
    if version < V2_0_0:
        c.look = 0
    elif cost.look_us > 0:
        c.empty_turn = c.look
        c.parks = round(number_of(settings, BOLT_PARKS, PARKS_BEFORE_SLEEP))
        c.coarse_poll = round(number_of(settings, BOLT_SLEEP_MS, SLEEP_MS)) * NS_PER_MS + c.late
        c.room_parks = round(number_of(settings, ROOM_PARKS, PARKS_BEFORE_SLEEP))
        c.room_sleep = round(number_of(settings, ROOM_SLEEP_MS, SLEEP_MS)) * NS_PER_MS + c.late
    c.receive_batch = round(cost.receive_batch)
    return table


def lognormal(cv: float) -> NDArray[np.int64]:
    """Return equally likely factors, in units of 1/65536, with mean 1 and coefficient of variation ``cv``."""
    sigma = math.sqrt(math.log1p(cv * cv))
    normal = NormalDist()
    drawn = [math.exp(sigma * normal.inv_cdf((i + 0.5) / QUANTILES)) for i in range(QUANTILES)]
    mean = math.fsum(drawn) / QUANTILES
    table = np.array([round(65536 * value / mean) for value in drawn], np.int64)
    # Correct the rounding, so that the mean is exactly 1.
    table[QUANTILES // 2] += 65536 * QUANTILES - int(table.sum())
    return table
