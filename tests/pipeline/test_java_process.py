"""A Java process whose start is interrupted does not stay behind; one that ends under a job is named."""

import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import java_gateway

from storm_lab.errors import StormLabError
from storm_lab.pipeline import java_process
from storm_lab.pipeline.java_process import kill_java_if_start_fails, report_java_death

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_what_was_started_ends_with_an_interrupted_start(error: type[BaseException]) -> None:
    started = []
    with pytest.raises(error), kill_java_if_start_fails():
        started.append(vars(java_gateway)["Popen"](SLEEPER))
        raise error
    assert started[0].poll() is not None


def test_what_was_started_stays_after_a_start_that_went_well() -> None:
    before = vars(java_gateway)["Popen"]
    with kill_java_if_start_fails():
        process = vars(java_gateway)["Popen"](SLEEPER)
    try:
        assert process.poll() is None
        assert vars(java_gateway)["Popen"] is before
    finally:
        process.kill()
        process.wait()


def session_of(process: Any) -> Any:
    """As much of a session as leads to its Java process."""
    return SimpleNamespace(_sc=SimpleNamespace(_gateway=SimpleNamespace(proc=process)))


def test_a_job_whose_java_ran_out_of_memory_says_so() -> None:
    java = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(StormLabError, match="out of memory") as raised, report_java_death(session_of(java)):
        raise ConnectionError("connection refused")
    assert isinstance(raised.value.__cause__, ConnectionError)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (signal.SIGTERM, r"a signal \(SIGTERM\) during the computation$"),
        (signal.SIGKILL, "SIGKILL.*more memory"),
    ],
)
def test_a_job_whose_java_got_a_signal_says_so(number: signal.Signals, message: str) -> None:
    java = subprocess.Popen(SLEEPER)
    java.send_signal(number)
    with pytest.raises(StormLabError, match=message), report_java_death(session_of(java)):
        raise EOFError


@pytest.mark.parametrize("session", [SimpleNamespace(), None])
def test_an_error_of_a_session_elsewhere_stays_what_it_is(session: Any) -> None:
    with pytest.raises(EOFError), report_java_death(session):
        raise EOFError


def test_an_error_beside_a_living_java_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_process, "_END_TIMEOUT_S", 0.01)
    java = subprocess.Popen(SLEEPER)
    try:
        with pytest.raises(ValueError, match="mine"), report_java_death(session_of(java)):
            raise ValueError("mine")
    finally:
        java.kill()
        java.wait()
