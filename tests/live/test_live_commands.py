"""The command ``storm-lab live``: a mistake is reported in one line, and nothing is fetched or started."""

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from storm_lab.cli import main
from storm_lab.live.records import Place, state_folder
from storm_lab.live.suite.sittings import SITTINGS

Answer = tuple[int, str, str]


@pytest.fixture
def storm_lab(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Answer]:
    """Run the program in this process, with its own cache and state folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def call(*arguments: str) -> Answer:
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        try:
            with pytest.raises(SystemExit) as end:
                main(["live", *arguments])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        out, err = capsys.readouterr()
        code = end.value.code
        assert not (tmp_path / "cache").exists() or arguments[0] == "doctor"
        return (code if isinstance(code, int) else 1), out, err

    return call


def test_help_lists_the_commands(storm_lab: Callable[..., Answer]):
    status, out, _ = storm_lab("--help")
    assert status == 0
    for command in ("doctor", "fetch", "up", "down", "run", "record", "trust"):
        assert f"\n  {command} " in out


@pytest.mark.parametrize("command", ["doctor", "fetch", "up", "down", "run", "record", "trust"])
def test_every_help_page_shows_examples(storm_lab: Callable[..., Answer], command: str):
    status, out, _ = storm_lab(command, "--help")
    assert status == 0
    assert f"storm-lab live {command}" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("up", "--version", "3.1"),
            "version = '3.1': this version of Storm cannot be run live; choose one of",
        ),
        (("fetch", "abc"), "version = 'abc': this version of Storm cannot be run live; choose one of"),
        (("up", "--nodes", "0"), "Invalid value for '--nodes': 0 is not in the range 1<=x<=50."),
        (
            ("up", "--memory", "64"),
            "memory_mb of node node1 = 64.0: not enough for a supervisor and a worker",
        ),
        (("up", "--socket", "/no/such/place/s"), "--socket = '/no/such/place/s': its folder does not exist"),
        (("up", "--hosts", "cloud"), "Invalid value for '--hosts'"),
        (("record", "lihgt"), "sitting = 'lihgt': the suite has no such sitting; did you mean light?"),
        (
            ("record", "logged", "--version", "2.8"),
            "--version = '2.8': none of these sittings is played on this version",
        ),
        (("trust", "--folder", "/no/such"), "folder = '/no/such': there are no recorded runs"),
        (
            ("trust", "--constants", "/no/such.json"),
            "constants = '/no/such.json': the constants cannot be read",
        ),
    ],
)
def test_a_mistake_is_reported_in_one_line(
    storm_lab: Callable[..., Answer], arguments: tuple[str, ...], line: str
):
    status, out, err = storm_lab(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"storm-lab: {line}")
    assert err.count("\n") == 1


def test_a_missing_java_is_reported_before_anything_is_fetched(
    storm_lab: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setattr("storm_lab.machine.java.bundled_java_home", lambda: None)
    status, _, err = storm_lab("up")
    assert status == 2
    assert "no Java 17 or newer was found" in err


def test_a_state_folder_with_a_space_in_its_path_is_refused(
    storm_lab: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "my state"))
    status, _, err = storm_lab("up")
    assert status == 2
    assert err.startswith("storm-lab: XDG_STATE_HOME = ")
    assert "contains a space, colon or star, which Storm's command lines do not allow; choose another" in err


def test_the_sittings_are_listed_with_their_scenes_and_lengths(storm_lab: Callable[..., Answer]):
    status, out, _ = storm_lab("record", "--list")
    assert status == 0
    *sittings, last = out.splitlines()
    assert len(sittings) == len(SITTINGS)
    assert "light-2000-two-nodes" in out
    suite = [line for line in sittings if SITTINGS[line.split()[0]].in_suite]
    seconds = sum(int(word) for line in suite for word in re.findall(r"(\d+) s on", line))
    assert last.endswith(f"on all versions {seconds / 60:.0f}")


def test_down_with_no_cluster_says_so(storm_lab: Callable[..., Answer]):
    assert storm_lab("down") == (0, "no clusters\n", "")


def test_down_removes_clusters_left_running_and_those_of_killed_commands(storm_lab: Callable[..., Answer]):
    kept, lost, busy = Place.make("2.8.3"), Place.make("0.9.7"), Place.make("1.2.4")
    kept.release()
    lost.disown()
    status, out, _ = storm_lab("down")
    assert status == 0
    assert f"{kept.record.token}: Storm 2.8.3 was running; removed completely\n" in out
    assert f"{lost.record.token}: Storm 0.9.7 was left behind by a killed command; removed" in out
    assert f"{busy.record.token}: in use by a running command" in out
    assert [folder.name for folder in state_folder().iterdir()] == [busy.record.token]
    busy.remove()
