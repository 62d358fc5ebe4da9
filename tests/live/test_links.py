"""Measuring with two small programs how long a message takes between hosts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from storm_lab.calibration.measurements import links_of
from storm_lab.errors import StormLabError
from storm_lab.live.hosts import Host
from storm_lab.live.sampler import measure_links, one_way_us
from storm_lab.model.cluster import Cluster, Node

HERE = Host("a", "127.0.0.1")


@dataclass
class PlainStorm:
    """The part of a running cluster that the measurement needs: hosts that are addresses."""

    cluster: Cluster
    token: str = "abcdef"

    def host(self, name: str) -> Host:
        return replace(HERE, name=name)


ANSWER_S = 0.02

LATE = f"""
import socket, time
with socket.create_server(("127.0.0.1", 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    with listening.accept()[0] as stream:
        while message := stream.recv(100):
            time.sleep({ANSWER_S})
            stream.send(message)
"""


class Far(Host):
    """A host whose server answers after a known time."""

    def command(self, program: Sequence[str]) -> list[str]:
        return [sys.executable, "-c", LATE]


def least_us(there: Host) -> float:
    """Return the least of three measurements: on a busy machine the two programs may share a core."""
    return min(one_way_us(HERE, there, "abcdef") for _ in range(3))


def test_a_message_takes_half_of_the_round_trip_time() -> None:
    assert 0.5 <= least_us(Far("far", "127.0.0.1")) / (1e6 * ANSWER_S) < 0.9


def test_a_message_on_loopback_takes_microseconds() -> None:
    assert 0.5 < least_us(HERE) < 1e6 * ANSWER_S / 20


def test_a_link_between_nodes_is_measured_only_if_there_are_two() -> None:
    both = measure_links(PlainStorm(Cluster((Node("a"), Node("b")))))  # type: ignore[arg-type]
    alone = measure_links(PlainStorm(Cluster((Node("a"),))))  # type: ignore[arg-type]
    assert set(both) == {"lan_us", "loopback_us"}
    assert set(alone) == {"loopback_us"}
    assert all(us > 0 for us in both.values())


def test_hosts_that_cannot_reach_each_other_are_named() -> None:
    with pytest.raises(StormLabError, match="host a cannot reach host b"):
        one_way_us(HERE, Host("b", "192.0.2.1"), "abcdef")


def recorded(**conditions: float) -> SimpleNamespace:
    return SimpleNamespace(run=SimpleNamespace(manifest=SimpleNamespace(conditions=conditions)))


def test_calibration_uses_the_link_times_measured_by_plays() -> None:
    found = links_of([recorded(lan_us=7.0, loopback_us=5.0), recorded(lan_us=9.0), recorded()])  # type: ignore[list-item]
    assert found == {"lan_us": 8.0, "loopback_us": 5.0}


def test_recordings_without_link_times_get_those_of_the_first_machine() -> None:
    assert links_of([recorded()]) == {"lan_us": 11.0, "loopback_us": 9.0}  # type: ignore[list-item]
