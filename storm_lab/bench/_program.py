"""Runs a program of a benchmark in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from storm_lab.errors import StormLabError


def output_of(
    command: Sequence[str], name: str, *, text: str = "", environment: Mapping[str, str] | None = None
) -> str:
    """Let a program, called ``name`` in messages, read ``text``, and return what it prints.

    Raises `StormLabError` with the last line of its errors.
    """
    done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StormLabError(f"{name} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout
