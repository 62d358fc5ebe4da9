"""When a worker tries to connect to another one that it cannot reach, by Storm version.

Read from the Netty clients of 0.9.1 to 0.9.7, 0.10.2, 1.0.6, 1.2.4 and 2.8.3 (``messaging.netty.Client`` and
``utils.StormBoundedExponentialBackoffRetry``), and from ZeroMQ 2 (``zmq_connecter.cpp``) for 0.8. A first
attempt, which comes at once, is followed by random waits. ``docs/emulator.md`` has a table of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, repeat

from storm_lab.model import StormVersion
from storm_lab.model.settings import (
    NETTY_MAX_WAIT,
    NETTY_MIN_WAIT,
    NETTY_RETRIES,
    SettingValue,
    number_of,
)
from storm_lab.model.version import V0_9_0, V0_9_2, V0_9_3, V0_9_4, V0_9_6, V0_10_0, V2_0_0

NS_PER_MS = 1_000_000
ZEROMQ_MS = 100
"""ZeroMQ's default ZMQ_RECONNECT_IVL. A process adds its own part of it, by its process id."""
TICK_MS = 100
"""Default tick of Netty's HashedWheelTimer, on which Storm plans its attempts from 0.9.6 on."""


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long a version's clients wait between attempts, and how many they make.

    Args:
        max_retries: ``storm.messaging.netty.max_retries`` as the version takes it: at most 30 up to 0.9.2,
            not read by 2.x (-1).
        min_wait_ms, max_wait_ms: ``storm.messaging.netty.min_wait_ms`` and ``max_wait_ms``.
    """

    version: StormVersion
    max_retries: int
    min_wait_ms: int
    max_wait_ms: int

    @classmethod
    def of(cls, version: StormVersion, settings: Mapping[str, SettingValue]) -> BackOff:
        """Return a version's back-off with its defaults, except where ``settings`` gives other values."""
        retries = round(number_of(settings, NETTY_RETRIES, 300))
        if version < V0_9_3:
            retries = min(30, retries)
        elif version >= V2_0_0:
            retries = -1
        waits = (number_of(settings, NETTY_MIN_WAIT, 100), number_of(settings, NETTY_MAX_WAIT, 1000))
        return cls(version, retries, *(round(wait) for wait in waits))

    def waits_ms(self, rng: random.Random, made: int = 0) -> Iterator[int]:
        """Draw the wait after each failed attempt, in ms; there are no more when the client gives up.

        ``made`` is the number of attempts that the client has made before. They count from 0.9.6 on, where
        nothing resets the counter.
        """
        version, retries = self.version, self.max_retries
        if version < V0_9_0:
            yield from repeat(ZEROMQ_MS + rng.randrange(ZEROMQ_MS))
        elif version < V0_9_2:
            for retry in range(1, retries + 1):
                # Java's int overflows. Thread.sleep refuses a negative wait, and nothing tries again.
                wait = (self._doubled_ms(retry, rng) + (1 << 31)) % (1 << 32) - (1 << 31)
                if wait < 0:
                    return
                yield min(self.max_wait_ms, wait)
            yield 0
        elif version < V0_9_3:
            yield from (min(self.max_wait_ms, self._doubled_ms(n, rng)) for n in range(retries + 1))
        elif version < V0_9_4:
            yield from (self._rising_ms(retry, rng) for retry in range(retries + 1))
        elif version < V0_9_6:
            yield from (self._rising_ms(retry, rng) for retry in range(1, retries + 1))
            yield 0
        else:
            numbers = range(made + 1, retries + 3) if version < V0_10_0 else count(made + 1)
            # The timer's first tick after the wait; the attempt before was made on a tick, too.
            yield from ((self._rising_ms(retry, rng) // TICK_MS + 1) * TICK_MS for retry in numbers)

    def _doubled_ms(self, retry: int, rng: random.Random) -> int:
        """``Client.getSleepTimeMs`` of 0.9.0 to 0.9.2, without the upper limit."""
        return self.min_wait_ms * max(1, rng.randrange(1 << retry))

    def _rising_ms(self, retry: int, rng: random.Random) -> int:
        """``StormBoundedExponentialBackoffRetry.getSleepTimeMs``: first exponential, then linear."""
        threshold = 1
        while 1 << (threshold + 1) < (self.max_wait_ms - self.min_wait_ms) // 2:
            threshold += 1
        if retry < threshold:
            return self.min_wait_ms + (1 << retry) + rng.randrange(1 << retry)
        step = 1
        if self.max_retries > threshold:
            step = max(1, (self.max_wait_ms - (1 << threshold)) // (self.max_retries - threshold))
        wait = self.min_wait_ms + (1 << threshold) + step * (retry - threshold) + rng.randrange(step)
        return min(self.max_wait_ms, wait)


class Attempts:
    """A client's attempts to connect, from the loss of its connection on.

    Args:
        since_ns: time of the loss and of the first attempt.
        seed: text that decides the random waits.
        before: attempts that the client has made before the loss.
    """

    def __init__(self, back_off: BackOff, since_ns: int, seed: str, before: int = 0) -> None:
        self.made = before + 1
        """Number of the client's attempts up to the one that :meth:`due_ns` returned last."""
        self.given_up = False
        """Whether the client has closed, so that the next message ends its worker (0.9.0 to 0.9.3)."""
        self._back_off, self._since_ns, self._seed, self._before = back_off, since_ns, seed, before
        self._due_ns = since_ns
        self._waits = self._drawn_waits()
        self._wait_ms = next(self._waits, None)

    def _drawn_waits(self) -> Iterator[int]:
        return self._back_off.waits_ms(random.Random(self._seed), self._before)

    def due_ns(self, now_ns: int) -> int | None:
        """Return the time of the next attempt, or of one at ``now_ns``; None if the client has given up.

        Times asked for must not decrease.
        """
        while self._wait_ms is not None and self._due_ns < now_ns:
            self._due_ns += self._wait_ms * NS_PER_MS
            self.made += 1
            self._wait_ms = next(self._waits, None)
        return None if self._wait_ms is None else self._due_ns

    def give_up_ns(self) -> int | None:
        """Return when the client closes, which is after the wait that follows its last attempt, if ever."""
        version = self._back_off.version
        if version < V0_9_0 or version >= V0_10_0:
            return None
        waits = list(self._drawn_waits())
        stuck = version < V0_9_2 and 0 not in waits
        return None if stuck else self._since_ns + sum(waits) * NS_PER_MS
