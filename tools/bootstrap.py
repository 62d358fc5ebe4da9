"""Set up the virtual environment of the checkout, with nothing but a Python of the system.

`make` calls this when the lock, `pyproject.toml` or the set-up itself is newer than the stamp. It makes
`.venv`, installs exactly `requirements.lock` (with uv, or with pip where uv cannot) and the project itself,
and writes the stamp last: an interrupted set-up never counts as done, and the next one goes on where it
stopped. Nothing outside the checkout is changed but the installers' caches.

Standard library only, and no syntax newer than Python 3.7, here and in what it imports: an old `python3` must
get far enough to find a newer one.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Iterator, Sequence  # noqa: UP035 - collections.abc has no subscripts before Python 3.9

from interpreter import FIRST, Interpreter, choose_python, probe
from pip_source import install_pip
from process import SetupError, clean_environment, last_line, normal, run, say

NEEDED_GIGABYTES = 3
"""Disk space for the packages, and for building PySpark's."""

NETWORK_SIGNS = (
    "Connection",
    "ConnectTimeout",
    "Max retries",
    "Name or service not known",
    "Network is unreachable",
    "ProxyError",
    "ReadTimeout",
    "SSLError",
    "Temporary failure in name resolution",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Set up the environment; returns the exit status."""
    parser = argparse.ArgumentParser(description="Set up the virtual environment of the checkout.")
    parser.add_argument("--project", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--venv", default=".venv", help="folder of the environment, inside the project")
    parser.add_argument("--stamp", default="ready", help="file inside the environment that is written last")
    options = parser.parse_args(arguments)
    try:
        set_up(options.project.resolve(), options.venv, options.stamp)
    except SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nset-up: interrupted; the next call goes on from here", file=sys.stderr)
        return 130
    return 0


def set_up(project: Path, venv_name: str, stamp_name: str) -> None:
    """Bring `project/venv_name` to the state of the lock, and write the stamp."""
    venv, lock = project / venv_name, project / "requirements.lock"
    stamp = venv / stamp_name
    with only_one(project):
        wanted = digest([lock, project / "pyproject.toml"], str(venv))
        usable = is_usable(venv)
        if usable and stamp.exists() and stamp.read_text() == wanted:
            stamp.touch()
            return
        if not usable:
            python = choose_python()
            say(f"making a virtual environment with {python.name} ({python.program})")
            check_space(project)
            make_environment(python, venv)
        with contextlib.suppress(FileNotFoundError):
            stamp.unlink()
        install(venv, lock, project)
        draft = stamp.with_name(stamp.name + ".new")
        draft.write_text(wanted)
        draft.replace(stamp)
        say("ready")


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the folder, so that two set-ups at once come one after the other."""
    handle = os.open(str(folder), os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("another set-up is at work here; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def digest(files: Sequence[Path], place: str) -> str:
    """Digest of what the environment was made from: files, and the place where it lies."""
    total = hashlib.sha256(place.encode())
    for file in files:
        total.update(file.read_bytes())
    return total.hexdigest() + "\n"


def check_space(folder: Path) -> None:
    """Refuse to begin on a disk that is too full."""
    free = shutil.disk_usage(str(folder)).free / 1e9
    if free < NEEDED_GIGABYTES:
        raise SetupError(
            f"{folder} has {free:.1f} GB free, the packages need about {NEEDED_GIGABYTES} GB; free some space"
        )


def is_usable(venv: Path) -> bool:
    """Whether the environment was made here, to the end, and its Python still runs."""
    program, place = venv / "bin" / "python", venv / "place"
    # A folder that was moved or copied holds scripts that lead back to the old place.
    if not place.exists() or place.read_text() != str(venv):
        return False
    python = probe(str(program))
    return (
        python is not None
        and python.version >= FIRST
        and run([str(program), "-m", "pip", "--version"]).returncode == 0
    )


def make_environment(python: Interpreter, venv: Path) -> None:
    """A fresh environment with pip; a broken one in its place goes, anything else there is an error."""
    if os.path.lexists(str(venv)):
        ours = venv.is_dir() and not venv.is_symlink() and (venv / "pyvenv.cfg").exists()
        if not ours and not (venv.is_dir() and not any(venv.iterdir())):
            raise SetupError(f"{venv} is in the way and is no virtual environment; move it away")
        shutil.rmtree(str(venv))
    made_with_pip = (
        run([python.program, "-c", "import ensurepip, venv"]).returncode == 0
        and run([python.program, "-m", "venv", str(venv)]).returncode == 0
    )
    if not made_with_pip:
        told = run([python.program, "-m", "venv", "--clear", "--without-pip", str(venv)])
        if told.returncode != 0:
            why = last_line(told.stdout + told.stderr)
            raise SetupError(
                f"{python.program} cannot make a virtual environment ({why}); "
                "install what is missing (on Debian or Ubuntu: sudo apt-get install python3-venv)"
            )
        install_pip(python, venv)
    (venv / "place").write_text(str(venv))


def install(venv: Path, lock: Path, project: Path) -> None:
    """Install the lock and the project, nothing that these two do not name."""
    python = str(venv / "bin" / "python")
    names = locked_names(lock)
    drop_half_installed(venv)
    say(f"installing {len(names)} packages into {venv.name} (about 2 GB; some minutes the first time)")
    pip = [python, "-m", "pip", "install", "--no-deps", "--no-input", "--progress-bar", "off"]
    if not install_by_uv(pip, venv, lock):
        follow([*pip, "-r", str(lock)], venv / "set-up.log", names)
    # The build tools are in the lock, so the project itself needs no network.
    follow([*pip, "--no-build-isolation", "-e", str(project)], venv / "set-up.project.log", set())
    say("compiling what will be imported")
    compile_bytecode(venv, project)
    told = run([python, "-m", "pip", "check"])
    if told.returncode != 0:
        raise SetupError(f"the lock contradicts itself ({last_line(told.stdout)}); make it anew: make lock")


def install_by_uv(pip: list[str], venv: Path, lock: Path) -> bool:
    """Install the lock with the uv that it names, in a third of pip's time; whether that was possible.

    uv does not read pip's settings: where these say which index packages come from, it is left out.
    """
    own = [line for line in lock.read_text().splitlines() if line.startswith("uv==")]
    if not own or "index" in run([*pip[:3], "config", "list"]).stdout or run([*pip, *own]).returncode != 0:
        return False
    uv = [str(venv / "bin" / "uv"), "pip", "install", "--python", pip[0], "--no-deps", "-r", str(lock)]
    try:
        follow(uv, venv / "set-up.log", locked_names(lock))
    except SetupError:
        say("uv could not install the packages; pip does")
        return False
    return True


def compile_bytecode(venv: Path, project: Path) -> None:
    """Compile what will be imported, once and for all processes.

    Many container images tell Python to write no bytecode. There a notebook spends more time on compiling
    what it imports, at each execution, than on its work.
    """
    folders = [str(folder) for folder in venv.glob("lib/python*/site-packages")]
    python = str(venv / "bin" / "python")
    # Without packages' own tests. Files of other Pythons fail, which is no error: nobody imports them.
    run([python, "-m", "compileall", "-q", "-j", "0", "-x", "/tests?/", *folders, str(project / "storm_lab")])


def drop_half_installed(venv: Path) -> None:
    """Forget packages whose installation was cut off, which pip would otherwise take for installed.

    pip writes the list of a package's files last.
    """
    for record in venv.glob("lib/python*/site-packages/*.dist-info"):
        if not (record / "RECORD").exists():
            shutil.rmtree(str(record))


def locked_names(lock: Path) -> set[str]:
    """Names of the packages in a lock file, in their one spelling."""
    lines = (line.strip() for line in lock.read_text().splitlines())
    return {normal(re.split(r"[=<>!~;\s\[]", line)[0]) for line in lines if line and line[0] not in "#-"}


def follow(command: list[str], log: Path, names: set[str]) -> None:
    """Run pip or uv, show how far it is, keep its words in the log, and turn its failure into one line."""
    left, show = set(names), Progress(len(names))
    with log.open("w") as record:
        process = subprocess.Popen(
            command,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                record.write(line)
                seen = re.match(
                    r"\s*(?:Collecting|Requirement already satisfied:|Ignoring|\+) ([\w.-]+)", line
                )
                if seen and normal(seen.group(1)) in left:
                    left.discard(normal(seen.group(1)))
                    show.step(len(names) - len(left), seen.group(1))
                elif names and line.startswith("Installing collected"):
                    show.unpacking()
            process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            show.close()
    if process.returncode != 0:
        raise SetupError(f"{reason(log.read_text(errors='replace'))}; all of pip's words are in {log}")


def reason(words: str) -> str:
    """Why pip failed, in one line."""
    if "No space left" in words:
        return f"the disk is full; free about {NEEDED_GIGABYTES} GB"
    if any(sign in words for sign in NETWORK_SIGNS):
        return "packages could not be fetched; check the network and pip's settings for it, and repeat"
    errors = [line[6:].strip() for line in words.splitlines() if line.startswith("ERROR:")]
    return f"pip failed: {errors[0] if errors else last_line(words)}"


class Progress:
    """One line that changes on a terminal; a line now and then elsewhere."""

    STEP = 40

    def __init__(self, total: int) -> None:
        self.total = total
        self.told = 0
        self.live = sys.stderr.isatty()

    def step(self, done: int, name: str) -> None:
        """A new step begins."""
        if self.live:
            self._draw(f"{done} of {self.total}: {name}")
        elif done - self.told >= self.STEP or done == self.total:
            self.told = done
            say(f"{done} of {self.total} packages")

    def unpacking(self) -> None:
        """Pip has fetched everything and unpacks it."""
        if self.live:
            self._draw("unpacking")
        else:
            say("unpacking")

    def close(self) -> None:
        """The last line ends."""
        if self.live:
            self._draw("")

    @staticmethod
    def _draw(text: str) -> None:
        sys.stderr.write("\r\033[K" + text[:78])
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
