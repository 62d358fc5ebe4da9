"""What a worker does with messages for which it has no connection, by Storm version.

Read in the Netty clients of 0.9.2, 0.9.3 and 0.9.7 (``backtype.storm.messaging.netty.Client``) and of 2.8.3
(``org.apache.storm.messaging.netty.Client``). Whatever the version, a worker drops messages for tasks that it
does not run (``worker.clj``, mk-transfer-local-fn).
"""

from __future__ import annotations

from enum import IntEnum

from storm_lab.model import StormVersion
from storm_lab.model.version import V0_9_0, V0_9_3, V2_0_0

V0_9_2 = StormVersion((0, 9, 2))
V0_9_4 = StormVersion((0, 9, 4))
# storm.messaging.netty.min_wait_ms and max_wait_ms: from one try to connect to the next. ZeroMQ: each 100 ms.
RECONNECT_FIRST_NS = 100_000_000
RECONNECT_MOST_NS = 1_000_000_000


class Unreached(IntEnum):
    """The fate of messages to a worker that is not connected."""

    DROP = 0
    """They are lost at once: 0.8, and again from 0.9.4 on (``dropMessages``)."""
    KEEP = 1
    """They wait in their sender until the receiver is reached; so do those for tasks that it does not run.

    0.9.0 and 0.9.1, where those for absent tasks would be dropped on arrival; and any version, to see what
    losses do to a result.
    """
    BLOCK = 2
    """The first of them stops the worker's transfer thread, for all receivers: ``send`` waits in ``connect``.

    0.9.2 and 0.9.3; when the tries are used up, the thread's exception ends the whole worker.
    """


def unreached_of(version: StormVersion) -> Unreached:
    """What a Storm version does."""
    if V0_9_2 <= version < V0_9_4:
        return Unreached.BLOCK
    return Unreached.KEEP if V0_9_0 <= version < V0_9_2 else Unreached.DROP


def gives_up_after_ns(version: StormVersion) -> int:
    """How long connecting is tried.

    All tries of ``storm.messaging.netty.max_retries`` count, of which 0.9.2 takes 30 at most and later
    versions 300. 0.8's ZeroMQ and 2.x try for ever (0).
    """
    if not V0_9_0 <= version < V2_0_0:
        return 0
    tries = 300 if version >= V0_9_3 else 30
    return sum(min(RECONNECT_FIRST_NS << min(i, 10), RECONNECT_MOST_NS) for i in range(tries))
