"""What the program prints where, seen from outside."""

import os
import signal
import subprocess
import sys

PROGRAM = (sys.executable, "-m", "storm_lab.cli")


def test_a_group_without_a_command_prints_its_help_page() -> None:
    done = subprocess.run([*PROGRAM, "bench"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "\n  schedulers " in done.stderr


def test_a_reader_that_closes_the_pipe_is_no_failure_of_the_command() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [*PROGRAM, "completion", "bash"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")
