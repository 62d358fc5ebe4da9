"""What a worker does with messages for which it has no connection, by Storm version.

Taken from the Netty clients of 0.9.2, 0.9.3, 0.9.7 and 2.8.3 (``messaging.netty.Client``). In every version,
a worker drops messages for tasks that it does not run (``worker.clj``, mk-transfer-local-fn).
"""

from __future__ import annotations

from enum import IntEnum

from storm_lab.model import StormVersion
from storm_lab.model.version import V0_9_0, V0_9_2, V0_9_4


class Unreached(IntEnum):
    """What happens to messages for a worker that is not connected."""

    DROP = 0
    """They are lost at once: 0.8, and again from 0.9.4 on (``dropMessages``)."""
    KEEP = 1
    """They wait in the sender until the receiver is reached, and so do those for tasks that it does not run,
    which 0.9.0 and 0.9.1 really drop. When these give up connecting, the next message ends the whole worker.
    Also usable with other versions, to see how losses affect a result.
    """
    BLOCK = 2
    """The first one stops the worker's transfer thread, which waits in ``connect``: 0.9.2 and 0.9.3. When the
    attempts are used up, the thread's exception ends the whole worker.
    """


def unreached_of(version: StormVersion) -> Unreached:
    """Return the behaviour of a Storm version."""
    if V0_9_2 <= version < V0_9_4:
        return Unreached.BLOCK
    return Unreached.KEEP if V0_9_0 <= version < V0_9_2 else Unreached.DROP
