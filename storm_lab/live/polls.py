"""Measures what a poll of a waiting thread takes of a core with a busy thread, on the machine itself.

Threads of Storm that wait for room (up to 0.10) or for tuples (from 2.0 on) park for a nanosecond and look
again. What that takes depends less on the speed of a core than on what the interrupt takes that ends a park:
in a virtual machine it goes through the hypervisor. Threads that poll on the same core share interrupts. The
clock of a polling thread counts only a part of its polls: an interrupt counts for the thread that it stops.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from storm_lab.errors import StormLabError
from storm_lab.live.processes import MARK, run_program
from storm_lab.machine.java import find_java

ONE, EIGHT = "poll_us", "poll_of_eight_us"
"""What a poll takes of a core, in us, if one thread polls on it, and if eight do."""
OWN_ONE, OWN_EIGHT = "poll_own_us", "poll_of_eight_own_us"
"""What of that the clocks of the polling threads count."""
INTERRUPTED = "interrupted_beside_eight"
"""Part of a busy thread's CPU, by its own clock, in which it gets nothing done if eight threads poll."""

_ON_ONE_CORE = """
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.execv(sys.argv[1], sys.argv[1:])
"""
_SECONDS = 60
"""Far more than the program takes."""


def measure_polls(jar: Path, token: str) -> dict[str, float]:
    """Return what `poll_costs` does, measured for some four seconds; `StormLabError` if the program fails.

    ``jar`` is a player's jar, and ``token`` that of the cluster, by which a later command finds what is left
    if this one is killed.
    """
    java = str(find_java().home / "bin" / "java")
    program = [java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", str(jar), "stormlab.Polls"]
    command = [sys.executable, "-c", _ON_ONE_CORE, *program, "0", "1", "8"]
    try:
        answer = run_program(command, env={**os.environ, MARK: token}, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise StormLabError(f"the measurement of polls took more than {_SECONDS} s") from None
    if answer.returncode != 0:
        raise StormLabError(f"polls could not be measured: {answer.stderr.strip()}")
    return poll_costs(answer.stdout)


def poll_costs(printed: str) -> dict[str, float]:
    """Return `ONE`, `EIGHT`, `OWN_ONE`, `OWN_EIGHT` and `INTERRUPTED`.

    Lines have the number of polling threads, turns of the busy thread and polls per second, and the CPU of
    the busy thread and of the others, in cores.
    """
    words = [line.split() for line in printed.splitlines()]
    lines = {int(pollers): [float(part) for part in parts] for pollers, *parts in words}
    alone, alone_cpu = lines[0][0], lines[0][2]
    found = {}
    for n, whole, own in ((1, ONE, OWN_ONE), (8, EIGHT, OWN_EIGHT)):
        turns, polls, _, polling_cpu = lines[n]
        found[whole] = round(1e6 * (1 - turns / alone) / polls, 1)
        found[own] = round(1e6 * polling_cpu / polls, 1)
    turns, _, cpu, _ = lines[8]
    return {**found, INTERRUPTED: round(max(0.0, 1 - turns / cpu * alone_cpu / alone), 3)}
