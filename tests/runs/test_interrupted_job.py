"""Ctrl-C ends a Spark job of runs like local ones: as an interruption that leaves no incomplete run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import sys
from pathlib import Path
from storm_lab.pipeline.session import spark_session
from storm_lab.runs.execute import play_all
from tests.runs import tiny_runs
from tests.runs.tiny_runs import spec
specs = [spec("a", tiny_runs.quick, 1), spec("a", tiny_runs.slow, 2), spec("a", tiny_runs.slow, 3)]
try:
    play_all(specs, spark=spark_session(master="local[2]"), home=Path(sys.argv[1]))
except KeyboardInterrupt:
    sys.exit("interrupted")
"""


@pytest.mark.slow
@pytest.mark.spark
def test_an_interrupted_job_keeps_complete_runs_and_no_incomplete_ones(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    # Like a terminal, signals the whole group. A test in the background would inherit an ignored SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        job = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        end = time.monotonic() + 300
        while not (begun(tmp_path) and list(tmp_path.glob("tiny/*/manifest.json"))):
            assert job.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        os.killpg(job.pid, signal.SIGINT)
        out, err = job.communicate(timeout=60)
    finally:
        job.kill()
    assert (out, err) == ("", "interrupted\n")
    assert begun(tmp_path) == []
    assert len(list(tmp_path.glob("tiny/*"))) == 1


def begun(home: Path) -> list[Path]:
    return list(home.glob("tiny/.partial-*"))
