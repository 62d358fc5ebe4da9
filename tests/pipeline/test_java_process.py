"""A Java machine whose start is interrupted does not stay behind."""

import sys

import pytest
from pyspark import java_gateway

from storm_lab.pipeline.java_process import ended_with_its_start

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_what_was_started_ends_with_an_interrupted_start(error: type[BaseException]) -> None:
    started = []
    with pytest.raises(error), ended_with_its_start():
        started.append(vars(java_gateway)["Popen"](SLEEPER))
        raise error
    assert started[0].poll() is not None


def test_what_was_started_stays_after_a_start_that_went_well() -> None:
    before = vars(java_gateway)["Popen"]
    with ended_with_its_start():
        process = vars(java_gateway)["Popen"](SLEEPER)
    try:
        assert process.poll() is None
        assert vars(java_gateway)["Popen"] is before
    finally:
        process.kill()
        process.wait()
