"""The Java machine that PySpark starts: gone when its start is interrupted.

PySpark waits for a file in which Java tells its port. When Python leaves meanwhile, and with it the folder of
that file, Java fails to write it, and the thread that listens on the port keeps it alive for good.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def ended_with_its_start() -> Iterator[None]:
    """Kill the Java machine that is started in this block if the block does not end well."""
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
