"""A notebook of one piece of advice: the template with its parameters set, executed where the user stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.machine.whole_file import check_folder
from storm_lab.runs.notebook import notebooks_folder

TEMPLATE = "advise.ipynb"


def check_notebook(path: Path) -> None:
    """Refuse, before the long work, a place where no notebook can be written.

    Raises:
        UserError: the name is no notebook's, or there is no such folder.
    """
    if path.suffix != ".ipynb":
        raise UserError("is no notebook's name", field="notebook", value=str(path), remedy="end it in .ipynb")
    if not path.parent.is_dir():
        raise UserError("there is no such folder", field="notebook", value=str(path), remedy="make it first")
    check_folder(path.parent, field="notebook")


def write_notebook(path: Path, values: Mapping[str, object]) -> None:
    """Write the executed notebook. Its runs lie there already, so it takes seconds."""
    # Here, for it takes longer than the help page, and few ask for a notebook.
    import papermill

    from storm_lab.runs.notebook_run import KERNEL

    papermill.execute_notebook(
        str(notebooks_folder() / TEMPLATE),
        str(path),
        parameters=dict(values),
        kernel_name=KERNEL,
        cwd=str(Path.cwd()),
        progress_bar=False,
        log_output=False,
        # The kernel's own remarks would land between our lines.
        extra_arguments=["--IPKernelApp.log_level=CRITICAL"],
    )
