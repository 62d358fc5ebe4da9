"""The doctor finds what is wrong, says what to do, and never raises."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from storm_lab.errors import UserError
from storm_lab.machine import doctor
from storm_lab.machine.doctor import Finding
from storm_lab.machine.java import JavaRuntime


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_every_subject_is_checked_and_every_problem_has_a_remedy() -> None:
    findings = doctor.run_checks()
    looked_at = {"Python", "packages", "lock", "Java", "Spark", "memory", "disk", "write access", "numba"}
    assert {finding.subject for finding in findings} == looked_at | {"notebooks"}
    for finding in findings:
        assert "\n" not in finding.text
        assert finding.level == "ok" or finding.remedy


@pytest.mark.parametrize(("version", "level"), [((3, 10, 9), "fail"), ((3, 11, 0), "ok"), ((3, 14, 1), "ok")])
def test_a_python_that_is_too_old_is_a_failure(version: tuple[int, int, int], level: str) -> None:
    assert only(doctor.check_python(version)).level == level


def test_missing_and_unsuitable_packages_are_failures_and_extras_are_ignored() -> None:
    findings = doctor.check_packages(
        ["no-such-package-here>=1", "numpy<1", "pandas>=2", 'other-missing; extra == "dev"']
    )
    assert [finding.level for finding in findings] == ["fail", "fail"]
    assert findings[0].text == "no-such-package-here is missing"
    assert findings[1].text.startswith("numpy is ")


def test_installed_packages_are_ok() -> None:
    assert only(doctor.check_packages(["numpy>=1", "pandas"])).level == "ok"


def test_packages_that_differ_from_the_lock_are_named(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text(
        "# a comment\n\nnumpy==0.0.1\nno-such-package-here==1\nelsewhere==1 ; sys_platform == 'win32'\n"
    )
    finding = only(doctor.check_lock(lock))
    assert finding.level == "warn"
    assert finding.text.startswith("2 packages differ: numpy ")
    assert "no-such-package-here missing" in finding.text


def test_a_missing_lock_is_not_a_problem(tmp_path: Path) -> None:
    assert only(doctor.check_lock(tmp_path / "requirements.lock")).level == "ok"


def test_a_missing_java_is_a_failure_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> JavaRuntime:
        raise UserError("no Java 17 or newer was found", remedy="install one")

    monkeypatch.setattr(doctor, "find_java", none)
    assert only(doctor.check_java()) == Finding(
        "fail", "Java", "no Java 17 or newer was found", "install one"
    )


def test_a_skipped_java_and_one_newer_than_tested_are_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = JavaRuntime(Path("java-home"), "99", 99, "PATH", notes=("an old one; passed over",))
    monkeypatch.setattr(doctor, "find_java", lambda: runtime)
    passed_over, used = doctor.check_java()
    assert (passed_over.level, passed_over.text) == ("warn", "an old one; passed over")
    assert used.level == "warn"
    assert "99 from PATH (java-home), newer" in used.text


def test_settings_of_another_spark_are_warnings() -> None:
    findings = doctor.check_spark_environment({"SPARK_HOME": "elsewhere", "PYSPARK_PYTHON": "/bin/sh"})
    assert [finding.level for finding in findings] == ["warn", "warn"]
    assert only(doctor.check_spark_environment({"PYSPARK_PYTHON": sys.executable})).level == "ok"


def test_a_variable_of_spark_with_which_no_session_starts_is_a_failure() -> None:
    finding = only(doctor.check_spark_environment({"SPARK_REMOTE": "sc://elsewhere"}))
    assert (finding.level, finding.remedy) == ("fail", "unset it, or set STORM_LAB_SPARK_REMOTE")


@pytest.mark.parametrize(("free", "level"), [(0.1, "fail"), (1.0, "warn"), (50.0, "ok")])
def test_free_disk_space_is_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: float, level: str
) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: SimpleNamespace(free=free * 1e9))
    finding = only(doctor.check_disk(tmp_path / "not" / "made" / "yet"))
    assert finding.level == level
    assert f"{free:.1f} GB free at {tmp_path}" in finding.text


def test_a_folder_that_cannot_be_written_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(dir: Path) -> None:
        raise PermissionError(13, "Permission denied")

    assert only(doctor.check_write_access([tmp_path])).level == "ok"
    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    finding = only(doctor.check_write_access([tmp_path / "runs"]))
    assert finding.level == "fail"
    assert "Permission denied" in finding.text


def test_a_disabled_jit_is_a_warning(tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    assert only(doctor.check_kernel_cache({**cache, "NUMBA_DISABLE_JIT": "1"})).level == "warn"
    assert only(doctor.check_kernel_cache({**cache, "NUMBA_DISABLE_JIT": "0"})).level == "ok"


def test_the_folder_of_compiled_kernels_is_named_and_must_be_writable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    finding = only(doctor.check_kernel_cache(cache))
    assert (finding.level, finding.text) == ("ok", f"compiled kernels are kept in {tmp_path / 'storm_lab'}")
    monkeypatch.setattr(doctor.os, "access", lambda place, mode: False)
    assert only(doctor.check_kernel_cache(cache)).level == "fail"


def test_a_user_without_a_home_folder_is_told_to_set_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(*of: object) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr("jupyter_client.kernelspec.KernelSpecManager.__init__", no_home)
    for finding in (only(doctor.check_kernel_cache({})), only(doctor.check_kernel())):
        assert finding.level == "fail"
        assert "home folder" in finding.text
        assert "set HOME" in str(finding.remedy)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Install a kernel named python3, as a user may have one from another environment."""

    def install(program: str) -> None:
        folder = tmp_path / "kernels" / "python3"
        folder.mkdir(parents=True)
        argv = [program, "-m", "ipykernel_launcher"]
        described = {"argv": argv, "display_name": "P", "language": "python"}
        (folder / "kernel.json").write_text(json.dumps(described))
        monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))

    return install


def test_a_kernel_of_another_python_is_a_warning(kernel: Callable[[str], None]) -> None:
    kernel("/bin/sh")
    finding = only(doctor.check_kernel())
    assert finding.level == "warn"
    assert "/bin/sh" in finding.text


@pytest.mark.parametrize("program", ["python3", sys.executable])
def test_a_kernel_of_this_python_is_ok(kernel: Callable[[str], None], program: str) -> None:
    kernel(program)
    assert only(doctor.check_kernel()).level == "ok"
