"""The command ``storm-lab live scheduler``: a scheduler of storm_lab answers the Nimbus of any cluster."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path

import click

from storm_lab.errors import UserError
from storm_lab.live.bridge import Bridge, Policy, Round
from storm_lab.live.request import Known
from storm_lab.machine.options import examples
from storm_lab.model.version import StormVersion
from storm_lab.schedulers.scheduler_file import scheduler_of


@click.command(
    epilog=examples(
        "storm-lab live scheduler rstorm --socket /run/storm/scheduler",
        "storm-lab live scheduler my_package:MyScheduler --socket /tmp/nimbus --param gamma=2",
        "storm-lab live scheduler my_idea.py:MyIdea --socket /tmp/nimbus --storm-version 0.9.7",
    )
)
@click.argument("name", metavar="SCHEDULER")
@click.option(
    "--socket", type=click.Path(path_type=Path), required=True, help="Unix socket that Nimbus asks at."
)
@click.option(
    "-p", "--param", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter of the scheduler."
)
@click.option("--storm-version", metavar="V", help="Version of Storm; from 1.0 on it says so itself.")
@click.option("--seed", default=0, show_default=True, help="Start of its random numbers.")
def scheduler(
    name: str, socket: Path, parameters: tuple[str, ...], storm_version: str | None, seed: int
) -> None:
    """Answer a Nimbus whose storm.scheduler is stormlab.BridgeScheduler, until Ctrl-C.

    SCHEDULER is the name of a policy, or MODULE:CLASS, or FILE.py:CLASS. While nobody answers, Nimbus leaves
    everything as it is.
    """
    version = None if storm_version is None else _version(storm_version)
    policy = Policy(scheduler_of(name, parameters), Known(version), seed=seed)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: over.set())
    with Bridge(socket, policy, _teller()):
        click.echo(f"{policy.scheduler.name} answers at {socket.absolute()}; end it with Ctrl-C", err=True)
        over.wait()


def _version(text: str) -> StormVersion:
    try:
        return StormVersion.parse(text)
    except ValueError as error:
        raise UserError(
            "that is no version", field="--storm-version", value=text, remedy="write it like 0.9.7"
        ) from error


def _teller() -> Callable[[Round], None]:
    """Prints what changes: moves, and problems once."""
    said: list[str] = [""]

    def tell(made: Round) -> None:
        for topology in made.moved:
            nodes = len(made.assignment.of_topology(topology).nodes_used())
            slots = len(set(made.assignment.of_topology(topology).slots.values()))
            click.echo(f"{topology}: {slots} workers on {nodes} nodes, in {made.took_ns / 1e6:.1f} ms")
        if made.problem and made.problem != said[0]:
            click.echo(f"kept as it is: {made.problem}", err=True)
        said[0] = made.problem

    return tell
