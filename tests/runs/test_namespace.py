"""Parameters of a notebook: all plain values of a fresh kernel, and the same names when cells run again."""

import pytest

from storm_lab.errors import UserError
from storm_lab.runs.namespace import check_notebook, notebook_parameters
from storm_lab.runs.study import Study

SLUG = "tstorm-word-count"


def kernel() -> dict[str, object]:
    """A notebook after its parameters cell, while the next one runs."""
    history = ["", "gammas = [1.8]\nseeds = [1]", "study = ..."]
    return {"gammas": [1.8], "seeds": [1], "In": history, "Out": {}}


def run(namespace: dict[str, object], cell: str, **values: object) -> None:
    history = namespace["In"]
    assert isinstance(history, list)
    history.append(cell)
    namespace.update(values)


def test_in_a_fresh_kernel_every_plain_value_is_a_parameter() -> None:
    assert notebook_parameters(SLUG, kernel()) == {"gammas": [1.8], "seeds": [1]}


def test_names_from_later_cells_are_no_parameters_when_cells_run_again() -> None:
    namespace = kernel()
    Study.of_notebook(SLUG, namespace)
    loop = "rows = []\nfor gamma in gammas: rows.append(gamma)"
    run(namespace, loop, rows=[1.8], gamma=1.8, study=object())
    run(namespace, "gammas = [2.2]\nseeds = [1]", gammas=[2.2])
    study = Study.of_notebook(SLUG, namespace)
    assert study.parameters["gammas"] == (2.2,)


def test_a_parameter_added_to_the_cell_is_used_and_a_misspelt_one_is_refused() -> None:
    namespace = kernel()
    Study.of_notebook(SLUG, namespace)
    run(namespace, "gammas = [1.8]\ncores = 2  # of a node", cores=2)
    assert Study.of_notebook(SLUG, namespace).parameters["cores"] == 2
    run(namespace, "gamas = [2.2]", gamas=[2.2])
    with pytest.raises(UserError, match="gamas"):
        Study.of_notebook(SLUG, namespace)


def test_two_experiments_in_one_notebook_do_not_share_their_names() -> None:
    namespace = kernel()
    Study.of_notebook(SLUG, namespace)
    run(namespace, "import pandas", pandas=pytest)
    assert notebook_parameters("another", namespace) == {"gammas": [1.8], "seeds": [1]}


def check(namespace: dict[str, object]) -> None:
    check_notebook("quickstart", namespace, gammas=[1.8], seeds=[1])


def test_a_notebook_without_an_experiment_refuses_unknown_parameters() -> None:
    namespace = kernel()
    check(namespace)
    run(namespace, "gammas = [1.8]\ngama = 2.2\nseeds = [1]", gama=2.2)
    with pytest.raises(UserError, match="did you mean gammas"):
        check(namespace)
    run(namespace, "gammas = [1.8]\nseeds = [1]")
    check(namespace)


def test_unknown_parameters_injected_by_papermill_are_refused_and_other_cells_ignored() -> None:
    namespace = kernel()
    run(namespace, "note = 3", note=3)
    check(namespace)
    run(namespace, "# Parameters\nnodes = 3\n", nodes=3)
    with pytest.raises(UserError, match="nodes"):
        check(namespace)


def test_a_parameter_of_another_type_is_refused() -> None:
    namespace = kernel()
    run(namespace, "gammas = 1.8", gammas=1.8)
    with pytest.raises(UserError, match="has the wrong type; give a list of numbers"):
        check(namespace)
