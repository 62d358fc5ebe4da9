"""Machines in a short YAML file, and by name."""

from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.model import Resources
from storm_lab.model.machines import MACHINE_TYPES, RSTORM_MHZ, TESTBEDS, Links, Machines
from storm_lab.papers.mfstorm.testbed import desktops
from storm_lab.papers.nstorm.testbed import servers
from storm_lab.papers.rstorm.testbed import emulab, emulab_costs
from storm_lab.papers.tstorm.chain import section_iii
from storm_lab.papers.tstorm.testbed import blades
from storm_lab.papers.twitter.testbed import machines
from storm_lab.workloads.importers.machines_file import load_machines, read_machines


def read(body: str) -> Machines:
    return read_machines(f"storm_lab: machines/1\n{body}", "m.yaml")


def test_nodes_are_counted_named_and_put_into_racks() -> None:
    found = read(
        """
nodes:
  - {name: small, count: 12, cores: 2, mhz: 2400, memory_mb: 4096, nic_mbps: 1000, slots: 2, rack: a}
  - {name: big, cores: 16, speed: 1.5, threads_per_core: 2, memory_mb: 65536, nic_mbps: 10000,
     slots: [7000, 7100], rack: b}
links: {between_racks_us: 500, rack_uplink_mbps: 2000}
"""
    )
    nodes = found.cluster.nodes
    assert [node.id for node in nodes] == [f"small{n:02d}" for n in range(1, 13)] + ["big"]
    assert nodes[0].ports == (6700, 6701)
    assert nodes[12].ports == (7000, 7100)
    assert found.cluster.racks == ("a", "b")
    # Speed is relative to 2.0 GHz cores; by default a node offers all that it has.
    assert nodes[12].core_mhz == 3000.0
    assert nodes[12].offer == Resources(cpu_points=1600.0, memory_mb=65536.0)
    assert found.links == Links(inter_rack_us=500.0, uplink_mbps=2000.0)
    assert found.links.given() == {"inter_rack_us": 500.0, "uplink_mbps": 2000.0}
    assert found.core_mhz is None


def test_a_container_has_a_quota_of_its_cores() -> None:
    found = read(
        """
types: {pod: {like: m5.xlarge, cpu_quota: 0.5}}
nodes: [{name: a, type: pod}, {name: b, type: pod, cpu_quota: 1.5, quota_period_ms: 20}]
"""
    )
    held = [(node.cpu_quota, node.quota_period_ms) for node in found.cluster.nodes]
    assert held == [(0.5, 100.0), (1.5, 20.0)]


def test_containers_on_one_machine_share_its_cores() -> None:
    nodes = "nodes: [{name: pod, count: 3, type: m5.xlarge, threads_per_core: 1}]"
    alone, together = (read(f"{nodes}\n{more}").cluster for more in ("", "shared_cores: 2.5"))
    assert (alone.shared_cores, together.shared_cores) == (None, 2.5)
    assert together.nodes == alone.nodes
    with pytest.raises(UserError, match=r"shared_cores"):
        read(f"{nodes}\nshared_cores: 0")


def test_nodes_that_share_cores_must_have_one_thread_per_core() -> None:
    with pytest.raises(UserError, match=r"threads_per_core = 2: .*, unlike 'a'; count each thread as a core"):
        read("nodes: [{name: a, type: m5.xlarge, threads_per_core: 2}]\nshared_cores: 2")


def test_more_quota_than_cores_is_refused() -> None:
    with pytest.raises(UserError, match=r"nodes\[0\]\.cpu_quota = 9\.0: is more than its cores; at most 2"):
        read("nodes: [{name: a, type: m5.xlarge, cpu_quota: 9}]")


def test_a_type_inherits_from_another_and_overrides_its_values() -> None:
    found = read(
        """
types:
  second: {like: first, cores: 4}
  first: {like: m5.xlarge, memory_mb: 8000, offers: {cpu_points: 350}}
nodes: [{name: n, type: second}]
"""
    )
    (node,) = found.cluster.nodes
    base = MACHINE_TYPES["m5.xlarge"]
    assert (node.cores, node.memory_mb) == (4, 8000.0)
    assert (node.core_mhz, node.nic_mbps) == (base.core_mhz, base.nic_mbps)
    # The type's offer does not apply, as the number of cores differs.
    assert node.offer == Resources(400.0, 8000.0)


def test_a_machine_type_of_the_papers_keeps_its_offer() -> None:
    found = read("nodes: [{name: n, count: 2, type: rstorm}]")
    assert found.cluster.nodes[0].offer == Resources(100.0, 20480.0)
    assert found.core_mhz == RSTORM_MHZ


def test_named_testbeds_are_those_of_the_papers_experiments() -> None:
    assert TESTBEDS["tstorm-section-iii"].cluster == section_iii()
    assert TESTBEDS["tstorm-section-v"].cluster == blades()
    assert TESTBEDS["nstorm"].cluster == servers()
    assert TESTBEDS["rstorm"].cluster == emulab()
    assert TESTBEDS["rstorm"].links.inter_rack_us == emulab_costs().inter_rack_us
    assert TESTBEDS["mfstorm"].cluster == desktops(3)
    assert TESTBEDS["twitter"].cluster == machines(4)


def test_a_testbed_is_chosen_by_its_name_or_in_a_file(tmp_path: Path) -> None:
    assert load_machines("nstorm") is TESTBEDS["nstorm"]
    path = tmp_path / "m.yaml"
    path.write_text("storm_lab: machines/1\ntestbed: nstorm\nlinks: {same_rack_us: 80}\n")
    assert load_machines(path).cluster == TESTBEDS["nstorm"].cluster
    assert load_machines(path).links.lan_us == 80.0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("nodes: [{name: a, cores: x}]", r"m.yaml:2 nodes\[0\].cores = 'x': must be of type integer"),
        ("nodes: [{name: a, cores: 4}]", "needs memory_mb; give it, or a type of machine"),
        ("nodes: [{name: a, type: m5.huge}]", "no such machine type; did you mean m5"),
        ("nodes: [{name: a, type: desktop, mhz: 3000, speed: 2}]", "gives both mhz and speed"),
        ("nodes: [{name: a, type: desktop, cors: 3}]", "does not know 'cors'"),
        ("nodes: [{name: a, type: desktop}, {name: a, type: desktop}]", "m.yaml has this node twice"),
        ("nodes: [{name: a, type: desktop, slots: [1, 1]}]", "each value once"),
        ("nodes: [{name: a, type: desktop, mhz: .nan}]", "must be a finite number"),
        (
            "nodes: [{name: a, count: 4000, type: desktop}, {name: b, count: 4000, type: desktop}]",
            "too many nodes",
        ),
        ("types: {a: {like: b}, b: {like: a}}\nnodes: [{name: n, type: a}]", "in a cycle"),
        ("types: {a: {like: a}}\nnodes: [{name: n, type: a}]", "in a cycle"),
        ("types: {a: {like: nobody}}\nnodes: [{name: n, type: a}]", "no such machine type"),
        ("testbed: nobody", "no such testbed"),
        ("testbed: nstorm\nnodes: [{name: a, type: desktop}]", "either testbed or nodes"),
        ("{}", "not YAML"),
        ("links: {same_rack_us: 1}\ntestbed: nstorm", "must be at least 50"),
    ],
)
def test_an_error_is_one_line_with_its_file_line_and_key(body: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as error:
        read(body)
    assert "\n" not in str(error.value)


def test_a_name_of_neither_file_nor_testbed_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"no such testbed; did you mean rstorm\?"):
        load_machines("rstom")
