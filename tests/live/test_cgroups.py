"""Control groups, with their CPU quota and memory limit, in folders laid out like the kernel's."""

from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.live.cgroups import Group, Hierarchy, hierarchies, lift_quotas, members, remove_tree


@pytest.fixture
def version_1(tmp_path: Path) -> tuple[Path, Path]:
    """Write files that list three controllers of version 1; for memory, this process is in a group."""
    mounts, own = tmp_path / "mountinfo", tmp_path / "cgroup"
    lines, paths = [], []
    for number, name in enumerate(("cpu", "cpuacct", "memory")):
        (tmp_path / "sys" / name / "mine").mkdir(parents=True)
        lines.append(f"{number} 1 0:2{number} / {tmp_path}/sys/{name} rw - cgroup cgroup rw,{name}\n")
        paths.append(f"{number}:{name}:{'/mine' if name == 'memory' else '/'}\n")
    lines.append(f"9 1 0:29 / {tmp_path}/sys rw - tmpfs tmpfs rw\n")
    mounts.write_text("".join(lines))
    own.write_text("".join(paths))
    return mounts, own


@pytest.fixture
def group_1(version_1: tuple[Path, Path]) -> Group:
    """The group of a host in version 1."""
    return host_group(hierarchies(*version_1))


@pytest.fixture
def group_2(tmp_path: Path) -> Group:
    """The group of a host in version 2, in a folder ``two`` laid out like the kernel's."""
    own = tmp_path / "two" / "storm-lab-abc123"
    own.mkdir(parents=True)
    for folder in (tmp_path / "two", own):
        (folder / "cgroup.subtree_control").write_text("")
    return host_group((Hierarchy(2, tmp_path / "two", frozenset({"cpu", "memory"})),))


def host_group(places: tuple[Hierarchy, ...]) -> Group:
    group = Group.of_cluster("abc123", places)
    group.make()
    return group.make_host("host1")


def test_version_1_groups_are_created_below_the_group_of_this_process(
    version_1: tuple[Path, Path], tmp_path: Path
):
    found = {name: place for place in hierarchies(*version_1) for name in place.controllers}
    assert {place.version for place in found.values()} == {1}
    assert found["memory"].folder == tmp_path / "sys" / "memory" / "mine"
    assert found["cpu"].folder == tmp_path / "sys" / "cpu"


def test_the_mount_point_is_used_when_a_container_hides_the_group(
    version_1: tuple[Path, Path], tmp_path: Path
):
    mounts, own = version_1
    own.write_text("2:memory:/docker/0123\n")
    assert {place.folder for place in hierarchies(mounts, own) if "memory" in place.controllers} == {
        tmp_path / "sys" / "memory"
    }


def test_without_mounts_there_are_no_hierarchies(tmp_path: Path):
    assert hierarchies(tmp_path / "absent", tmp_path / "absent") == ()


def test_cpu_quota_and_memory_limit_in_version_1(group_1: Group, tmp_path: Path):
    group_1.limit_cpu(0.145)
    group_1.limit_memory(2048)
    group_1.weigh(1000)
    cpu = tmp_path / "sys" / "cpu" / "storm-lab-abc123" / "host1"
    assert (cpu / "cpu.cfs_period_us").read_text() == "20000"
    assert (cpu / "cpu.cfs_quota_us").read_text() == "2900"
    assert (cpu / "cpu.shares").read_text() == "10240"
    memory = tmp_path / "sys" / "memory" / "mine" / "storm-lab-abc123" / "host1"
    assert (memory / "memory.limit_in_bytes").read_text() == str(2048 * 2**20)
    assert len(group_1.entrances) == 3


def test_cpu_quota_and_memory_limit_in_version_2(group_2: Group, tmp_path: Path):
    group_2.limit_cpu(1.5)
    group_2.limit_memory(512)
    group_2.weigh(1000)
    folder = tmp_path / "two" / "storm-lab-abc123" / "host1"
    assert (tmp_path / "two" / "cgroup.subtree_control").read_text().split() == ["+cpu", "+memory"]
    assert (folder / "cpu.max").read_text() == "30000 20000"
    assert (folder / "memory.max").read_text() == str(512 * 2**20)
    assert (folder / "cpu.weight").read_text() == "1000"
    assert group_2.entrances == (folder / "cgroup.procs",)
    group_2.limit_cpu(1.5, 100_000)
    assert (folder / "cpu.max").read_text() == "150000 100000"


def test_version_1_controllers_are_used_where_both_versions_are_mounted(tmp_path: Path):
    first = Hierarchy(1, tmp_path / "cpu", frozenset({"cpu"}))
    second = Hierarchy(2, tmp_path / "unified", frozenset({"memory"}))
    assert Group.of_cluster("abc123", [first, second]).controllers == {"cpu"}


def test_cpu_use_is_read_in_either_version(group_1: Group, group_2: Group, tmp_path: Path):
    stat = tmp_path / "sys" / "cpu" / "storm-lab-abc123" / "host1" / "cpu.stat"
    stat.write_text("nr_periods 50\nnr_throttled 3\nthrottled_time 7000\n")
    (tmp_path / "sys" / "cpuacct" / "storm-lab-abc123" / "host1" / "cpuacct.usage").write_text("123456\n")
    use = group_1.cpu_use()
    assert (use.cpu_ns, use.periods, use.throttled) == (123456, 50, 3)

    stat = tmp_path / "two" / "storm-lab-abc123" / "host1" / "cpu.stat"
    stat.write_text("usage_usec 123\nuser_usec 100\nnr_periods 50\nnr_throttled 3\nthrottled_usec 7\n")
    use = group_2.cpu_use()
    assert (use.cpu_ns, use.periods, use.throttled) == (123_000, 50, 3)


def test_lifting_quotas_makes_cpu_unlimited(group_1: Group, tmp_path: Path):
    group_1.limit_cpu(0.1)
    lift_quotas(tmp_path / "sys" / "cpu" / "storm-lab-abc123")
    quota = tmp_path / "sys" / "cpu" / "storm-lab-abc123" / "host1" / "cpu.cfs_quota_us"
    assert quota.read_text() == "-1"


def test_a_limit_that_the_kernel_refuses_is_one_line(group_1: Group, tmp_path: Path):
    # As in a container that may use less CPU itself; here the kernel's file cannot be written to.
    (tmp_path / "sys" / "cpu" / "storm-lab-abc123" / "host1" / "cpu.cfs_quota_us").mkdir()
    with pytest.raises(UserError, match=r"cpu.cfs_quota_us = '36000': the kernel refuses this limit \(Is a"):
        group_1.limit_cpu(1.8)


def test_processes_killed_for_lack_of_memory_are_counted(group_1: Group, tmp_path: Path):
    folder = tmp_path / "sys" / "memory" / "mine" / "storm-lab-abc123" / "host1"
    (folder / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    assert group_1.memory_kills() == 2


def test_members_include_those_of_nested_groups(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "cgroup.procs").write_text("7\n3\n")
    (tmp_path / "a" / "b" / "cgroup.procs").write_text("5\n")
    assert members([tmp_path / "a", tmp_path / "absent"]) == [3, 5, 7]


def test_a_tree_of_groups_is_removed_leaves_first(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert remove_tree(tmp_path / "a")
    assert not (tmp_path / "a").exists()
    assert remove_tree(tmp_path / "a")
