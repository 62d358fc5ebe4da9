"""Workload traces: what user code did with the real input, to be replayed on any cluster and schedule.

User code runs once over the input. What it did is kept as two tables:

* a **record** is one call of user code: a spout's ``nextTuple`` or one bolt's ``execute`` of one tuple. It
  states what the call costs (CPU, and time spent waiting for an external server), which grouping key its
  input tuple had for this subscriber, and which emissions it made;
* an **emission** is one emit call: the stream, the size of the tuple, and the record of the *first*
  subscriber's execute. Subscriber *k* of the stream (in the topology's order of declaration) has record
  ``first_record + k``. A stream without subscribers has -1 there.

The emulator takes a spout's source records one after another and starts again after the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LARGEST = 2**31 - 1  # largest number of records, and of bytes in a tuple: the tables hold them in 32 bits

FAILS = -1  # stands for a number of emissions: the call emits nothing and fails its input tuple

RECORD = np.dtype(
    [
        ("cpu_ns", np.int64),  # user-logic CPU at the reference clock, ns
        ("server_ns", np.int64),  # service time asked of the external server, ns; 0 = none
        ("server", np.int32),  # index into WorkloadTrace.servers; -1 = none
        # fields: Java hash of the values; direct: task index; partial key: first candidate
        ("key", np.int32),
        ("key2", np.int32),  # partial key: second candidate; else 0
        ("first_emission", np.int32),
        ("emissions", np.int32),  # -1 = the call emits nothing and fails its input tuple
        ("resets", np.int32),  # 1 = the call begins with resetTimeout of its input tuple (from Storm 1.0)
    ],
    align=True,
)

EMISSION = np.dtype(
    [
        ("first_record", np.int32),
        ("stream", np.int32),  # index into WorkloadTrace.streams
        ("bytes", np.int32),  # serialised payload
    ],
    align=True,
)


@dataclass(frozen=True, slots=True)
class WorkloadTrace:
    """The behaviour of user code over one input, for one topology.

    ``streams`` lists every declared (component, stream). ``sources`` maps each spout to the indices of its
    source records, in order; ``ticks`` maps a bolt to the record of its tick tuple. ``reference_mhz`` is the
    clock rate for which ``cpu_ns`` holds. ``digest`` identifies input, user code and costs.
    """

    records: NDArray[np.void]
    emissions: NDArray[np.void]
    streams: tuple[tuple[str, str], ...]
    sources: Mapping[str, NDArray[np.int64]]
    ticks: Mapping[str, int]
    servers: tuple[str, ...]
    reference_mhz: float
    digest: str
