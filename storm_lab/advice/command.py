"""The command ``storm-lab advise``, which can also write and execute a notebook in the user's folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from storm_lab.advice.advise import POLICIES, advise
from storm_lab.errors import UserError
from storm_lab.league.field import field
from storm_lab.machine.atomic_file import check_folder
from storm_lab.machine.options import FILE, answer, examples, jobs_option, json_option, overlay_option
from storm_lab.runs.grid import parse_seeds
from storm_lab.runs.notebook import notebooks_folder
from storm_lab.schedulers.scheduler_file import names_of, policies_option, schedulers_option
from storm_lab.workloads.importers.importing import import_topology


@click.command(
    "advise",
    epilog=examples(
        "storm-lab advise topology.yaml machines.yaml",
        "storm-lab advise topology.yaml tstorm-section-v --overlay costs.yaml --seeds 1-5",
        "storm-lab advise topology.yaml machines.yaml --scheduler my_idea.py:MyIdea --notebook advice.ipynb",
    ),
)
@click.argument("topology", metavar="TOPOLOGY", type=FILE)
@click.argument("cluster", metavar="CLUSTER", type=FILE)
@overlay_option
@schedulers_option("Also try your own scheduler; prefix it with online: if it needs measured load.")
@policies_option(f"Built-in policies to try (default: {', '.join(POLICIES)}).")
@click.option("--seeds", default="1-3", show_default=True, metavar="SEEDS", help="Seeds, as 1-5 or 1,2,7.")
@click.option(
    "--notebook",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write and execute a notebook that shows the advice.",
)
@jobs_option
@json_option
def advise_command(
    topology: str,
    cluster: str,
    overlay: str | None,
    schedulers: tuple[str, ...],
    policies: str | None,
    seeds: str,
    notebook: Path | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Advise on TOPOLOGY on the machines of CLUSTER: policy, workers, nodes, limits, losses.

    TOPOLOGY is a file that storm-lab import reads. CLUSTER is a YAML file of machines or the name of
    a paper's cluster.
    """
    names = POLICIES if policies is None else names_of(policies)
    if notebook is not None:
        _check_notebook(notebook)
    imported = import_topology(topology, overlay=overlay, machines=cluster)
    found = advise(
        imported,
        seeds=parse_seeds(seeds),
        entrants=field(schedulers, names),
        jobs=jobs,
        show_progress=True,
        say=lambda line: click.echo(line, err=True),
    )
    answer(as_json, found.document(), found.text().removesuffix("\n"))
    if notebook is not None:
        values = {
            "topology": topology,
            "cluster": cluster,
            "overlay": overlay or "",
            "schedulers": list(schedulers),
            "policies": list(names),
            "seeds": list(parse_seeds(seeds)),
        }
        # Imported here because it takes longer than showing the help page, and few users ask for a notebook.
        from storm_lab.runs.notebook_run import run_cells

        # The runs are already on disk, so this takes seconds.
        run_cells(notebooks_folder() / "advise.ipynb", notebook, values, Path.cwd())
        click.echo(f"notebook: {notebook}", err=True)


def _check_notebook(path: Path) -> None:
    """Refuse, before the long work, a path at which no notebook can be written."""
    refused = partial(UserError, field="notebook", value=str(path))
    if path.suffix != ".ipynb":
        raise refused("is not a notebook file name", remedy="use a name that ends in .ipynb")
    if not path.parent.is_dir():
        raise refused("the folder does not exist", remedy="create it first")
    check_folder(path.parent, field="notebook")
