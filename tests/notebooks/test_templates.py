"""Templates in notebooks/: no outputs, checked parameters, defaults that agree with the experiment."""

import ast
from importlib import import_module
from pathlib import Path

import nbformat
import pytest

from storm_lab.papers.registry import experiments
from storm_lab.runs.notebook import notebooks_folder

TEMPLATES = sorted(
    path for path in notebooks_folder().glob("**/*.ipynb") if ".ipynb_checkpoints" not in path.parts
)
OF_EXPERIMENTS = {notebooks_folder() / item.notebook: item for item in experiments()}


def cells(path: Path) -> list[nbformat.NotebookNode]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return list(notebook.cells)


def python_of(cell: nbformat.NotebookNode) -> str:
    """A cell's source without IPython's magics."""
    return "\n".join(line for line in cell.source.splitlines() if not line.startswith("%"))


def parameters_of(path: Path) -> dict[str, object]:
    (source,) = [cell.source for cell in cells(path) if "parameters" in cell.metadata.get("tags", [])]
    assigned = {}
    for statement in ast.parse(source).body:
        assert isinstance(statement, ast.Assign), "the parameters cell only assigns"
        (target,) = statement.targets
        assert isinstance(target, ast.Name)
        assigned[target.id] = ast.literal_eval(statement.value)
    return assigned


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_carries_no_outputs(path: Path) -> None:
    for cell in cells(path):
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_asks_for_no_kernel_or_python_of_its_own(path: Path) -> None:
    metadata = nbformat.read(path, as_version=4).metadata
    assert metadata.kernelspec.name == "python3"
    assert metadata.language_info == {"name": "python"}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_what_a_template_imports_is_there(path: Path) -> None:
    code = "\n".join(python_of(cell) for cell in cells(path) if cell.cell_type == "code")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("storm_lab"):
            module = import_module(str(node.module))
            assert not [alias.name for alias in node.names if not hasattr(module, alias.name)], node.module


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_holds_no_algorithm(path: Path) -> None:
    # Functions and classes belong into the package, where they can be imported and tested; what a reader is
    # meant to write lives in a cell that is tagged for it.
    for cell in cells(path):
        if cell.cell_type != "code" or "yours" in cell.metadata.get("tags", []):
            continue
        for node in ast.walk(ast.parse(python_of(cell))):
            assert not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.While), cell.source


@pytest.mark.parametrize("path", sorted(OF_EXPERIMENTS), ids=lambda path: path.stem)
def test_parameter_cells_show_the_experiments_own_defaults(path: Path) -> None:
    experiment = OF_EXPERIMENTS[path]
    shown = parameters_of(path)
    assert experiment.checked(shown) == experiment.checked()
    assert shown


@pytest.mark.parametrize("path", sorted(OF_EXPERIMENTS), ids=lambda path: path.stem)
def test_the_first_cell_after_the_parameters_checks_them(path: Path) -> None:
    sources = [cell for cell in cells(path) if cell.cell_type == "code"]
    assert "parameters" in sources[0].metadata.tags
    assert f'Study.of_notebook("{OF_EXPERIMENTS[path].slug}", globals())' in sources[1].source
