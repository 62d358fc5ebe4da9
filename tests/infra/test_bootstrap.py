"""The set-up of the virtual environment: the choice of Python, the source of pip, and interruptions."""

from __future__ import annotations

import ast
import importlib.util
import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import bootstrap
import interpreter
import pip_source
import process
import pytest
from process import SetupError, clean_environment


def fake_python(folder: Path, name: str, version: str) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{version}'\n" if version else "#!/bin/sh\nexit 127\n")
    program.chmod(0o755)
    return program


class TestWhichPython:
    @pytest.fixture(autouse=True)
    def programs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The only folder in which programs are searched for."""
        monkeypatch.setenv("PATH", str(tmp_path))
        return tmp_path

    def test_the_running_python_is_chosen_if_it_is_supported(self, programs: Path) -> None:
        fake_python(programs, "python3.14", "3 14")
        own = fake_python(programs, "own", "3 11")
        assert interpreter.choose_python(str(own)).program == str(own)

    def test_the_newest_supported_python_is_chosen_if_the_running_one_is_too_old(
        self, programs: Path
    ) -> None:
        own = fake_python(programs, "python3", "3 9")
        fake_python(programs, "python3.14", "")  # a version manager's shim without a Python behind it
        fake_python(programs, "python3.13", "3 13")
        fake_python(programs, "python3.12", "3 12")
        assert interpreter.choose_python(str(own)).version == (3, 13)

    def test_a_python_newer_than_those_tried_is_used_with_a_warning(
        self, programs: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        own = fake_python(programs, "python3", "3 15")
        assert interpreter.choose_python(str(own)).version == (3, 15)
        assert "newer than what the project was tried with" in capsys.readouterr().err

    def test_a_missing_python_is_one_line_with_the_remedy(self, programs: Path) -> None:
        own = fake_python(programs, "python3", "3 9")
        with pytest.raises(
            SetupError, match=r"Python 3\.11 or newer is needed, found: Python 3\.9; install one"
        ):
            interpreter.choose_python(str(own))


@pytest.fixture
def bare_venv(tmp_path: Path) -> Path:
    """A virtual environment without pip, as Debian's Python makes it."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    return venv


