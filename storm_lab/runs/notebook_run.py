"""Executing notebooks with papermill, with checked parameters and outputs that depend only on the inputs.

The executed notebook and its HTML are written completely or not at all. What papermill and Jupyter add
(times, paths, versions) is removed, so that two executions give the same bytes. An output that names this
machine is an error.
"""

from __future__ import annotations

import getpass
import logging
import os
import socket
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.filters.ansi import strip_ansi

from storm_lab.errors import StormLabError, UserError
from storm_lab.experiments.parameter import ParameterValue
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.machine.places import (
    DATA_VARIABLE,
    REPORTS_VARIABLE,
    data_folder,
    project_root,
    reports_folder,
    variables,
)
from storm_lab.reporting.notebook_page import notebook_page, page_files
from storm_lab.runs.notebook import stamp_of
from storm_lab.tuplelog.manifest import file_sha256

KERNEL = "python3"
_TRIES = 3
_REPORT = "../index.html"
_KEPT_TAGS = ("parameters", "injected-parameters", "prose")


def execute_notebook(
    template: Path, executed: Path, parameters: Mapping[str, ParameterValue], digest: str
) -> float:
    """Execute a template and write ``executed`` and the HTML beside it; return the seconds of its cells.

    Raises `UserError` with the cell's message for a user's mistake, and `StormLabError` if a cell failed
    otherwise or an output names this machine.
    """
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()}
    with tempfile.TemporaryDirectory(prefix="storm_lab-") as scratch:
        raw = Path(scratch) / template.name
        _run(template, raw, values)
        notebook = nbformat.read(raw, as_version=4)  # type: ignore[no-untyped-call]
    seconds = sum(cell.metadata.get("papermill", {}).get("duration") or 0.0 for cell in notebook.cells)
    clean(notebook)
    found = machine_traces(notebook)
    if found:
        raise StormLabError(f"{template.name}: an output names this machine: {found[0]}")
    published = executed.parent.parent == reports_folder()
    page = notebook_page(notebook, executed.stem, report=_REPORT if published else "")
    executed.parent.mkdir(parents=True, exist_ok=True)
    stamp_of(executed).unlink(missing_ok=True)
    for name, text in page_files().items():
        write_atomic(executed.with_name(name), text)
    write_atomic(executed.with_suffix(".html"), page)
    write_atomic(executed, f"{nbformat.writes(notebook)}\n")  # type: ignore[no-untyped-call]
    # Written last: it states that all the other files exist.
    write_atomic(stamp_of(executed), f"{digest}\n{file_sha256(executed)}\n")
    return float(seconds)


def _run(template: Path, raw: Path, values: Mapping[str, Any]) -> None:
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    # The parameters were checked before; papermill would only warn again about unknown ones.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    # After an interruption, it would print the traceback of a cell that nothing waits for any more.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    # The kernel works in the folder of its template. Outside a checkout that is inside the installed package
    # and not in the user's workspace.
    ours = {DATA_VARIABLE: str(data_folder()), REPORTS_VARIABLE: str(reports_folder())}
    for attempt in range(1, _TRIES + 1):
        try:
            with variables(ours):
                run_cells(template, raw, values, template.parent)
            return
        except PapermillExecutionError as error:
            if error.ename in _names_below(UserError):
                raise UserError(error.evalue) from None
            if error.ename in _names_below(StormLabError):
                raise StormLabError(f"{template.name}: {error.evalue}") from None
            message = strip_ansi(str(error))  # type: ignore[no-untyped-call]
            raise StormLabError(f"{template.name}, cell {error.exec_count}: {message}") from None
        except (DeadKernelError, RuntimeError, OSError) as error:
            signs = ("Address already in use", "Kernel died")
            if not (isinstance(error, DeadKernelError) or any(sign in str(error) for sign in signs)):
                raise
            if attempt == _TRIES:
                raise StormLabError(f"{template.name}: {error}") from error


def run_cells(template: Path, executed: Path, values: Mapping[str, Any], folder: Path) -> None:
    """Run a notebook's cells in a kernel that works in ``folder``; papermill's error if one fails."""
    import papermill

    papermill.execute_notebook(
        str(template),
        str(executed),
        parameters=dict(values),
        kernel_name=KERNEL,
        cwd=str(folder),
        progress_bar=False,
        log_output=False,
        # The kernel logs even its shutdown; its messages would appear between those of this program.
        extra_arguments=["--IPKernelApp.log_level=CRITICAL"],
    )


def _names_below(kind: type[BaseException]) -> set[str]:
    """Names of an error class and all its subclasses; a kernel reports only the name."""
    return {kind.__name__}.union(*(_names_below(each) for each in kind.__subclasses__()))


def clean(notebook: nbformat.NotebookNode) -> None:
    """Remove everything that differs between two executions."""
    notebook.metadata = _node(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": KERNEL},
            "language_info": {"name": "python"},
        }
    )
    for number, cell in enumerate(notebook.cells):
        tags = [tag for tag in cell.metadata.get("tags", []) if tag in _KEPT_TAGS or tag.startswith("nbval-")]
        cell.metadata = _node({"tags": tags} if tags else {})
        if "injected-parameters" in tags:
            cell["id"] = f"injected-{number}"
        if "outputs" in cell:
            cell["outputs"] = _joined(cell["outputs"])


def _joined(outputs: Sequence[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Join successive prints to one output: how a kernel splits them into messages depends on timing."""
    joined: list[nbformat.NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined and output.output_type == joined[-1].output_type == "stream" else None
        if last is not None and output.name == last.name:
            last["text"] += output.text
        else:
            joined.append(output)
    return joined


def machine_traces(notebook: nbformat.NotebookNode) -> list[str]:
    """Lines of text output that contain a path, the user name or the full host name of this machine."""
    signs = {str(project_root()), tempfile.gettempdir() + "/", str(Path.home()) + "/"}
    signs |= {f"/{getpass.getuser()}/"} if os.name == "posix" else set()
    # A host name without a domain may be an ordinary word.
    signs |= {host for host in [socket.gethostname()] if "." in host}
    signs -= {"", "/"}
    texts: list[str] = []
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        texts += [output.get("text", ""), *output.get("traceback", [])]
        texts += [str(text) for kind, text in output.get("data", {}).items() if kind.startswith("text/")]
    return [line for text in texts for line in text.splitlines() if any(sign in line for sign in signs)]


def _node(content: Mapping[str, Any]) -> nbformat.NotebookNode:
    node: nbformat.NotebookNode = nbformat.from_dict(content)  # type: ignore[no-untyped-call]
    return node
