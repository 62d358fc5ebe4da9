"""A cluster's network: a namespace for each host, joined by a switch that is a namespace too.

It cannot be reached from the machine's own network, as there are no routes out of it. Each rack has a bridge;
a further bridge connects those of the racks. The queueing discipline netem sets latency and speed of links
where the kernel has it; tbf can set the speed alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from storm_lab.errors import StormLabError
from storm_lab.live.processes import run_program

RUN = Path("/run/netns")
"""Folder in which the program ip keeps the names of namespaces."""

_PREFIX = "sl-"


class Network:
    """The namespaces of one cluster."""

    def __init__(self, token: str) -> None:
        self._switch = f"{_PREFIX}{token}"
        self._hosts = 0
        self._racks: dict[str, str] = {}

    def make(self) -> None:
        """Make the switch; `StormLabError` if the kernel does not permit it."""
        _ip("netns", "add", self._switch)
        self._add_bridge("core")

    def add_host(self, rack: str, address: str) -> str:
        """Make a host in a rack, with an address (with prefix length); returns the name of its namespace."""
        bridge = self._bridge(rack)
        name = f"{self._switch}-{self._hosts}"
        port = f"h{self._hosts}"
        self._hosts += 1
        _ip("netns", "add", name)
        self._in_switch("link", "add", "name", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        self._in_switch("link", "set", port, "master", bridge, "up")
        _ip("-n", name, "addr", "add", address, "dev", "eth0")
        _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", name, "link", "set", "eth0", "up")
        return name

    def shape_host(self, name: str, latency_us: float, rate_mbps: float) -> tuple[str, ...]:
        """Set latency (of what leaves) and speed of a host's link; return what the kernel cannot do."""
        port = f"h{name.rpartition('-')[2]}"
        missing = _shape(name, "eth0", latency_us, rate_mbps)
        _shape(self._switch, port, 0.0, rate_mbps)  # incoming traffic is limited like outgoing traffic
        return missing

    def shape_rack(self, rack: str, latency_us: float) -> tuple[str, ...]:
        """Set the latency of the link between a rack and the rest, as for a host."""
        index = self._bridge(rack).removeprefix("rack")
        return _shape(self._switch, f"up{index}", latency_us, 0.0)

    def set_link(self, name: str, up: bool) -> None:
        """Disconnect a host from its switch, or connect it again."""
        # At the switch's end, as the host's own end would lose its routes.
        self._in_switch("link", "set", f"h{name.rpartition('-')[2]}", "up" if up else "down")

    def set_path(self, name: str, address: str, open_: bool) -> None:
        """Open or close the path from a host to one address."""
        _ip("-n", name, "route", "del" if open_ else "add", "blackhole", f"{address}/32")

    def _bridge(self, rack: str) -> str:
        if rack not in self._racks:
            index = len(self._racks)
            bridge = self._racks[rack] = f"rack{index}"
            self._add_bridge(bridge)
            up, down = f"up{index}", f"down{index}"
            self._in_switch("link", "add", "name", up, "type", "veth", "peer", "name", down)
            self._in_switch("link", "set", up, "master", bridge, "up")
            self._in_switch("link", "set", down, "master", "core", "up")
        return self._racks[rack]

    def _add_bridge(self, name: str) -> None:
        self._in_switch("link", "add", "name", name, "type", "bridge", "stp_state", "0", "forward_delay", "0")
        self._in_switch("link", "set", name, "up")

    def _in_switch(self, *arguments: str) -> None:
        _ip("-n", self._switch, *arguments)


def namespaces_of(token: str) -> list[str]:
    """Return the names of a cluster's existing namespaces, the switch first."""
    switch = f"{_PREFIX}{token}"
    return sorted(path.name for path in (*RUN.glob(switch), *RUN.glob(f"{switch}-*")))


def remove_namespaces(names: Iterable[str]) -> None:
    """Remove namespaces with their links; ignore those that no longer exist."""
    for name in names:
        with contextlib.suppress(StormLabError):
            _ip("netns", "del", name)


def _shape(namespace: str, device: str, latency_us: float, rate_mbps: float) -> tuple[str, ...]:
    if latency_us <= 0 and rate_mbps <= 0:
        return ()
    delay = ["delay", f"{latency_us:g}us"] if latency_us > 0 else []
    rate = ["rate", f"{rate_mbps:g}mbit"] if rate_mbps > 0 else []
    if _tc(namespace, device, "netem", "limit", "100000", *delay, *rate):
        return ()
    missing = ["link latency (the kernel has no netem)"] if delay else []
    if rate and not _tc(namespace, device, "tbf", *rate, "burst", "256kb", "latency", "50ms"):
        missing.append("speed of network cards (the kernel has neither netem nor tbf)")
    return tuple(missing)


def link_disciplines() -> tuple[str, ...]:
    """Return which of netem and tbf links can have on this machine."""
    tried = (("netem", "delay", "100us"), ("tbf", "rate", "1gbit", "burst", "256kb", "latency", "50ms"))
    try:
        with _try_namespace() as name:
            _ip("-n", name, "link", "set", "lo", "up")
            return tuple(discipline[0] for discipline in tried if _tc(name, "lo", *discipline))
    except StormLabError:
        return ()


def why_no_namespaces() -> str | None:
    """Return why network namespaces cannot be made here; None if they can. Makes one and removes it."""
    for program, package in (("ip", "iproute2"), ("nsenter", "util-linux")):
        if shutil.which(program) is None:
            return f"the program {program} is missing (package {package})"
    try:
        with _try_namespace() as name:
            _ip("-n", name, "link", "add", "name", "v0", "type", "veth", "peer", "name", "v1")
            _ip("-n", name, "link", "add", "name", "br0", "type", "bridge")
    except StormLabError as error:
        return str(error)
    return None


@contextlib.contextmanager
def _try_namespace() -> Iterator[str]:
    """Provide a namespace for a trial, removed at the end of the block."""
    name = f"{_PREFIX}try-{os.getpid()}"
    try:
        _ip("netns", "add", name)
        yield name
    finally:
        remove_namespaces([name])


def remove_tries() -> None:
    """Remove namespaces that `link_disciplines` or `why_no_namespaces` left when they were killed."""
    tries = namespaces_of("try")
    remove_namespaces(name for name in tries if not Path(f"/proc/{name.rpartition('-')[2]}").exists())


def _ip(*arguments: str) -> None:
    done = _run(["ip", *arguments])
    if done.returncode != 0:
        raise StormLabError(f"ip {' '.join(arguments)}: {' '.join(done.stderr.split())}")


def _tc(namespace: str, device: str, *discipline: str) -> bool:
    command = ["tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", *discipline]
    return _run(command).returncode == 0


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return run_program(command)
    except OSError as error:
        return subprocess.CompletedProcess(list(command), 127, "", str(error))
