"""Measures what a poll of a waiting thread takes of a core with a busy thread, on the machine itself.

Threads of Storm that wait for room (up to 0.10) or for tuples (from 2.0 on) park for a nanosecond and look
again. What that takes depends less on the speed of a core than on what the interrupt takes that ends a park:
in a virtual machine it goes through the hypervisor. Threads that poll on the same core share interrupts.
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

_ON_ONE_CORE = """
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.execv(sys.argv[1], sys.argv[1:])
"""
_SECONDS = 60
"""Far more than the program takes."""


def measure_polls(jar: Path, token: str) -> dict[str, float]:
    """Return `ONE` and `EIGHT`, measured for some four seconds; `StormLabError` if the program fails.

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
    return {name: round(us, 1) for name, us in poll_costs(answer.stdout).items()}


def poll_costs(printed: str) -> dict[str, float]:
    """Return `ONE` and `EIGHT` from lines of: number of polling threads, turns and polls per second."""
    lines = [line.split() for line in printed.splitlines()]
    turns = {int(pollers): float(per_s) for pollers, per_s, _ in lines}
    polls = {int(pollers): float(per_s) for pollers, _, per_s in lines}
    return {name: 1e6 * (1 - turns[n] / turns[0]) / polls[n] for name, n in ((ONE, 1), (EIGHT, 8))}
