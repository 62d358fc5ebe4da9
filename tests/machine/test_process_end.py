"""An exit status is described in words, and only SIGKILL is attributed to lack of memory."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storm_lab.machine.process_end import describe_exit_status


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (3, "ended with status 3"),
        (-15, "was ended by a signal (SIGTERM)"),
        (143, "was ended by a signal (SIGTERM)"),
        (-9, "was ended by a signal (SIGKILL, perhaps out of memory)"),
        (255, "ended with status 255"),
    ],
)
def test_an_exit_status_is_described_in_words(status: int, said: str) -> None:
    assert describe_exit_status(status) == said


def test_a_command_that_a_signal_ends_reports_it(tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = (
        "import time, pathlib; from storm_lab import cli\n"
        f"def wait(**options): pathlib.Path({str(started)!r}).touch(); time.sleep(60)\n"
        "cli.cli.main = wait; cli.main()"
    )
    _end_when_there_is(started, code)


def test_a_second_signal_does_not_disturb_the_clean_up(tmp_path: Path) -> None:
    cleaning, cleaned = tmp_path / "cleaning", tmp_path / "cleaned"
    code = (
        "import os, signal, time, pathlib; from storm_lab import cli\n"
        "def work(**options):\n"
        "    try: os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
        f"    finally: pathlib.Path({str(cleaning)!r}).touch(); time.sleep(1); "
        f"pathlib.Path({str(cleaned)!r}).touch()\n"
        "cli.cli.main = work; cli.main()"
    )
    _end_when_there_is(cleaning, code)
    assert cleaned.exists()


def _end_when_there_is(file: Path, code: str) -> None:
    """Run a program, send SIGTERM when a file is there, and check what it says and its exit status."""
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    while not file.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 143
    assert errors == "storm-lab: ended by a signal (SIGTERM); complete results are kept\n"
