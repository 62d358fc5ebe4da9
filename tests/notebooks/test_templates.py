"""Templates in notebooks/: no outputs, checked parameters, defaults that agree with the experiment."""

import ast
from importlib import import_module
from pathlib import Path

import nbformat
import pytest

from storm_lab.experiments.cause import load_causes
from storm_lab.experiments.experiment import Experiment
from storm_lab.experiments.ledger import load_claims
from storm_lab.papers.registry import experiments
from storm_lab.runs.namespace import CHOICE
from storm_lab.runs.notebook import notebooks_folder

TEMPLATES = sorted(
    path for path in notebooks_folder().glob("**/*.ipynb") if ".ipynb_checkpoints" not in path.parts
)
OF_EXPERIMENTS: dict[Path, list[Experiment]] = {}
for item in experiments():
    OF_EXPERIMENTS.setdefault(notebooks_folder() / item.notebook, []).append(item)


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
def test_a_template_has_no_outputs_and_names_the_default_kernel_without_a_version(path: Path) -> None:
    code = [cell for cell in cells(path) if cell.cell_type == "code"]
    assert {(len(cell.outputs), cell.execution_count) for cell in code} == {(0, None)}
    metadata = nbformat.read(path, as_version=4).metadata
    assert metadata.kernelspec.name == "python3"
    assert metadata.language_info == {"name": "python"}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_names_that_a_template_imports_exist(path: Path) -> None:
    code = "\n".join(python_of(cell) for cell in cells(path) if cell.cell_type == "code")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("storm_lab"):
            module = import_module(str(node.module))
            assert not [alias.name for alias in node.names if not hasattr(module, alias.name)], node.module


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_defines_no_functions_classes_or_while_loops(path: Path) -> None:
    # Functions and classes belong in the package, where they can be imported and tested. Code that a reader
    # is meant to write is in a cell with the tag "yours".
    for cell in cells(path):
        if cell.cell_type != "code" or "yours" in cell.metadata.get("tags", []):
            continue
        for node in ast.walk(ast.parse(python_of(cell))):
            assert not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.While), cell.source


@pytest.mark.parametrize("path", sorted(OF_EXPERIMENTS), ids=lambda path: path.stem)
def test_parameter_cells_show_the_experiments_own_defaults(path: Path) -> None:
    shown = parameters_of(path)
    chosen = shown.pop(CHOICE, None)
    for experiment in OF_EXPERIMENTS[path]:
        assert experiment.checked(shown) == experiment.checked()
    assert shown
    assert (len(OF_EXPERIMENTS[path]) > 1) == (chosen is not None)
    assert chosen is None or chosen in {experiment.slug for experiment in OF_EXPERIMENTS[path]}


@pytest.mark.parametrize("path", sorted(OF_EXPERIMENTS), ids=lambda path: path.stem)
def test_every_notebook_starts_with_its_parameters_and_the_papers_claims(path: Path) -> None:
    # The same code in all: the parameters, then their check and the paper's claims.
    code = [cell for cell in cells(path) if cell.cell_type == "code"]
    assert "parameters" in code[0].metadata.tags
    name = f'"{OF_EXPERIMENTS[path][0].slug}"' if len(OF_EXPERIMENTS[path]) == 1 else CHOICE
    assert code[1].source == (
        "%matplotlib inline\nfrom storm_lab.runs.study import Study\n\n"
        f"study = Study.of_notebook({name}, globals())\nstudy.introduce()"
    )


@pytest.mark.parametrize("path", sorted(OF_EXPERIMENTS), ids=lambda path: path.stem)
def test_every_notebook_ends_with_verdicts_then_reasons_then_checks(path: Path) -> None:
    own = cells(path)
    last = own[-1]
    assert last.cell_type == "code"
    assert "# Invariants that hold for any " in last.source
    assert last.source.endswith('print("all checks hold")')
    judged = [place for place, cell in enumerate(own) if "study.sum_up(verdicts)" in cell.source]
    if not any(experiment.claims for experiment in OF_EXPERIMENTS[path]):
        assert judged == []
        return
    (place,) = judged
    assert own[place].source.endswith("study.sum_up(verdicts)"), "its figure is what the cell shows"
    # The discussion of the verdicts draws no further figures.
    assert not [cell for cell in own[place + 1 :] if "keep_figure(" in cell.source]


@pytest.mark.parametrize("path", sorted(OF_EXPERIMENTS), ids=lambda path: path.stem)
def test_a_template_draws_no_axes_by_hand(path: Path) -> None:
    code = "\n".join(python_of(cell) for cell in cells(path) if cell.cell_type == "code")
    for sign in ("subplots", "new_figure", "axes.", "house_style"):
        assert sign not in code, "figures live in storm_lab/reporting/figures"


def test_every_claim_with_a_cause_is_discussed_in_its_notebook() -> None:
    ledger = load_claims()
    for claim in load_causes():
        (path,) = {
            path
            for path, owners in OF_EXPERIMENTS.items()
            if ledger.claim(claim).owner in {experiment.slug for experiment in owners}
        }
        text = "\n".join(cell.source for cell in cells(path))
        # The grid has an anchor for each claim of its experiment.
        assert path.stem == "grid" or f'<a id="why-{claim}"></a>' in text, claim
