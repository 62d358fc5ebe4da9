"""The session is quiet, local unless told otherwise, and says in one line when it cannot start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from storm_lab.machine.java import find_java
from storm_lab.pipeline import session
from storm_lab.pipeline.session import spark_session

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]


def _python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False
    )


def _temporary(folder: Path) -> str:
    """Java's option for temporary files in a folder: a Java process that is killed leaves its own behind."""
    return f"-Djava.io.tmpdir={folder}"


def test_nothing_reaches_stdout_or_stderr_not_even_from_the_java_machine() -> None:
    script = (
        "from storm_lab.pipeline.session import spark_session\n"
        "spark = spark_session(master='local[1]')\n"
        "spark._jvm.java.lang.System.err.println('chatter')\n"
        "print(spark.range(5).count(), spark.sparkContext.uiWebUrl)\n"
    )
    answer = _python(script)
    assert (answer.stdout, answer.stderr) == ("5 None\n", "")


def test_an_active_session_is_used_as_it_is(spark: SparkSession) -> None:
    assert spark_session(master="spark://elsewhere:7077") is spark


def test_a_brief_session_has_room_for_the_code_of_hundreds_of_queries(spark: SparkSession) -> None:
    pools = spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    assert sum(pool.getUsage().getMax() for pool in pools if "Code" in pool.getName()) >= 200e6


def test_the_path_of_the_users_cache_may_contain_blanks_and_accents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "José's cache"))
    archive = session._archive_place(find_java())
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.write_bytes(b"Java ignores an archive that it cannot read")
    answer = _python(STARTED)
    assert (answer.stdout, answer.stderr) == ("5\n", "")


def test_a_cache_that_cannot_be_written_leaves_one_log_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, so that no folder can be made below it")
    (tmp_path / "tmp").mkdir()
    script = STARTED.replace("brief=True", "thorough=True") + "print(session.has_archive())\n"
    answer = _python(script, XDG_CACHE_HOME=str(tmp_path / "cache"), TMPDIR=str(tmp_path / "tmp"))
    assert answer.stdout == "5\nFalse\n"
    (log,) = (tmp_path / "tmp").glob("storm_lab-*/*")
    assert log.name == "spark.log"
    assert len(list((tmp_path / "tmp").glob("storm_lab-*"))) == 1


def test_a_session_whose_java_process_is_dead_is_one_clear_line(tmp_path: Path) -> None:
    script = STARTED + (
        "started._sc._gateway.proc.kill()\n"
        "started._sc._gateway.proc.wait()\n"
        "try:\n    session.spark_session()\n"
        "except session.StormLabError as error:\n    print(error)\n"
    )
    answer = _python(script, JAVA_TOOL_OPTIONS=_temporary(tmp_path))
    assert answer.stdout == "5\nSpark's Java process has ended: restart Python, in a notebook its kernel\n"


STARTED = (
    "from storm_lab.pipeline import session\n"
    "started = session.spark_session(master='local[1]', brief=True)\n"
    "print(started.range(5).count())\n"
)

REFUSED = (
    "from storm_lab.errors import UserError\n"
    "from storm_lab.pipeline.session import spark_session\n"
    "try:\n    spark_session()\nexcept UserError as error:\n    print(error)\n"
)


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        (session.MASTER_VARIABLE, "nonsense", "master = 'nonsense': Spark did not start"),
        (session.REMOTE_VARIABLE, "sc://127.0.0.1:1", "no Spark Connect server answers"),
        (session.REMOTE_VARIABLE, "localhost:15002", "no Spark Connect server answers (ValueError)"),
        ("SPARK_HOME", "/nowhere", "there is no Spark "),
        ("SPARK_REMOTE", "sc://elsewhere", "storm_lab does not read this variable"),
    ],
)
def test_a_wrong_setting_of_spark_is_one_clear_line(variable: str, value: str, says: str) -> None:
    answer = _python(REFUSED, **{variable: value})
    assert answer.stdout.startswith((says, f"{variable} = {value!r}: {says}"))
    assert answer.stdout.count("\n") == 1
    assert answer.stderr == ""


def test_only_a_session_that_computes_all_metrics_leaves_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    java = find_java()
    first, thorough = session._archive_options(java), session._archive_options(java, write=True)
    assert not any("ArchiveClassesAtExit" in option for option in first)
    (order,) = [option for option in thorough if "ArchiveClassesAtExit" in option]
    archive = Path(order.partition("=")[2])
    assert not session.has_archive()
    archive.write_bytes(bytes(8))
    assert not session.has_archive(), "half written"
    archive.write_bytes(b"classes")
    assert session.has_archive()
    for write in (False, True):
        (option,) = session._archive_options(java, write=write)
        assert option.endswith(str(archive)), "none writes another"
