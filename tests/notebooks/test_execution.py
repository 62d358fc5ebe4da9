"""Executing notebooks: checked, without machine-specific text, and written completely or not at all."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from storm_lab.errors import StormLabError, UserError
from storm_lab.machine.places import DATA_VARIABLE, REPORTS_VARIABLE, WORKSPACE_FILE
from storm_lab.runs import notebook_run as module
from storm_lab.runs.notebook import is_current
from storm_lab.runs.notebook_run import execute_notebook, machine_traces

LEFT = [".executed.digest", "executed.html", "executed.ipynb", "notebook.css", "notebook.js"]


def template(folder: Path, *sources: str) -> Path:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    notebook.cells[0].metadata["tags"] = ["parameters"]
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "x"},
        "language_info": {"name": "python"},
    }
    path = folder / "template.ipynb"
    nbformat.write(notebook, path)
    return path


def outputs(path: Path) -> str:
    return "".join(
        output.get("text", "") for cell in nbformat.read(path, 4).cells for output in cell.get("outputs", [])
    )


@pytest.fixture
def executed(tmp_path: Path) -> Path:
    return tmp_path / "out" / "executed.ipynb"


def left(executed: Path) -> list[str]:
    return sorted(path.name for path in executed.parent.iterdir()) if executed.parent.is_dir() else []


@dataclass(frozen=True)
class Twice:
    """A notebook executed for the digests d and e, with the bytes of notebook and page after each."""

    executed: Path
    bytes: list[tuple[bytes, bytes]]

    def copied(self, folder: Path) -> Path:
        """Copy the executed notebook to a folder of the test."""
        shutil.copytree(self.executed.parent, folder / "out")
        return folder / "out" / self.executed.name


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    folder = tmp_path_factory.mktemp("twice")
    executed = folder / "out" / "executed.ipynb"
    path = template(folder, "gamma = 1", "print(gamma, seeds)")
    found = []
    for digest in "de":
        execute_notebook(path, executed, {"gamma": 2.5, "seeds": (1, 2)}, digest)
        found.append((executed.read_bytes(), executed.with_suffix(".html").read_bytes()))
    return Twice(executed, found)


def test_a_notebook_finds_the_workspace_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executed: Path
) -> None:
    for name in (DATA_VARIABLE, REPORTS_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    mine, package = tmp_path / "mine", tmp_path / "package"
    mine.mkdir()
    package.mkdir()
    (mine / WORKSPACE_FILE).write_text('data = "here"\n')
    monkeypatch.chdir(mine)
    path = template(
        package,
        "# parameters",
        "from storm_lab.machine.places import data_folder, reports_folder\n"
        "print(data_folder().parent.name, data_folder().name, reports_folder().parent.name)",
    )
    execute_notebook(path, executed, {}, "d")
    assert outputs(executed) == "mine here mine\n"
    assert not {DATA_VARIABLE, REPORTS_VARIABLE} & set(os.environ)


def test_parameters_reach_the_cells_and_the_page_is_written(twice: Twice) -> None:
    assert outputs(twice.executed) == "2.5 [1, 2]\n"
    assert left(twice.executed) == LEFT
    assert "2.5 [1, 2]" in twice.executed.with_suffix(".html").read_text()


def test_printed_text_is_merged_however_the_kernel_splits_it() -> None:
    cell = nbformat.v4.new_code_cell("x")
    cell.outputs = [
        nbformat.v4.new_output("stream", name=name, text=text)
        for name, text in (("stdout", "a\n"), ("stdout", "b\n"), ("stderr", "c\n"), ("stdout", "d\n"))
    ]
    notebook = nbformat.v4.new_notebook(cells=[cell])
    module.clean(notebook)
    assert [output.text for output in notebook.cells[0].outputs] == ["a\nb\n", "c\n", "d\n"]


def test_two_executions_give_the_same_bytes_whatever_their_digests(twice: Twice) -> None:
    assert twice.bytes[0] == twice.bytes[1]
    assert set(nbformat.read(twice.executed, 4).metadata) == {"kernelspec", "language_info"}


def test_the_page_needs_no_network(twice: Twice) -> None:
    page = twice.executed.with_suffix(".html").read_text()
    for part in ('src="http', "src='http", 'href="http', "@import"):
        assert part not in page


def test_an_executed_notebook_is_current_until_its_inputs_change(twice: Twice, tmp_path: Path) -> None:
    executed = twice.copied(tmp_path)
    assert is_current(executed, "e") and not is_current(executed, "d")
    assert not is_current(executed.with_name("another.ipynb"), "e")
    page = executed.with_suffix(".html").rename(tmp_path / "page.html")
    assert not is_current(executed, "e")
    page.rename(executed.with_suffix(".html"))
    executed.write_text(executed.read_text() + " ")
    assert not is_current(executed, "e"), "somebody has changed it"


def test_a_mistake_of_the_user_is_raised_unchanged(tmp_path: Path, executed: Path) -> None:
    path = template(
        tmp_path,
        "gama = 1",
        "from storm_lab.runs.study import Study\nStudy.of_notebook('tstorm-word-count', globals())",
    )
    with pytest.raises(UserError, match=r"^parameter = 'gama': .*did you mean"):
        execute_notebook(path, executed, {}, "d")
    assert left(executed) == []


def test_a_failing_cell_leaves_the_previous_notebook_unchanged(twice: Twice, tmp_path: Path) -> None:
    executed = twice.copied(tmp_path)
    with pytest.raises(StormLabError, match=r"template\.ipynb(.|\n)*ZeroDivisionError") as caught:
        execute_notebook(template(tmp_path, "1 / 0"), executed, {}, "f")
    assert caught.value.exit_code == 1
    assert "\x1b[" not in str(caught.value)
    assert executed.read_bytes() == twice.bytes[1][0]
    assert left(executed) == LEFT


def test_an_output_that_names_this_machine_is_an_error(tmp_path: Path, executed: Path) -> None:
    path = template(tmp_path, "import pathlib; print(pathlib.Path.home() / 'secret')")
    with pytest.raises(StormLabError, match="names this machine"):
        execute_notebook(path, executed, {}, "d")
    assert left(executed) == []


def test_machine_names_are_also_found_in_html_results(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("x")
    cell.outputs = [nbformat.v4.new_output("execute_result", {"text/html": f"<p>{Path.home()}/x</p>"})]
    assert len(machine_traces(nbformat.v4.new_notebook(cells=[cell]))) == 1


@pytest.mark.parametrize(
    ("host", "line", "named"),
    [
        ("vm", "the kvm-clock of 12 vms", False),
        ("lab-7.example.org", "served by lab-7.example.org:4040", True),
        ("node01", "node01: executors 5, workers 1", False),
    ],
)
def test_a_full_host_name_is_found_and_a_bare_word_is_ignored(
    host: str, line: str, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: host)
    cell = nbformat.v4.new_code_cell("x", outputs=[nbformat.v4.new_output("stream", text=line)])
    assert bool(machine_traces(nbformat.v4.new_notebook(cells=[cell]))) is named


def test_a_dead_kernel_is_retried_and_a_broken_notebook_is_not(
    tmp_path: Path, executed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import papermill

    real, calls = papermill.execute_notebook, []

    def flaky(*arguments: object, **options: object) -> object:
        calls.append(1)
        if len(calls) < 3:
            raise RuntimeError("Kernel died before replying to kernel_info")
        return real(*arguments, **options)

    monkeypatch.setattr(papermill, "execute_notebook", flaky)
    execute_notebook(template(tmp_path, "print('x')"), executed, {}, "d")
    assert len(calls) == 3

    def broken(*arguments: object, **options: object) -> object:
        calls.append(1)
        raise RuntimeError("something else")

    monkeypatch.setattr(papermill, "execute_notebook", broken)
    with pytest.raises(RuntimeError, match="something else"):
        execute_notebook(template(tmp_path, "print('x')"), executed, {}, "d")
    assert len(calls) == 4
    assert module.KERNEL == "python3"
