"""The two ends of a measurement of `sampler.measure_links`: a separate program, which starts fast.

It imports nothing of the package. ``echo.py serve ADDRESS`` prints its port and sends back what it receives.
``echo.py ask ADDRESS PORT`` prints half of a round trip, in us: the lower quartile, since on a busy machine
many messages wait for a core. Both poll their socket all the time.
"""

from __future__ import annotations

import socket
import sys
import time

TURNS, WARM_UP = 4000, 20
ASKING_SECONDS = 2.0
"""The asking end stops after this time, even with fewer than `TURNS` turns."""
BYTES = 100
"""Size of a message: that of a small tuple."""
SECONDS = 20.0
"""An end gives up after this time without its peer."""


def _joined(stream: socket.socket) -> socket.socket:
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.setblocking(False)
    return stream


def _receive(stream: socket.socket) -> bytes:
    end = time.monotonic() + SECONDS
    while True:
        try:
            return stream.recv(BYTES)
        except BlockingIOError:
            if time.monotonic() > end:
                raise TimeoutError from None


def serve(address: str) -> None:
    """Send back to one peer what it sends, until it closes the connection."""
    with socket.create_server((address, 0)) as listening:
        listening.settimeout(SECONDS)
        print(listening.getsockname()[1], flush=True)
        with _joined(listening.accept()[0]) as stream:
            while message := _receive(stream):
                stream.send(message)


def ask(address: str, port: int) -> None:
    """Print half of a round trip, in us."""
    message = bytes(BYTES)
    took: list[int] = []
    with _joined(socket.create_connection((address, port), SECONDS)) as stream:
        end = time.monotonic() + ASKING_SECONDS
        while len(took) < TURNS and (len(took) <= WARM_UP or time.monotonic() < end):
            began = time.perf_counter_ns()
            stream.send(message)
            left = BYTES
            while left:
                left -= len(_receive(stream))
            took.append(time.perf_counter_ns() - began)
    took = sorted(took[WARM_UP:])
    print(took[len(took) // 4] / 2000)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        ask(sys.argv[2], int(sys.argv[3]))
