"""Forked kernels: each like a fresh one, and an ordinary one where none can be forked."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest

from storm_lab.runs import notebook_run as notebook
from storm_lab.runs import warm_kernel
from storm_lab.runs.notebook_run import NotebookFailed, execute_notebook
from storm_lab.runs.pool import Advance, Pool

pytestmark = pytest.mark.skipif(not warm_kernel._can_fork(), reason="processes cannot be forked here")

ROOT = Path(__file__).resolve().parents[2]

LOOK = """
import json, os, random, sys, threading
import numpy as np
here = {
    "left": "mine" in globals(),
    "imported": "storm_lab.runs.study" in sys.modules,
    "folder": os.path.basename(os.getcwd()),
    "path": "mine" in sys.path,
    "program": [os.path.basename(sys.argv[0]), sys.argv[1], *sys.argv[3:]],
    "leader": os.getsid(0) == os.getpid(),
    "threads": sorted(thread.name for thread in threading.enumerate() if "Thread-" not in thread.name),
    "backend": __import__("matplotlib").rcParams._get("backend"),
    "variable": os.environ.get("STORM_LAB_TRIED"),
}
mine = 1
sys.path.append("mine"), os.environ.update(STORM_LAB_TRIED="mine")
np.random.seed(1), random.seed(1)
print(json.dumps(here))
"""
NUMBERS = "import random; import numpy as np; print(os.getpid(), np.random.random(), random.random())"
SHOW = "import matplotlib.pyplot as plt; plt.plot([1, 2]);"


def template(folder: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_code_cell(source) for source in ("import os", *sources)]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"name": "python3", "display_name": "x"}
    path = folder / "template.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    return path


def printed(executed: Path) -> str:
    cells = nbformat.read(executed, 4).cells
    return "".join(output.get("text", "") for cell in cells for output in cell.get("outputs", []))


@pytest.fixture(autouse=True)
def warm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A warm process of the test's own; and the environment stays the same throughout the test."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)
    monkeypatch.setattr(warm_kernel, "_warm", None)
    yield
    if warm_kernel._warm is not None:
        warm_kernel._warm.end()


@pytest.fixture
def executed(tmp_path: Path) -> Path:
    return tmp_path / "out" / "executed.ipynb"


def test_a_forked_kernel_is_like_a_fresh_one(
    tmp_path: Path, executed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = template(tmp_path, LOOK, SHOW)

    def pages() -> bytes:
        execute_notebook(path, executed, {}, "d")
        return executed.read_bytes()

    first, second = pages(), pages()
    assert b'\\"imported\\": true' in first, "it was forked from a process that had imported"
    monkeypatch.setattr(warm_kernel, "warm_up", lambda: None)
    monkeypatch.setattr(warm_kernel, "_warm", None)
    fresh = pages()
    assert first == second == fresh.replace(b'\\"imported\\": false', b'\\"imported\\": true')


def test_each_kernel_has_random_numbers_of_its_own(tmp_path: Path, executed: Path) -> None:
    seen = []
    for _ in range(2):
        execute_notebook(template(tmp_path, NUMBERS), executed, {}, "d")
        seen.append(printed(executed).split())
    assert all(one != other for one, other in zip(*seen, strict=True))


def test_a_kernel_that_dies_is_reported_and_the_next_one_lives(
    tmp_path: Path, executed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebook, "_TRIES", 1)
    with pytest.raises(NotebookFailed, match=r"template\.ipynb: Kernel died"):
        execute_notebook(template(tmp_path, "os.kill(os.getpid(), 9)"), executed, {}, "d")
    execute_notebook(template(tmp_path, "print('lives')"), executed, {}, "d")
    assert printed(executed) == "lives\n"


def test_without_the_warm_process_kernels_are_started_as_ever(tmp_path: Path, executed: Path) -> None:
    warm_kernel.warm_up()
    assert warm_kernel._warm is not None
    os.kill(warm_kernel._warm._process.pid, signal.SIGKILL)
    execute_notebook(template(tmp_path, "import sys; print('storm_lab' in sys.modules)"), executed, {}, "d")
    assert printed(executed) == "False\n"


def test_a_changed_environment_takes_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    warm_kernel.warm_up()
    first = warm_kernel._warm
    warm_kernel.warm_up()
    assert warm_kernel._warm is first
    monkeypatch.setenv("STORM_LAB_TRIED", "1")
    warm_kernel.warm_up()
    assert first is not None and first._process.poll() is not None
    assert warm_kernel._warm is not first


def test_one_process_runs_one_kernel_and_knows_its_end() -> None:
    process = warm_kernel._WarmProcess()
    order: tuple[list[str], str, dict[str, str]] = ([], os.sep, {"PATH": ""})
    kernel = process.fork(order)
    assert kernel is not None and kernel.poll() is None
    assert process.fork(order) is None, "another one is running"
    kernel.terminate()
    assert kernel.wait() == -signal.SIGTERM == kernel.poll()
    kernel.kill()
    process.end()


def execute(place: str, advance: Advance) -> int:
    folder = Path(place)
    execute_notebook(template(folder, "print(os.getppid())"), folder / "out" / "executed.ipynb", {}, "d")
    return os.getpid()


@pytest.mark.slow
def test_two_at_a_time_have_a_process_each(tmp_path: Path) -> None:
    places = [tmp_path / name for name in "abc"]
    for place in places:
        place.mkdir()
    workers = Pool(2, execute).do([str(place) for place in places])
    parents = {worker: set[str]() for worker in workers.values()}
    for number, worker in workers.items():
        parents[worker].add(printed(places[number] / "out" / "executed.ipynb"))
    assert len(set.union(*parents.values())) == len(parents) == 2


SCRIPT = """
import sys
from pathlib import Path
from storm_lab.runs.notebook_run import execute_notebook
execute_notebook(Path(sys.argv[1]), Path(sys.argv[1]).parent / "out" / "executed.ipynb", {}, "d")
"""


def test_nothing_is_left_when_the_program_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "note"
    wait = f"import time; open({str(note)!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}}'); time.sleep(60)"
    command = [sys.executable, "-c", SCRIPT, str(template(tmp_path, wait))]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}) as program:
        until(lambda: note.is_file() and " " in note.read_text())
        kernel, warm = map(int, note.read_text().split())
        assert warm != program.pid
        program.kill()
    until(lambda: not lives(kernel) and not lives(warm))


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
