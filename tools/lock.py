"""Make `requirements.lock` anew: exact versions for every Python that the project runs on.

The resolver is the environment's own uv. The lock holds names, versions and markers only, nothing of where
packages came from.
"""

from __future__ import annotations

import sys
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
    options = ["--universal", "--python-version", ".".join(map(str, FIRST)), "--quiet"]
    options += [word for extra in EXTRAS for word in ("--extra", extra)]
    # One version for all Pythons: a run must not depend on which of them the reader has.
    options += ["--fork-strategy", "fewest", "--no-header", "--no-annotate"]
    options += ["--no-emit-index-url", "--no-emit-find-links"]
    told = run([sys.executable, "-m", "uv", "pip", "compile", *options, str(pyproject)])
    if told.returncode != 0:
        raise SetupError(last_line(told.stderr + told.stdout))
    return told.stdout


if __name__ == "__main__":
    sys.exit(main())
