"""The command line: a user's mistake gives one line and status 2, and programs can read JSON."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from py4j import java_gateway

from storm_lab.cli import cli, main
from storm_lab.papers.registry import experiments
from storm_lab.runs import reproduce_command
from storm_lab.runs.digest import identity_of
from storm_lab.runs.execute import PlannedRun, count_existing, play_all
from storm_lab.runs.prepare import Prepared
from storm_lab.runs.reproduce import Reproduced, studies
from storm_lab.runs.study import Study
from tests.runs import tiny_runs

Answer = tuple[int, str, str]
Program = Callable[..., Answer]


@pytest.fixture
def storm_lab(capsys: pytest.CaptureFixture[str]) -> Program:
    """Run the program in this process: status, standard output, standard error."""

    def call(*arguments: str) -> Answer:
        before = signal.getsignal(signal.SIGTERM)
        try:
            with pytest.raises(SystemExit) as end:
                main(arguments)
        finally:
            signal.signal(signal.SIGTERM, before)
        out, err = capsys.readouterr()
        code = end.value.code
        return (code if isinstance(code, int) else 1), out, err

    return call


def test_without_a_command_the_program_prints_help(storm_lab: Program) -> None:
    status, out, err = storm_lab()
    assert (status, err) == (0, "")
    for command in ("list", "run", "reproduce", "report", "claims", "doctor", "lab", "schedule", "explain"):
        assert f"\n  {command} " in out


@pytest.mark.parametrize("command", ["list", "run", "reproduce", "report", "claims", "doctor", "lab"])
def test_every_help_page_shows_examples(storm_lab: Program, command: str) -> None:
    status, out, _ = storm_lab(command, "--help")
    assert status == 0
    assert "Examples:" in out
    assert f"storm-lab {command}" in out


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, f"{path}{name} is listed and cannot be called"
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def test_every_command_whose_output_programs_may_read_has_a_json_option() -> None:
    # They open something, write a file that programs read, print for a shell, or leave a cluster running.
    without = {"lab", "calibrate", "bench expected", "completion", "schedule"}
    without |= {"live fetch", "live up", "live down", "live scheduler"}
    found = {name for name, command in commands(cli) if not any("--json" in p.opts for p in command.params)}
    assert found == without


@pytest.mark.parametrize(
    "typed", ["init mine", "new scheduler my-idea", "live run --list", "live record --list"]
)
def test_commands_that_write_files_or_list_scenes_print_json(
    typed: str, storm_lab: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, _ = storm_lab(*typed.split(), "--json")
    assert status == 0
    assert json.loads(out)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("adv", ["advise"]),
        ("figures tstorm-w", ["tstorm-word-count"]),
        ("sweep mfstorm-b", ["mfstorm-beyond"]),
        ("claims tstorm-fig6a-sp", ["tstorm-fig6a-speedup"]),
        ("explain --scheduler iso", ["isolation"]),
        ("league --scheduler online:tstorm-", ["online:tstorm-initial"]),
        ("league --scheduler my_id", ["my_id"]),
        ("compare rs", ["rstorm"]),
        ("advise --policies rstorm,rs", []),
        ("advise --policies default,rs", ["default,rstorm"]),
        ("league --suite g", ["generated"]),
        ("advise topo", ["topo"]),
        ("import --machines ma", ["ma"]),
    ],
)
def test_the_shell_completes_commands_names_and_arguments(typed: str, offered: list[str]) -> None:
    *before, last = typed.split()
    found = ShellComplete(cli, {}, "storm-lab", "_STORM_LAB_COMPLETE").get_completions(before, last)
    assert [item.value for item in found] == offered


def test_help_imports_no_heavy_libraries() -> None:
    script = (
        "import sys; from storm_lab.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pandas', 'pyspark', 'numba', 'matplotlib', 'papermill', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_list_names_every_experiment(storm_lab: Program) -> None:
    status, out, _ = storm_lab("list")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == [item.slug for item in experiments()]


def test_list_as_json_describes_the_parameters(storm_lab: Program) -> None:
    _, out, _ = storm_lab("list", "tstorm-word-count", "--json")
    (described,) = json.loads(out)
    gammas = next(item for item in described["parameters"] if item["name"] == "gammas")
    assert gammas["default"] == [1.0, 1.8, 2.2]
    assert (gammas["type"], gammas["low"], gammas["high"]) == ("list of numbers", 1.0, 10.0)


def test_list_names_the_runs_that_would_be_played(
    storm_lab: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path))
    _, out, _ = storm_lab("list", "twitter-semantics", "--runs", "--json", "-p", "seeds=3")
    rows = json.loads(out)
    variants = ["log", "holding-queue", "forgetting-queue", "acks-off", "nimbus-down"]
    assert [row["variant"] for row in rows] == variants
    for row in rows:
        assert row["experiment"] == "twitter-semantics"
        assert (row["seed"], row["there"]) == (3, False)
        assert row["parameters"]["scenario"] == row["variant"]
        assert Path(row["folder"]) == tmp_path / "runs" / row["experiment"] / row["run"]


def test_list_shows_which_runs_exist(storm_lab: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    there = iter([True, False, True, False, False])
    monkeypatch.setattr("storm_lab.runs.list_command.is_complete_run", lambda folder, verify: next(there))
    _, out, _ = storm_lab("list", "twitter-semantics", "--runs", "-p", "seeds=3")
    lines = out.splitlines()
    assert [line.split()[1] for line in lines[:-1]] == ["exists", "-", "exists", "-", "-"]
    assert lines[-1] == "2 of 5 runs exist already (same code, same inputs)"


@pytest.mark.parametrize("damaged", [False, True])
def test_a_run_counts_as_existing_only_if_it_is_undamaged(
    storm_lab: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damaged: bool
) -> None:
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path))
    (run,) = play_all([tiny_runs.spec("a", tiny_runs.quick)], jobs=0)
    if damaged:
        log = run.folder / "roots.parquet"
        data = log.read_bytes()
        # Far from the footer, because damage there would be found without reading all data.
        log.write_bytes(data[:20] + bytes([data[20] ^ 1]) + data[21:])
    monkeypatch.setattr("storm_lab.runs.list_command.PlannedRun.of", lambda spec, home=None: run)
    _, out, _ = storm_lab("list", "twitter-semantics", "--runs", "--json", "-p", "seeds=3")
    assert {row["there"] for row in json.loads(out)} == {not damaged}
    assert count_existing([run.spec]) == {"runs": 1, "there": int(not damaged)}


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("lst",), ["command = 'lst'", "did you mean list?"]),
        (("run", "tstorm-wordcount"), ["experiment = 'tstorm-wordcount'", "did you mean tstorm-word-count?"]),
        (("reproduce", "nothing"), ["experiment = 'nothing'", "tstorm-word-count"]),
        (("list", "nothing"), ["experiment = 'nothing'"]),
        (("list", "-p", "seeds=1"), ["param = 'seeds=1'", "--runs"]),
        (("claims", "--experiment", "nothing"), ["experiment = 'nothing'"]),
        (("claims", "--paper", "N-Strom"), ["paper = 'N-Strom'", "did you mean N-Storm?"]),
        (("run", "tstorm-word-count", "-p", "gamma=2"), ["parameter = 'gamma'", "did you mean gammas?"]),
        (("run", "tstorm-word-count", "-p", "gammas"), ["'gammas'", "write name=value"]),
        (("run", "tstorm-word-count", "-p", "gammas=two"), ["gammas = ['two']", "list of numbers"]),
        (("run", "tstorm-word-count", "-p", "gammas=0.5"), ["gammas", "out of range", "1 to 10"]),
        (("run", "tstorm-word-count", "-p", "seeds=1.5"), ["seeds", "list of whole numbers"]),
        (("run", "tstorm-word-count", "-p", "workers=2.5"), ["workers = 2.5", "whole number"]),
        (("run", "tstorm-word-count", "-p", "duration_s=nan"), ["duration_s", "finite"]),
        (("run", "tstorm-word-count", "-p", "workers=1", "-p", "workers=2"), ["workers", "given twice"]),
        (("run", "tstorm-word-count", "-p", "text=gone.txt"), ["gone.txt", "no such file"]),
        (("run", "tstorm-word-count", "-p", "text=/dev/null"), ["'/dev/null'", "not a regular file", "path"]),
        (("run", "tstorm-word-count", "--jobs", "0"), ["jobs"]),
        (("report", "--nonsense"), ["--nonsense"]),
        (("run",), ["EXPERIMENT"]),
    ],
)
def test_a_mistake_of_the_user_is_one_line_and_status_2(
    storm_lab: Program, arguments: tuple[str, ...], parts: list[str]
) -> None:
    status, out, err = storm_lab(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("storm-lab: ")
    assert err.count("\n") == 1, err
    for part in parts:
        assert part in err


def test_an_empty_text_is_refused(storm_lab: Program, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n")
    status, _, err = storm_lab("run", "tstorm-word-count", "-p", f"text={empty}")
    assert (status, err.count("\n")) == (2, 1)
    assert "holds no word" in err


@pytest.mark.parametrize("arguments", [("report",), ("reproduce", "algorithms"), ("run", "algorithms")])
def test_a_reports_folder_that_cannot_be_written_is_reported_before_the_work(
    storm_lab: Program,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("", encoding="utf-8")
    monkeypatch.setenv("STORM_LAB_REPORTS", str(taken))
    status, out, err = storm_lab(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert str(taken) in err and "STORM_LAB_REPORTS" in err


def test_claims_as_json_have_the_promised_keys(storm_lab: Program) -> None:
    status, out, _ = storm_lab("claims", "--json")
    rows = json.loads(out)
    assert status == 0
    assert len(rows) > 100
    keys = {"id", "paper", "experiment", "expected", "band", "measured", "verdict", "basis"}
    keys |= {"reason", "standing", "cause", "class", "reading", "trial"}
    assert all(row.keys() == keys for row in rows)
    verdicts = {"reproduced", "direction only", "not reproduced", "not testable", "not run"}
    assert {row["verdict"] for row in rows} <= verdicts
    assert {row["basis"] for row in rows} <= {"fitted", "predicted", "arithmetic"}


@pytest.mark.parametrize(
    ("option", "asked", "key"),
    [
        ("--experiment", "tstorm-word-count", "experiment"),
        ("--paper", "N-Storm", "paper"),
        ("--verdict", "direction only", "verdict"),
        ("--verdict", "open", "standing"),
        ("--basis", "fitted", "basis"),
    ],
)
def test_claims_are_filtered(storm_lab: Program, option: str, asked: str, key: str) -> None:
    rows, chosen = (json.loads(storm_lab("claims", *more, "--json")[1]) for more in ([], [option, asked]))
    assert chosen == [row for row in rows if row[key] == asked] != []


JUDGED_ELSEWHERE = "claims: judged in algorithms; see storm-lab claims --experiment nstorm-worst-case"


@pytest.mark.parametrize(
    ("slug", "why"),
    [
        ("twitter-scaling", "no claims: no paper prints results for this experiment"),
        ("nstorm-worst-case", JUDGED_ELSEWHERE),
    ],
)
def test_a_run_without_claims_of_its_own_says_why(
    storm_lab: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, slug: str, why: str
) -> None:
    done = Reproduced(Study.of(slug), tmp_path / "a.ipynb", tmp_path / "verdicts.json", True)
    monkeypatch.setattr(reproduce_command, "_reproduced", lambda *_, **__: (done,))
    _, out, _ = storm_lab("run", slug)
    assert out == f"{why}\n\nnotebook: {tmp_path / 'a.html'}\n"


def test_reproducing_an_experiment_whose_claims_are_judged_elsewhere_says_where(
    storm_lab: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reproduce_command, "_reproduced", lambda *_, **__: ())
    monkeypatch.setattr(reproduce_command, "build_report", lambda: tmp_path / "index.html")
    _, out, _ = storm_lab("reproduce", "nstorm-worst-case")
    assert out == f"{JUDGED_ELSEWHERE}\n\nreport: {tmp_path / 'index.html'}\n"


def test_an_experiment_that_is_named_twice_is_reproduced_once() -> None:
    assert [study.experiment.slug for study in studies(["algorithms", "algorithms"])] == ["algorithms"]


@pytest.mark.parametrize("slug", ["quick", "tstorm-word-count"])
def test_without_notebooks_only_runs_are_prepared_and_printed_as_json(
    storm_lab: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, slug: str
) -> None:
    spec = tiny_runs.spec("own", tiny_runs.quick, 3)
    run = PlannedRun(spec, identity_of(spec), tmp_path, reused=True)
    monkeypatch.setattr(reproduce_command, "prepare", lambda *_, **__: Prepared(((run,),), 0.0, {}))
    status, out, _ = storm_lab("reproduce", slug, "--no-notebooks", "--json")
    row = {"experiment": "tiny", "variant": "own", "seed": 3, "folder": str(tmp_path), "reused": True}
    assert (status, json.loads(out)) == (0, [row])


@pytest.mark.parametrize("more", [["--experiment", "nstorm-worst-case"], ["nstorm-rebalance-min"]])
def test_a_message_replaces_the_answer_if_no_claim_matches(storm_lab: Program, more: list[str]) -> None:
    _, out, _ = storm_lab("claims", "--paper", "T-Storm", *more)
    assert out == "no claim matches all of these\n"


def test_a_claim_that_cannot_be_tested_is_not_said_to_await_a_run(storm_lab: Program) -> None:
    _, out, _ = storm_lab("claims", "tstorm-aniello-fallback")
    names = [line.split()[0] for line in out.splitlines()]
    assert names == ["claim", "paper", "says", "metric", "verdict", "because", "standing"]


def test_a_limit_of_the_machine_is_one_line_and_status_1(
    storm_lab: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outgrow(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 9.00 GiB")

    monkeypatch.setattr("storm_lab.runs.list_command.experiments", outgrow)
    status, out, err = storm_lab("list")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "Unable to allocate 9.00 GiB" in err and "ulimit -v unlimited" in err


def test_doctor_as_json_has_a_level_for_every_finding(storm_lab: Program) -> None:
    status, out, _ = storm_lab("doctor", "--json")
    findings = json.loads(out)
    assert {finding["level"] for finding in findings} <= {"ok", "warn", "fail"}
    assert status == (1 if any(finding["level"] == "fail" for finding in findings) else 0)


def test_log_messages_of_pysparks_gateway_are_dropped(
    storm_lab: Program, caplog: pytest.LogCaptureFixture
) -> None:
    storm_lab("completion", "bash")
    for file in (java_gateway.__file__, __file__):
        exec(compile("logging.error('it ends')", file, "exec"), {"logging": logging})
    (record,) = caplog.records
    assert record.pathname == __file__


@pytest.mark.slow
def test_an_interrupted_run_ends_with_130_and_leaves_no_incomplete_run(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    homes = [root / "data" / "runs" / "tstorm-word-count", root / "reports"]
    given = ["-p", "seeds=987654321", "-p", "duration_s=7200", "--emulate-only"]
    process = subprocess.Popen(
        [sys.executable, "-m", "storm_lab.cli", "run", "tstorm-word-count", *given],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

    def half_written() -> list[Path]:
        return [part for home in homes for part in home.glob("**/.partial-*")]

    before = half_written()
    deadline = time.monotonic() + 120
    while len(half_written()) <= len(before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(half_written()) > len(before), "a run is being written"
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert err.strip().splitlines()[-1].startswith("storm-lab: interrupted")
    assert half_written() == before


@pytest.mark.parametrize(
    ("group", "offered"), [("bench", "kernel"), ("live", "doctor"), ("new", "scheduler")]
)
def test_a_group_lists_its_commands_if_the_given_one_is_unknown(
    storm_lab: Program, group: str, offered: str
) -> None:
    code, out, err = storm_lab(group, "nope")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "there are:" in err and offered in err
