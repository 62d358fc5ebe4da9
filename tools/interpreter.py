"""Find a Python that the project can run on.

Standard library only, and no syntax newer than Python 3.7; see `bootstrap.py`.
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from typing import Iterator  # noqa: UP035 - collections.abc has no subscripts before Python 3.9

from process import SetupError, run, say

FIRST = (3, 11)
"""Oldest Python that the project runs on."""

LAST = (3, 14)
"""Newest Python that the lock is made for."""


@dataclass(frozen=True)
class Interpreter:
    """A Python found on this machine."""

    program: str
    version: tuple[int, int]

    @property
    def name(self) -> str:
        """What users call it."""
        return f"Python {self.version[0]}.{self.version[1]}"


def choose_python(own: str | None = None) -> Interpreter:
    """The Python that runs this, if the lock is made for it; else the newest one that it is made for.

    Args:
        own: the program to take for the one that runs this; that of the process if None.
    """
    found = [python for python in map(probe, _candidates(own)) if python is not None]
    fit = [python for python in found if FIRST <= python.version <= LAST]
    if fit:
        return fit[0]
    newer = [python for python in found if python.version > LAST]
    if newer:
        say(f"{newer[0].name} is newer than what the project was tried with ({LAST[0]}.{LAST[1]})")
        return newer[0]
    seen = ", ".join(sorted({python.name for python in found})) or "none"
    raise SetupError(
        f"Python {FIRST[0]}.{FIRST[1]} or newer is needed, found: {seen}; install one (on Debian or Ubuntu: "
        "sudo apt-get install python3) or name one (make PYTHON=/path/to/python3)"
    )


def _candidates(own: str | None) -> Iterator[str]:
    yield own or getattr(sys, "_base_executable", None) or sys.executable
    minors = range(LAST[1], FIRST[1] - 1, -1)
    names = [*(f"python3.{minor}" for minor in minors), "python3", "python"]
    yield from filter(None, map(shutil.which, names))


def probe(program: str) -> Interpreter | None:
    """Ask a program for its version; None for one that does not run, such as a version manager's stand-in."""
    told = run([program, "-c", "import sys; print('%d %d' % sys.version_info[:2])"])
    numbers = re.match(r"(\d+) (\d+)$", told.stdout.strip())
    if told.returncode != 0 or numbers is None:
        return None
    return Interpreter(program, (int(numbers.group(1)), int(numbers.group(2))))