def has_pip(venv: Path) -> bool:
    command = [venv / "bin" / "python", "-m", "pip", "--version"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def bundled_wheels() -> Path:
    """Return the folder of the pip wheel that comes with this Python; Debian's has none."""
    spec = importlib.util.find_spec("ensurepip")
    return Path(spec.origin).parent / "_bundled" if spec and spec.origin else pip_source.SYSTEM_WHEELS


BUNDLED_WHEELS = bundled_wheels()
needs_wheel = pytest.mark.skipif(
    not list(BUNDLED_WHEELS.glob("pip-*.whl")), reason="this Python brings no pip wheel"
)


class TestWherePipComesFrom:
    @needs_wheel
    @pytest.mark.slow
    def test_pip_is_installed_from_a_wheel_of_the_system(self, bare_venv: Path) -> None:
        assert not has_pip(bare_venv)
        assert pip_source.pip_from_wheels(str(bare_venv / "bin" / "python"), BUNDLED_WHEELS)
        assert has_pip(bare_venv)

    @needs_wheel
    @pytest.mark.slow
    def test_pip_is_installed_from_the_package_archive(
        self, bare_venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # A machine without package lists: the first download fails, the one with private lists works.
        tools = tmp_path / "tools"
        tools.mkdir()
        calls = tmp_path / "calls"
        (tools / "apt-get").write_text(
            f'#!/bin/sh\necho "$*" >> {calls}\n'
            'case "$*" in\n'
            "download*) exit 100;;\n"
            "*download*) : > python3-pip-whl_1_all.deb;;\n"
            "esac\n"
        )
        wheels = f'"$3"{pip_source.SYSTEM_WHEELS}'
        (tools / "dpkg-deb").write_text(
            f"#!/bin/sh\n/bin/mkdir -p {wheels} && /bin/cp {BUNDLED_WHEELS}/pip-*.whl {wheels}\n"
        )
        for program in tools.iterdir():
            program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tools))
        assert pip_source.pip_from_archive(str(bare_venv / "bin" / "python"))
        assert has_pip(bare_venv)
        plain, update, private = calls.read_text().splitlines()
        assert plain == "download python3-pip-whl"
        assert update.endswith("update")
        assert "Dir::State::lists=" in private

    def test_a_missing_source_of_pip_is_one_line_with_the_remedy(
        self, bare_venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(pip_source, "SYSTEM_WHEELS", tmp_path)
        python = interpreter.Interpreter(str(fake_python(tmp_path / "bin", "python3", "")), (3, 12))
        with pytest.raises(SetupError, match=r"Python 3\.12 has no pip, .*install python3-venv"):
            pip_source.install_pip(python, bare_venv)


@pytest.fixture
def stand_in_for_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a Python without ensurepip, and a pip that only prints its version: quick, and no network."""

    def run(command: Sequence[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        if "import ensurepip, venv" in command:
            return subprocess.CompletedProcess(list(command), 1, "", "")
        return process.run(command, cwd)

    def install_pip(python: interpreter.Interpreter, venv: Path) -> None:
        (packages,) = venv.glob("lib/python*/site-packages")
        (packages / "pip.py").write_text("print('pip 0')")

    monkeypatch.setattr(bootstrap, "run", run)
    monkeypatch.setattr(bootstrap, "install_pip", install_pip)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A place for an environment."""
    return tmp_path / "v"


@needs_wheel
def test_an_environment_with_ensurepip_has_pip(venv: Path) -> None:
    bootstrap.make_environment(interpreter.choose_python(), venv)
    assert bootstrap.is_usable(venv)
    assert has_pip(venv)


@pytest.mark.usefixtures("stand_in_for_pip")
class TestEnvironment:
    def test_a_new_environment_is_usable_until_it_loses_pip(self, venv: Path) -> None:
        bootstrap.make_environment(interpreter.choose_python(), venv)
        assert bootstrap.is_usable(venv)
        (pip,) = venv.glob("lib/python*/site-packages/pip.py")
        pip.unlink()
        assert not bootstrap.is_usable(venv)

    def test_an_environment_that_was_moved_is_not_usable(self, venv: Path) -> None:
        bootstrap.make_environment(interpreter.choose_python(), venv)
        assert not bootstrap.is_usable(venv.rename(venv.with_name("w")))

    def test_an_incomplete_environment_is_made_again(self, venv: Path) -> None:
        venv.mkdir()
        (venv / "pyvenv.cfg").write_text("home = nowhere\n")
        (venv / "left-over").write_text("")
        assert not bootstrap.is_usable(venv)
        bootstrap.make_environment(interpreter.choose_python(), venv)
        assert bootstrap.is_usable(venv)
        assert not (venv / "left-over").exists()

    def test_a_folder_that_is_no_environment_is_left_alone(self, venv: Path) -> None:
        venv.mkdir()
        (venv / "thesis.tex").write_text("dear reader")
        with pytest.raises(SetupError, match="no virtual environment; move it away"):
            bootstrap.make_environment(interpreter.choose_python(), venv)
        assert (venv / "thesis.tex").read_text() == "dear reader"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_in_for_pip: None) -> Path:
    """A checkout whose set-up makes a real environment and only records what it would install."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "requirements.lock").write_text("numpy==1\n")
    (project / "pyproject.toml").write_text("")

    def install(venv: Path, lock: Path, project: Path) -> None:
        with (project / "installed").open("a") as record:
            record.write(lock.read_text())

    monkeypatch.setattr(bootstrap, "install", install)
    return project


def installs(project: Path) -> int:
    record = project / "installed"
    return len(record.read_text().splitlines()) if record.exists() else 0


class TestStamp:
    def test_a_second_set_up_installs_nothing_unless_the_lock_has_changed(self, checkout: Path) -> None:
        arguments = ["--project", str(checkout)]
        assert bootstrap.main(arguments) == 0
        assert bootstrap.main(arguments) == 0
        assert installs(checkout) == 1
        (checkout / "requirements.lock").write_text("numpy==2\n")
        assert bootstrap.main(arguments) == 0
        assert installs(checkout) == 2

    def test_an_interrupted_set_up_does_not_count_as_done(
        self, checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def interrupt(venv: Path, lock: Path, project: Path) -> None:
            raise KeyboardInterrupt

        arguments = ["--project", str(checkout), "--stamp", "done"]
        with monkeypatch.context() as patch:
            patch.setattr(bootstrap, "install", interrupt)
            assert bootstrap.main(arguments) == 130
        assert not (checkout / ".venv" / "done").exists()
        assert "interrupted" in capsys.readouterr().err
        assert bootstrap.main(arguments) == 0
        assert installs(checkout) == 1
        assert (checkout / ".venv" / "done").exists()

    def test_too_little_disk_space_is_reported_before_anything_is_installed(
        self, checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(bootstrap, "NEEDED_GIGABYTES", 10**9)
        assert bootstrap.main(["--project", str(checkout)]) == 1
        assert "free some space" in capsys.readouterr().err
        assert not (checkout / ".venv").exists()


def test_bytecode_is_compiled_even_if_the_variables_tell_python_to_write_none(
    bare_venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    own = tmp_path / "project" / "storm_lab"
    (packages,) = bare_venv.glob("lib/python*/site-packages")
    for module in (own / "some.py", packages / "other.py", packages / "of_python_2.py"):
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text("print 1" if "2" in module.name else "")
    bootstrap.compile_bytecode(bare_venv, own.parent)
    assert len(list(own.glob("__pycache__/some.*.pyc"))) == 1
    assert len(list(packages.glob("__pycache__/other.*.pyc"))) == 1


class TestPipOutput:
    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (
                "WARNING: Retrying\nNewConnectionError: x\nERROR: No matching distribution",
                "check the network",
            ),
            ("ERROR: Could not install\nOSError: [Errno 28] No space left on device", "the disk is full"),
            ("Collecting x\nERROR: x needs another Python\nmore", "pip failed: x needs another Python"),
            ("it fell over\n", "pip failed: it fell over"),
            ("", "no reason given"),
        ],
    )
    def test_the_reason_of_a_failure_is_one_line(self, words: str, line: str) -> None:
        assert line in bootstrap.reason(words)
        assert "\n" not in bootstrap.reason(words)

    def test_names_in_a_lock_are_normalised(self, tmp_path: Path) -> None:
        lock = tmp_path / "lock"
        lock.write_text("# c\nNumPy==2\nruamel.yaml==1 ; sys_platform == 'win32'\n--no-index\n\n")
        assert bootstrap.locked_names(lock) == {"numpy", "ruamel-yaml"}

    def test_progress_counts_each_package_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = "Collecting a==1\nCollecting a==1\nRequirement already satisfied: b\nIgnoring c-d: markers\n"
        command = [sys.executable, "-c", f"print({words!r})"]
        bootstrap.follow(command, tmp_path / "log", {"a", "b", "c-d"})
        assert capsys.readouterr().err == "set-up: 3 of 3 packages\n"
        assert "Collecting a==1" in (tmp_path / "log").read_text()

    def test_a_failure_names_the_log(self, tmp_path: Path) -> None:
        command = [sys.executable, "-c", "print('ERROR: no wheel'); raise SystemExit(1)"]
        with pytest.raises(SetupError, match="pip failed: no wheel; all of pip's words are in"):
            bootstrap.follow(command, tmp_path / "log", set())

    def test_live_progress_is_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        show = bootstrap.Progress(2)
        show.step(1, "x" * 200)
        show.close()
        assert "\n" not in terminal.getvalue()
        assert max(map(len, terminal.getvalue().split("\r"))) < 90


def test_records_of_incompletely_installed_packages_are_removed(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    (packages / "half-1.dist-info").mkdir(parents=True)
    (packages / "whole-1.dist-info").mkdir()
    (packages / "whole-1.dist-info" / "RECORD").write_text("")
    bootstrap.drop_half_installed(tmp_path)
    assert [entry.name for entry in packages.iterdir()] == ["whole-1.dist-info"]


def test_settings_that_point_outside_the_environment_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setenv("PIP_TARGET", "elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    monkeypatch.setenv("HTTPS_PROXY", "proxy")
    environment = clean_environment()
    assert "PYTHONPATH" not in environment
    assert "PIP_TARGET" not in environment
    assert environment["PIP_USER"] == "0"
    assert environment["HTTPS_PROXY"] == "proxy"


def test_an_old_python_can_read_the_set_up() -> None:
    # The scripts keep to the syntax of Python 3.7, which the parser can check.
    for module in (bootstrap, interpreter, pip_source, process):
        ast.parse(Path(module.__file__).read_text(), feature_version=(3, 7))
