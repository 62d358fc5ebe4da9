"""What the parts of the set-up share: run a program, say a line, give up with a line.

Standard library only, and no syntax newer than Python 3.7; see `bootstrap.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Sequence  # noqa: UP035 - collections.abc has no subscripts before Python 3.9


class SetupError(Exception):
    """The set-up cannot go on; the text is one line with the remedy."""


def clean_environment() -> dict[str, str]:
    """The user's environment without what would lead Python or pip out of the virtual environment.

    Proxy and index settings stay.
    """
    outward = (
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_ROOT",
        "VIRTUAL_ENV",
    )
    environment = {name: value for name, value in os.environ.items() if name not in outward}
    environment.update(
        PIP_USER="0",
        PIP_DISABLE_PIP_VERSION_CHECK="1",
        PIP_ROOT_USER_ACTION="ignore",
        # An older pip would build PySpark in the environment itself, with tools that need not be there yet.
        PIP_USE_PEP517="1",
        PYTHONNOUSERSITE="1",
        # The reasons of failures are read from what programs print.
        LC_ALL="C.UTF-8",
    )
    return environment


def run(command: Sequence[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program with nothing to read, and keep what it prints; one that is not there ends with 127."""
    try:
        return subprocess.run(
            list(command),
            cwd=cwd,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        return subprocess.CompletedProcess(list(command), 127, "", str(error))


def say(text: str) -> None:
    """Print a line of the set-up's own."""
    print(f"set-up: {text}", file=sys.stderr, flush=True)


def last_line(text: str) -> str:
    """The last line of a program's words that is not empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def normal(name: str) -> str:
    """A package's name in the one spelling that all spellings of it share."""
    return re.sub(r"[-_.]+", "-", name).lower()
