"""Capacities of a worker's queues and connections: Storm's defaults or those of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from storm_lab.errors import UserError
from storm_lab.model import StormVersion
from storm_lab.model import settings as keys
from storm_lab.model.settings import SettingValue, number_of
from storm_lab.model.version import V1_0_0, V2_0_0

# Defaults of topology.executor.receive.buffer.size, topology.executor.send.buffer.size and
# topology.transfer.buffer.size. Storm 0.8 to 1.x: places, each for a list of tuples handed over at once.
# 2.x: tuples.
PLACES = 1024
RECEIVE_PLACES_2 = 32768
TRANSFER_PLACES_2 = 1000
# In 1.x queues are counted in tuples instead of places: about this many to a place.
TUPLES_PER_PLACE = 8
# Defaults of storm.messaging.netty.buffer.high.watermark and low.watermark, bytes (Storm 2.x).
HIGH_WATERMARK = 16_777_216
LOW_WATERMARK = 8_388_608


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
        """Return Storm's default buffer sizes, or those of a topology's settings.

        Raises `UserError` for batches with which workers of 2.x do not start.
        """

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


def watermarks_of(settings: Mapping[str, SettingValue]) -> tuple[int, int]:
    """Return how many bytes may wait on a connection of 2.x before its sender stops, and when it goes on.

    Raises `UserError` if the low watermark of the cluster's settings is above the high one.
    """
    high = round(number_of(settings, keys.NETTY_HIGH, HIGH_WATERMARK))
    low = round(number_of(settings, keys.NETTY_LOW, LOW_WATERMARK))
    if low > high:
        remedy = f"give at most {high}, or set {keys.NETTY_HIGH} as well"
        message = "the low watermark must not be above the high one"
        raise UserError(message, field=keys.NETTY_LOW, value=low, remedy=remedy)
    return high, low
