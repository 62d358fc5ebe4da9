"""Make `requirements.lock` anew: exact versions for every Python that the project runs on.

The resolver (uv) is fetched into a throw-away virtual environment. The lock holds names, versions and markers
only, nothing of where packages came from.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from interpreter import FIRST, LAST
from process import SetupError, last_line, run

PROJECT = Path(__file__).resolve().parent.parent
EXTRAS = ("connect", "bench", "dev")
"""What the checkout's environment holds beside the project's own dependencies."""


def main() -> int:
    """Write the lock file; returns the exit status."""
    try:
        lines = resolve(PROJECT / "pyproject.toml")
    except SetupError as error:
        print(f"lock: {error}", file=sys.stderr)
        return 1
    first, last = (".".join(map(str, version)) for version in (FIRST, LAST))
    draft = PROJECT / "requirements.lock.new"
    header = f"# Exact versions for Python {first} to {last}, made from pyproject.toml by: make lock\n"
    draft.write_text(header + lines)
    draft.replace(PROJECT / "requirements.lock")
    return 0


def resolve(pyproject: Path) -> str:
    """The newest versions that fit all ranges together, one version a package wherever that is possible."""
    with tempfile.TemporaryDirectory() as name:
        python = str(Path(name) / "bin" / "python")
        _must([sys.executable, "-m", "venv", "--without-pip", name])
        _must([sys.executable, "-m", "pip", "--python", python, "install", "-q", "uv"])
        options = ["--universal", "--python-version", ".".join(map(str, FIRST)), "--quiet"]
        options += [word for extra in EXTRAS for word in ("--extra", extra)]
        # One version for all Pythons: a run must not depend on which of them the reader has.
        options += ["--fork-strategy", "fewest", "--no-header", "--no-annotate"]
        options += ["--no-emit-index-url", "--no-emit-find-links"]
        told = _must([python, "-m", "uv", "pip", "compile", *options, str(pyproject)])
    return told.stdout


def _must(command: list[str]) -> subprocess.CompletedProcess[str]:
    told = run(command)
    if told.returncode != 0:
        raise SetupError(f"{Path(command[0]).name} failed: {last_line(told.stderr + told.stdout)}")
    return told


if __name__ == "__main__":
    sys.exit(main())
