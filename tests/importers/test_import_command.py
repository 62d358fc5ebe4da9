"""The command ``storm-lab import``: what it prints, and its exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from storm_lab.errors import UserError
from storm_lab.workloads.importers.command import import_command
from storm_lab.workloads.importers.importing import import_topology
from tests.importers.flux_shapes import SHAPES
from tests.importers.reading import overlay_of
from tests.importers.streamparse_shapes import PROJECTS


def run(*arguments: object) -> Result:
    return CliRunner().invoke(import_command, [str(argument) for argument in arguments])


def flux(folder: Path, shape: str = "a diamond") -> Path:
    path = folder / "topology.yaml"
    path.write_text(SHAPES[shape].text)
    return path


def test_the_command_prints_what_was_read_assumed_and_left_out(tmp_path: Path) -> None:
    path = flux(tmp_path, "a custom grouping")
    result = run(path, "--machines", "nstorm")
    assert result.exit_code == 0
    text = result.output
    assert text.startswith("topology (Flux), from topology.yaml\n  2 components, 3 executors, 1 worker,")
    assert "  spout s: 1 executor; 100 records/s; 100 us a call; 1 on default\n" in text
    assert "  bolt a: 2 executors; 100 us a call; from s by shuffle\n" in text
    assert "  on 2 nodes with 8 slots in 1 rack\n" in text
    assert "  cost of a call 100 us, of s, a (a default; give cost_us)\n" in text
    assert "Could not be used (1):\n  topology.yaml:7 streams[0].grouping: a custom grouping" in text
    assert text.endswith("Playable.\n")


def test_the_exit_status_is_1_if_something_is_missing(tmp_path: Path) -> None:
    out = tmp_path / "out.yaml"
    result = run(flux(tmp_path, "a topology that Java builds"), "--out", out)
    assert result.exit_code == 1
    assert "Missing, so that it cannot be played (2):" in result.output
    assert "Playable" not in result.output
    assert not out.exists()


def test_json_reports_the_same_content(tmp_path: Path) -> None:
    result = run(flux(tmp_path, "a custom grouping"), "--json")
    report = json.loads(result.output)
    assert report["playable"] is True
    assert [c["id"] for c in report["components"]] == ["s", "a"]
    assert report["components"][1]["inputs"] == [
        {"from": "s", "stream": "default", "grouping": "shuffle", "fields": []}
    ]
    assert report["unusable"][0]["line"] == 7
    assert report["unusable"][0]["missing"] is False
    assert {
        "component": "s",
        "what": "cost of a call",
        "value": "100 us",
        "reason": "a default; give cost_us",
    } in (report["assumed"])
    result = run(flux(tmp_path, "a loop"), "--json")
    assert result.exit_code == 1
    report = json.loads(result.output)
    assert (report["playable"], report["components"]) == (False, [])


def test_the_written_file_can_be_imported_again(tmp_path: Path) -> None:
    out = tmp_path / "out.yaml"
    overlay = overlay_of(tmp_path, "components: {s: {rate_per_s: 5}}")
    result = run(flux(tmp_path), "--out", out, "--overlay", overlay)
    assert f"written: {out}\n" in result.output
    again = run(out)
    assert again.exit_code == 0
    assert "Assumed" not in again.output
    assert "  spout s: 1 executor; 5 records/s;" in again.output


def test_python_is_run_only_on_request_and_announced_as_the_projects_own_code(tmp_path: Path) -> None:
    project = PROJECTS["word count"].write(tmp_path)
    assert "its own code" not in run(project).output
    assert "with --run-python its spouts and bolts would run" in run(project).output
    result = run(project, "--run-python", "--out", tmp_path / "out.yaml")
    assert "; its own code" in result.output
    assert "out.recording.json.gz" in result.output
    assert "their code, with your rights" in " ".join(run("--help").output.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothere.yaml"], "no such file"),
        (["topology.yaml", "--overlay", "nothere.yaml"], "no such file"),
        (["topology.yaml", "--machines", "nothere"], "no such testbed"),
        (["topology.yaml", "--machines", "nothere.yaml"], "no such file"),
        (["topology.txt"], "does not end in one of"),
        (["topology.yaml", "topology.yaml"], "several files are one topology only if"),
        (["topology.yaml", "--out", "topology.txt/out.yaml"], "^out = .*cannot be written"),
        (["topology.yaml", "--out-loadgen", "topology.txt/out.yaml"], "^out_loadgen = .*cannot be written"),
        (["topology.yaml", "--out", "out.json"], "--out = 'out.json': a topology is written as YAML"),
        (["topology.yaml", "--out", "."], "--out = '.': a topology is written as YAML"),
        (["topology.yaml", "--out-loadgen", "out"], "--out-loadgen = 'out': a topology is written as YAML"),
        (["."], "is neither a streamparse project .* nor one of pages"),
    ],
)
def test_a_mistake_is_reported_as_a_user_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    flux(tmp_path)
    (tmp_path / "topology.txt").write_text("x")
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert isinstance(result.exception, UserError), result.output
    with pytest.raises(UserError, match=says):
        raise result.exception


def test_storm_lab_has_the_import_command(tmp_path: Path) -> None:
    code = "import sys; from storm_lab.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "import"]
    found = subprocess.run([*command, str(flux(tmp_path))], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    found = subprocess.run([*command, str(tmp_path / "x.yaml")], capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1


def test_importing_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="no source is given"):
        import_topology()
