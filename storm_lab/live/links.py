"""Measures how long a message takes between two hosts of a cluster, and between two processes of one host.

The result is half of a round trip of small messages over TCP between two programs that poll their sockets all
the time (`echo`). It excludes the time to wake a thread; Python's share of it is about 1 us.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from storm_lab.errors import StormLabError
from storm_lab.live import echo
from storm_lab.live.hosts import Host
from storm_lab.live.processes import MARK, run_program
from storm_lab.live.storm import LiveStorm

LAN, LOOPBACK = "lan_us", "loopback_us"
"""Names of the two latencies, in a run's conditions and among the costs of the emulator."""

_PROGRAM = (sys.executable, "-I", "-S", str(Path(echo.__file__)))


def measure_links(storm: LiveStorm) -> dict[str, float]:
    """Measure one-way latencies in us: ``lan_us`` between the first two nodes, ``loopback_us`` in the first.

    A cluster of one node has only the latter. Raises `StormLabError` if the programs cannot connect.
    """
    nodes = [storm.host(node.id) for node in storm.cluster.nodes[:2]]
    found = {LOOPBACK: one_way_us(nodes[0], nodes[0], storm.token)}
    if len(nodes) > 1:
        found[LAN] = one_way_us(nodes[0], nodes[1], storm.token)
    return {name: round(us, 1) for name, us in sorted(found.items())}


def one_way_us(here: Host, there: Host, token: str) -> float:
    """Measure half of a round trip between two hosts' processes; `StormLabError` if they cannot connect."""
    # If this command is killed, the mark lets a later one find its processes.
    environment = {**os.environ, MARK: token}
    serving = subprocess.Popen(
        there.command([*_PROGRAM, "serve", there.address]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    try:
        assert serving.stdout is not None
        port = serving.stdout.readline().strip()
        asking = here.command([*_PROGRAM, "ask", there.address, port or "0"])
        answer = run_program(asking, env=environment, timeout=2 * echo.SECONDS)
    except subprocess.TimeoutExpired:
        answer = None
    finally:
        serving.kill()
        serving.communicate()
    if answer is None or answer.returncode != 0:
        raise StormLabError(f"host {here.name} cannot reach host {there.name}")
    return float(answer.stdout)
