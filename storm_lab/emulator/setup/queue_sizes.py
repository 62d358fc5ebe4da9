"""Capacities and batch sizes of a worker's queues: Storm's defaults or those of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.state.names import NS_PER_MS, NS_PER_US
from storm_lab.errors import UserError
from storm_lab.model import StormVersion, Topology
from storm_lab.model import settings as keys
from storm_lab.model.settings import SettingValue, number_of
from storm_lab.model.version import V1_0_0, V2_0_0

# Defaults of topology.executor.receive.buffer.size, topology.executor.send.buffer.size and
# topology.transfer.buffer.size. Storm 0.8 to 1.x: places, each for a list of tuples handed over at once.
# 2.x: tuples.
PLACES = 1024
RECEIVE_PLACES_2 = 32768
TRANSFER_PLACES_2 = 1000
# Defaults of topology.disruptor.batch.size and batch.timeout.millis of 1.x, and of
# topology.batch.flush.interval.millis of 2.x.
BATCH_1 = 100
FLUSH_MS_DEFAULT = 1
# In 1.x queues are counted in tuples instead of places: about this many to a place.
TUPLES_PER_PLACE = 8


@dataclass(frozen=True, slots=True)
class QueueSizes:
    """Capacities of a worker's queues, by Storm version: in hand-overs up to 0.10, in tuples from 1.0 on."""

    main: int
    send: int
    transfer: int

    @classmethod
    def of(
        cls, version: StormVersion, settings: Mapping[str, SettingValue] = MappingProxyType({})
    ) -> QueueSizes:
        """Return Storm's default buffer sizes, or those of a topology's settings."""

        def size(key: str, default: int) -> int:
            return round(number_of(settings, key, default))

        if version >= V2_0_0:
            main = size(keys.RECEIVE_BUFFER, RECEIVE_PLACES_2)
            transfer = size(keys.TRANSFER_BUFFER, TRANSFER_PLACES_2)
            for key, places, buffer in (
                (keys.PRODUCER_BATCH, main, keys.RECEIVE_BUFFER),
                (keys.TRANSFER_BATCH, transfer, keys.TRANSFER_BUFFER),
            ):
                batch, most = size(key, 1), places // 2
                if batch > most:
                    rule = "a batch must not be larger than half of its queue"
                    message = f"{rule}: workers of 2.x do not start otherwise"
                    remedy = f"give a larger {buffer}" + (f", or at most {most}" if most > 0 else "")
                    raise UserError(message, field=key, value=batch, remedy=remedy)
            # The ring of a receive queue has a power of two of places; executors of 2.x have no send queue.
            return cls(main=1 << (main - 1).bit_length(), send=1, transfer=transfer)
        per_place = 1 if version < V1_0_0 else TUPLES_PER_PLACE
        return cls(
            main=size(keys.RECEIVE_BUFFER, PLACES) * per_place,
            send=size(keys.SEND_BUFFER, PLACES),
            transfer=size(keys.TRANSFER_BUFFER, PLACES) * per_place,
        )


def set_batches(row: Any, topology: Topology, version: StormVersion, cost: CostModel) -> None:
    """Set how many tuples are gathered for the queues of a topology, and how often they are flushed."""
    given = topology.settings
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
    if flush_ms > 0:
        # 2.x sets its timer relative to the present, so each tick is late by the slack; 1.x ticks at a
        # fixed period.
        slack_ns = cost.timer_slack_us * NS_PER_US if version >= V2_0_0 else 0.0
        row.flush = round(flush_ms * NS_PER_MS + slack_ns)
