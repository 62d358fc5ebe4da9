"""How a cluster's description becomes hosts."""

import math
import os
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from storm_lab.errors import UserError
from storm_lab.live import hosts, records
from storm_lab.live.cgroups import SLICE_US, set_slice, slice_us
from storm_lab.live.hosts import MASTER, Host, HostOptions, Hosts, check_hosts, cpu_quotas, machine_mhz
from storm_lab.live.records import Place, remove_cluster
from storm_lab.model.cluster import Cluster, Node


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return Place.make("2.8.3")


def cluster(*cores: int, mhz: float = 2000.0) -> Cluster:
    return Cluster(tuple(Node(f"n{index}", cores=count, core_mhz=mhz) for index, count in enumerate(cores)))


@pytest.mark.parametrize(
    ("clock_mhz", "cores", "nodes", "options", "quotas"),
    [
        # By the clocks of node and machine.
        (4000.0, 8, cluster(1, 2), HostOptions(), (0.5, 1.0)),
        (2000.0, 8, Cluster((Node("n0", cores=4, core_mhz=2000.0, cpu_quota=0.5),)), HostOptions(), (0.5,)),
        # Nodes that exceed the machine are scaled by one factor.
        (2000.0, 2, cluster(1, 1, 1, 3), HostOptions(), (0.3, 0.3, 0.3, 0.9)),
        (2000.0, 2, cluster(1), HostOptions(cpu_scale=0.145), (0.145,)),
    ],
)
def test_nodes_have_quotas_by_their_clocks_and_fit_on_the_machine(
    clock_mhz: float,
    cores: int,
    nodes: Cluster,
    options: HostOptions,
    quotas: tuple[float, ...],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(hosts, "machine_mhz", lambda: clock_mhz)
    monkeypatch.setattr(hosts, "usable_cores", lambda: cores)
    assert tuple(cpu_quotas(nodes, options).values()) == pytest.approx(quotas)


def test_only_cores_that_this_process_may_use_are_shared_out(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hosts, "machine_mhz", lambda: 2000.0)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    assert cpu_quotas(cluster(1, 2), HostOptions()) == pytest.approx({"n0": 0.6, "n1": 1.2})

    limits: list[float] = []
    made = made_with(Mock(limit_cpu=limits.append), place, monkeypatch)
    assert limits == [pytest.approx(1.8)]
    assert made.host("n1").cores == pytest.approx(1.2)


def made_with(group: Mock, place: Place, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    """Make hosts of one and of two cores in a control group for CPU, without a network."""
    group.configure_mock(folders=(), controllers={"cpu"}, **{"make_host.return_value": group})
    monkeypatch.setattr(hosts.Group, "of_cluster", lambda token, found: group)
    monkeypatch.setattr(hosts, "hierarchies", tuple)
    made = Hosts(place, cluster(1, 2), HostOptions())
    made._network = Mock(**{"shape_host.return_value": (), "shape_rack.return_value": ()})
    made.make()
    return made


def test_a_container_with_less_cpu_than_the_machine_still_has_hosts(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    refusal = UserError("the kernel refuses this limit (Invalid argument)")
    made = made_with(Mock(**{"limit_cpu.side_effect": refusal}), place, monkeypatch)
    assert made.host("n1").cores is not None
    assert f"CPU limit of the cluster ({refusal})" in made.unrealised


def test_a_pinned_host_runs_on_its_own_cores_only():
    assert Host("n0", "10.77.0.2", own_cores=(1, 3)).command(["java"]) == [
        "taskset", "--cpu-list", "1,3", "java",
    ]  # fmt: skip


@pytest.mark.parametrize("field", ["latency_us", "rack_latency_us"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_invalid_latencies_are_refused_with_the_valid_range(field: str, value: float):
    options = replace(HostOptions(), **{field: value})
    with pytest.raises(UserError, match=f"^{field} = {value}: .*; give 0 to 1000000 us"):
        check_hosts(cluster(1), options)


def test_pinning_more_cores_than_the_machine_has_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hosts, "usable_cores", lambda: 2)
    check_hosts(cluster(1, 1), HostOptions(pinned=True))
    with pytest.raises(UserError, match=r"cores of all nodes = 3: only 2 cores of this machine can be"):
        check_hosts(cluster(1, 2), HostOptions(pinned=True))


def test_the_machines_clock_is_read_from_cpuinfo(tmp_path: Path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("cpu MHz\t\t: 2596.1\nmodel name\t: x\ncpu MHz\t\t: 2600.0\n")
    assert machine_mhz(cpuinfo) == 2600.0
    assert machine_mhz(tmp_path / "absent") == 2000.0


def test_loopback_hosts_have_their_own_addresses_and_report_what_is_missing(place: Place):
    made = Hosts(place, cluster(1, 1), HostOptions(kind="loopback"))
    made.make()
    addresses = [made.host(name).address for name in (MASTER, "n0", "n1")]
    net = addresses[0].rpartition(".")[0]
    assert addresses == [f"{net}.1", f"{net}.2", f"{net}.3"]
    assert net.startswith("127.77.")
    assert made.unrealised == ("CPU, memory and links of nodes (plain processes on loopback, as requested)",)
    assert made.host("n0").command(["java", "-version"]) == ["java", "-version"]
    with pytest.raises(UserError, match=r"node = 'n0': plain processes on loopback have no links to cut"):
        made.set_link("n0", None, up=False)


def test_a_port_that_another_program_uses_at_all_addresses_is_refused(place: Place):
    with socket.socket() as server:
        server.bind(("0.0.0.0", 0))
        server.listen()
        port = server.getsockname()[1]
        busy = Cluster((Node("n0", ports=(port,)),))
        with pytest.raises(UserError, match=rf"port = {port}: another program uses this port"):
            Hosts(place, busy, HostOptions(kind="loopback")).make()


def test_quotas_use_small_slices_while_the_cluster_exists(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "slice"
    file.write_text("5000\n")
    for module in (hosts, records):
        monkeypatch.setattr(module, "set_slice", lambda us: set_slice(us, file))
    monkeypatch.setattr(hosts, "slice_us", lambda: slice_us(file))
    free, held = (Hosts(place, cluster(1), HostOptions()) for _ in range(2))
    free._hosts = {"n0": Host("n0", "10.77.0.2")}
    held._hosts = {"n0": Host("n0", "10.77.0.2", cores=0.5)}
    free.apply_quotas()
    assert slice_us(file) == 5000
    held.apply_quotas()
    assert slice_us(file) == SLICE_US
    # A second cluster finds small slices and must not reset them.
    other = Place.make("2.8.3")
    second = Hosts(other, cluster(1), HostOptions())
    second._hosts = held._hosts
    second.apply_quotas()
    remove_cluster(other)
    assert slice_us(file) == SLICE_US
    remove_cluster(place)
    assert slice_us(file) == 5000


def test_a_slice_file_that_is_missing_or_cannot_be_written_is_tolerated(tmp_path: Path):
    assert slice_us(tmp_path / "absent") is None
    assert not set_slice(500, tmp_path / "no-folder" / "slice")


def test_two_clusters_on_loopback_never_share_an_address(place: Place):
    first = Hosts(place, cluster(1), HostOptions(kind="loopback"))
    second = Hosts(Place.make("2.8.3"), cluster(1), HostOptions(kind="loopback"))
    first.make()
    second.make()
    assert first.host("n0").address != second.host("n0").address


def test_without_network_namespaces_a_cluster_falls_back_and_says_why(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hosts, "why_no_namespaces", lambda: "Operation not permitted")
    made = Hosts(place, cluster(1), HostOptions())
    assert "network namespaces cannot be created: Operation not permitted" in made.unrealised[0]
    with pytest.raises(
        UserError, match=r"hosts = 'namespaces'.*run as root, with .* installed, or use loopback"
    ):
        Hosts(place, cluster(1), HostOptions(kind="namespaces"))


@pytest.mark.parametrize(
    ("nodes", "options", "message"),
    [
        ((), HostOptions(), "cluster: has no node"),
        ((Node(MASTER),), HostOptions(), "node = 'master': is reserved for the host of Nimbus"),
        ((Node("a", memory_mb=100.0),), HostOptions(), r"memory_mb of node a = 100\.0: not enough"),
        ((Node("a"),), HostOptions(cpu_scale=0.0), r"cpu_scale = 0\.0: must be above 0"),
    ],
)
def test_a_cluster_that_cannot_be_realised_is_refused(
    nodes: tuple[Node, ...], options: HostOptions, message: str
):
    with pytest.raises(UserError, match=message):
        check_hosts(Cluster(nodes), options)


def test_a_program_joins_its_control_groups_before_it_starts(tmp_path: Path):
    class Entrances:
        entrances = (tmp_path / "one", tmp_path / "two")

    host = Host("n0", "10.77.0.2", None, Entrances())  # type: ignore[arg-type]
    done = subprocess.run(
        host.command(["/bin/sh", "-c", "echo $$"]), capture_output=True, text=True, check=True
    )
    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text() == done.stdout
    (tmp_path / "one").unlink()
    (tmp_path / "one").mkdir()
    if os.name == "posix":
        refused = subprocess.run(host.command(["/bin/true"]), capture_output=True, check=False)
        assert refused.returncode == 125
