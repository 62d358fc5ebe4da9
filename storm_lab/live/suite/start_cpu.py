"""CPU that real Storm needed to start the JVMs of its workers."""

from __future__ import annotations

import numpy as np

from storm_lab.tuplelog import Run

_COLUMNS = ("start_ns", "end_ns", "worker", "cpu_ms")


def start_cpu_s(run: Run) -> list[float]:
    """Return the CPU of each worker's JVM from its start until it was ready, in s, over all of its threads.

    A live run logs the CPU of a worker from the start of its process on. Of the window in which it becomes
    ready, the part before that time counts. Workers that never became ready are left out.
    """
    control = run.table("control", ("time_ns", "action", "detail")).to_pandas()
    cpu = run.table("cpu", _COLUMNS).to_pandas()
    ready = control[control["action"] == "worker-ready"]
    worker = ready["detail"].str.extract(r'"worker":\s*(\d+)')[0].dropna().astype(int)
    found = []
    for index, number in worker.items():
        own, up_ns = cpu[cpu["worker"] == number], ready.loc[index, "time_ns"]
        began, ended = own["start_ns"].to_numpy(float), own["end_ns"].to_numpy(float)
        before = np.clip((up_ns - began) / np.maximum(1.0, ended - began), 0.0, 1.0)
        used_s = float((own["cpu_ms"].to_numpy(float) * before).sum()) / 1e3
        if used_s > 0:
            found.append(used_s)
    return found
