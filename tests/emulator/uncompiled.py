"""The emulator without its compiler, where an index out of bounds is an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def printed(module: str, expression: str) -> str:
    """Return what Python prints for an expression on a test module ``t``, without the compiler."""
    check = "from storm_lab.emulator.state.jit import ENABLED\nassert not ENABLED"
    done = subprocess.run(
        [sys.executable, "-c", f"{check}\nimport {module} as t\nprint({expression})"],
        env={**os.environ, "STORM_LAB_JIT": "0", "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
