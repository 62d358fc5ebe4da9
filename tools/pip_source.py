"""Put pip into a virtual environment that was made without it.

Debian and Ubuntu split pip and ensurepip off into packages that a fresh machine does not have. pip then
comes from the first of: a wheel that the system keeps, a pip of any Python here, the system's package
archive. None of these changes anything outside the environment, and none needs rights.

Standard library only, and no syntax newer than Python 3.7; see `bootstrap.py`.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from interpreter import Interpreter
from process import SetupError, run, say

SYSTEM_WHEELS = Path("/usr/share/python-wheels")
"""Where Debian and Ubuntu keep the wheels that their Python packages bring."""

ARCHIVE_PACKAGE = "python3-pip-whl"


def install_pip(python: Interpreter, venv: Path) -> None:
    """Put pip into `venv`, which was made by `python`."""
    target = str(venv / "bin" / "python")
    if pip_from_wheels(target, SYSTEM_WHEELS) or pip_from_pip(target, python) or pip_from_archive(target):
        return
    raise SetupError(
        f"{python.name} has no pip, and none could be fetched; check the network, or install it "
        "(on Debian or Ubuntu: sudo apt-get install python3-venv)"
    )


def pip_from_wheels(target: str, folder: Path) -> bool:
    """Let the newest pip wheel in the folder install itself; needs no network."""
    for wheel in sorted(folder.glob("pip-*.whl"), key=_numbers, reverse=True):
        # A wheel is a zip archive, and Python runs a package in one.
        command = [target, str(wheel / "pip"), "install", "--no-index", "--no-deps", str(wheel)]
        if run(command).returncode == 0:
            return True
    return False


def pip_from_pip(target: str, python: Interpreter) -> bool:
    """Let a pip that belongs to a Python of the system install one in the environment."""
    programs = [[python.program, "-m", "pip"]]
    programs += [[program] for program in map(shutil.which, ("pip3", "pip")) if program]
    return any(run([*program, "--python", target, "install", "pip"]).returncode == 0 for program in programs)


def pip_from_archive(target: str) -> bool:
    """Fetch Debian's or Ubuntu's package with the pip wheel and unpack it aside."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return False
    say("fetching pip from the system's package archive")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not _download(folder):
            return False
        for package in folder.glob(f"{ARCHIVE_PACKAGE}_*.deb"):
            run(["dpkg-deb", "-x", str(package), str(folder / "files")])
        return pip_from_wheels(target, folder / "files" / SYSTEM_WHEELS.relative_to("/"))


def _download(folder: Path) -> bool:
    if run(["apt-get", "download", ARCHIVE_PACKAGE], cwd=folder).returncode == 0:
        return True
    # A machine fresh from an image has no package lists: fetch lists of our own, into the same folder.
    for sub in ("lists/partial", "cache/archives/partial"):
        (folder / sub).mkdir(parents=True)
    private = [
        *("-o", f"Dir::State::lists={folder / 'lists'}"),
        *("-o", f"Dir::Cache={folder / 'cache'}"),
        *("-o", "Debug::NoLocking=1"),
        *("-o", "APT::Sandbox::User="),
    ]
    if run(["apt-get", *private, "update"], cwd=folder).returncode != 0:
        return False
    return run(["apt-get", *private, "download", ARCHIVE_PACKAGE], cwd=folder).returncode == 0


def _numbers(wheel: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", wheel.name)]
