"""Watch PySpark's Java process: kill it if its start is interrupted, and report an early death.

PySpark waits for a file in which Java writes its port. If Python exits meanwhile, and deletes the folder of
that file, Java fails to write it, and the thread that listens on the port keeps Java alive for good.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from storm_lab.errors import StormLabError
from storm_lab.machine.process_end import describe_exit_status

if TYPE_CHECKING:
    # PySpark takes long to import, and most calls do not need it.
    from pyspark.sql import SparkSession

_END_TIMEOUT_S = 5.0
"""Time that a dying Java process may take between its last output and its end."""

_OUT_OF_MEMORY = 3
"""Exit status of Java under ``-XX:+ExitOnOutOfMemoryError``."""


@contextmanager
def kill_java_if_start_fails() -> Iterator[None]:
    """Kill a Java process that is started in this block if the block fails."""
    from pyspark import java_gateway

    started: list[subprocess.Popen[Any]] = []

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[Any]:
        process = subprocess.Popen(*arguments, **options)
        started.append(process)
        return process

    before = vars(java_gateway)["Popen"]
    vars(java_gateway)["Popen"] = start
    try:
        yield
    except BaseException:
        for process in started:
            process.kill()
            process.wait()
        raise
    finally:
        vars(java_gateway)["Popen"] = before


@contextmanager
def report_java_death(session: SparkSession) -> Iterator[None]:
    """Raise `StormLabError` if this block fails because the session's own Java process has ended.

    The exception that PySpark raised is its cause. If the session's Java process runs elsewhere, PySpark's
    exceptions pass unchanged.
    """
    try:
        yield
    except Exception as error:
        gateway = getattr(getattr(session, "_sc", None), "_gateway", None)
        process: subprocess.Popen[Any] | None = getattr(gateway, "proc", None)
        if process is None or not _has_ended(process):
            raise
        remedy = "give it more memory, or fewer runs at a time"
        advice = {_OUT_OF_MEMORY: f": out of memory; {remedy}", -signal.SIGKILL: f"; {remedy}"}
        status = process.returncode
        ended = f"Spark's Java process {describe_exit_status(status)} during the computation"
        raise StormLabError(ended + advice.get(status, "")) from error


def _has_ended(process: subprocess.Popen[Any]) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_TIMEOUT_S)
    return process.returncode is not None
