"""Parts of the kernel's benchmark that need a process of their own: start-up and memory.

``python -m storm_lab.bench._kernel_parts start`` prints the seconds (wall, then CPU) from the first import of
the data plane to the end of the first virtual second. ``memory SECONDS SECONDS`` prints the resident memory
at those virtual times, with the log going to disk.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def start_up() -> tuple[float, float]:
    """Return wall and CPU seconds to import the data plane, prepare the kernel and play a virtual second."""
    began, used = time.perf_counter(), time.process_time()
    from storm_lab.bench._kernel_model import Model, start
    from storm_lab.emulator.state.names import NS_PER_S

    plane, _ = start(Model(lines=101))
    plane.run_until(NS_PER_S)
    return time.perf_counter() - began, time.process_time() - used


def memory(marks_s: list[float]) -> list[float | None]:
    """Return resident memory in MB at the given virtual times; None where the system does not report it."""
    from storm_lab.bench._kernel_model import Model, start
    from storm_lab.emulator.state.names import NS_PER_S
    from storm_lab.tuplelog import RunWriter
    from storm_lab.tuplelog.manifest import RunIdentity

    digests: dict[str, Any] = {"code_digest": "", "lock_digest": "", "inputs": {}}
    identity = RunIdentity("bench", "memory", {}, 1, "0.8.2", **digests, sample_every=20)
    found: list[float | None] = []
    with (
        tempfile.TemporaryDirectory(prefix="storm_lab-bench-") as home,
        RunWriter(Path(home) / "runs" / "bench" / identity.run, identity) as log,
    ):
        plane, _ = start(Model(), log, sample_every=20)
        for mark in marks_s:
            while plane.now_ns < round(mark * NS_PER_S):
                plane.run_until(min(plane.now_ns + 20 * NS_PER_S, round(mark * NS_PER_S)))
                plane.sample()
            found.append(resident_mb("self"))
        plane.finish()
        log.finish(duration_ns=plane.now_ns)
    return found


def resident_mb(process: str) -> float | None:
    """Return the resident memory of a process; None if it is not reported, or the process is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    line = next((line for line in status.splitlines() if line.startswith("VmRSS:")), None)
    return int(line.split()[1]) / 1024 if line else None


if __name__ == "__main__":
    print(json.dumps(start_up() if sys.argv[1] == "start" else memory([*map(float, sys.argv[2:])])))
