"""Running Python components in a process of their own, with bounds on time and memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import storm_lab
from storm_lab.workloads.multilang.plan import Plan, write_plan

LARGEST_OUTCOME = 1 << 30
SLACK_S = 60.0
"""Seconds beyond a plan's own, after which the process is ended: it starts and loads modules in them."""


class RunFailedError(Exception):
    """The process did not hand back an outcome; the text says why, in one line."""


def run_python(plan: Plan, folder: Path) -> Mapping[str, Any]:
    """Run a plan in ``folder``; returns its outcome.

    Raises:
        RunFailedError: the process took too long, was ended, or handed back nothing of use.
    """
    with tempfile.TemporaryDirectory(prefix="storm-lab-python-") as scratch:
        plan_file, outcome = Path(scratch, "plan.json"), Path(scratch, "outcome.json")
        write_plan(plan, plan_file)
        _start(plan, folder, plan_file, outcome, Path(scratch, "errors.txt"))
        if outcome.stat().st_size > LARGEST_OUTCOME:
            raise RunFailedError("what it did is too large to keep")
        try:
            loaded = json.loads(outcome.read_bytes())
        except (ValueError, RecursionError):
            raise RunFailedError("what it handed back is damaged") from None
    if not isinstance(loaded, dict):
        raise RunFailedError("what it handed back is damaged")
    return loaded


def _start(plan: Plan, folder: Path, plan_file: Path, outcome: Path, errors: Path) -> None:
    package = Path(storm_lab.__file__).resolve().parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(package), os.environ.get("PYTHONPATH", "")))),
        # The same order of sets in every run, and nothing written beside the user's files.
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "storm_lab.workloads.multilang.main", str(plan_file), str(outcome)]
    with errors.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=plan.seconds + SLACK_S)
        except subprocess.TimeoutExpired:
            raise RunFailedError(f"it was ended after {plan.seconds + SLACK_S:g} s") from None
        finally:
            # Whatever it has started ends with it.
            _end(process)
    if not outcome.is_file():
        raise RunFailedError(_why(status, errors))


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _why(status: int, errors: Path) -> str:
    lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    said = " ".join(lines[0].split())[:300] if lines else ""
    if "MemoryError" in said:
        return f"it needed more memory than it may have ({said})"
    ended = f"it was ended by signal {-status}" if status < 0 else f"it ended with status {status}"
    return f"{ended}: {said}" if said else ended
