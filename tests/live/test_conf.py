"""Configuration files of Storm's daemons."""

import json
from pathlib import Path

import pytest

from storm_lab.live.daemons import (
    common_settings,
    nimbus_settings,
    storm_yaml,
    supervisor_settings,
    write_log_layouts,
    zookeeper_cfg,
)
from storm_lab.live.releases import RELEASES, find_release
from storm_lab.model.cluster import Node
from storm_lab.model.topology import Resources

NODE = Node("a", ports=(6700, 6701), offer=Resources(cpu_points=250.0, memory_mb=3000.0))


@pytest.mark.parametrize("version", RELEASES)
def test_every_release_finds_zookeeper_and_nimbus_on_the_master(version: str):
    settings = common_settings(find_release(version), "10.77.0.1", {})
    assert settings["storm.zookeeper.servers"] == ["10.77.0.1"]
    nimbus = settings.get("nimbus.seeds", [settings.get("nimbus.host")])
    assert nimbus == ["10.77.0.1"]


def test_storm_before_1_0_has_a_single_nimbus_host_and_fixed_heap_sizes():
    old = common_settings(find_release("0.9.2"), "10.77.0.1", {})
    assert "nimbus.seeds" not in old
    assert str(old["worker.childopts"]).startswith("-Xmx768m --add-opens=")
    new = common_settings(find_release("2.8"), "10.77.0.1", {})
    assert "nimbus.host" not in new
    assert new["worker.childopts"] == "-Xmx%HEAP-MEM%m"


def test_user_settings_override_the_defaults():
    settings = common_settings(find_release("2.8"), "m", {"storm.zookeeper.port": 99, "topology.debug": True})
    assert (settings["storm.zookeeper.port"], settings["topology.debug"]) == (99, True)


def test_a_supervisor_gets_the_ports_capacity_and_address_of_its_node():
    common = common_settings(find_release("2.8"), "m", {})
    settings = supervisor_settings(find_release("2.8"), common, NODE, "10.77.0.2", Path("/x"), "-XX:Flag")
    assert settings["supervisor.slots.ports"] == [6700, 6701]
    assert settings["storm.local.hostname"] == "10.77.0.2"
    assert settings["supervisor.cpu.capacity"] == 250.0
    assert settings["supervisor.memory.capacity.mb"] == 3000.0
    assert settings["worker.childopts"] == "-Xmx%HEAP-MEM%m -XX:Flag"


def test_supervisors_before_1_0_have_no_capacity_and_no_thrift_port():
    release = find_release("0.9.7")
    settings = supervisor_settings(release, common_settings(release, "m", {}), NODE, "a", Path("/x"))
    assert not [key for key in settings if "capacity" in key or key == "supervisor.thrift.port"]


def test_only_nimbus_is_configured_with_the_scheduler():
    common = common_settings(find_release("2.8"), "m", {})
    settings = nimbus_settings(common, "m", Path("/x"), Path("/s"))
    assert settings["storm.scheduler"] == "stormlab.BridgeScheduler"
    assert settings["storm.lab.scheduler.socket"] == "/s"
    assert "storm.scheduler" not in nimbus_settings(common, "m", Path("/x"), None)
    assert "storm.scheduler" not in common


def test_storm_yaml_is_json_with_its_keys_in_order():
    text = storm_yaml({"b": [1], "a": "ü"})
    assert json.loads(text) == {"a": "ü", "b": [1]}
    assert text.index('"a"') < text.index('"b"')
    assert text.isascii()


def test_zookeeper_listens_at_one_address():
    assert "clientPortAddress=10.77.0.1\n" in zookeeper_cfg("10.77.0.1", Path("/data"))


@pytest.mark.parametrize(("version", "folder"), [("2.8", "log4j2"), ("0.9.2", "logback")])
def test_log_layouts_are_written_where_storm_expects_them(tmp_path: Path, version: str, folder: str):
    write_log_layouts(find_release(version), tmp_path)
    worker = (tmp_path / folder / "worker.xml").read_text()
    cluster = (tmp_path / folder / "cluster.xml").read_text()
    assert "${sys:storm.id}" in worker if folder == "log4j2" else worker == cluster


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.8", "2.8.3"),
        ("2.8.3", "2.8.3"),
        ("0.9.2", "0.9.2-incubating"),
        ("0.9", "0.9.2-incubating"),
        ("0.9.7", "0.9.7"),
    ],
)
def test_a_release_is_found_by_version_or_label(text: str, version: str):
    assert find_release(text).version == version
