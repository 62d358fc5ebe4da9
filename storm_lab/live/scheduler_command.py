"""The command ``storm-lab live scheduler``: a scheduler of storm_lab answers the Nimbus of any cluster."""

from __future__ import annotations

import importlib
import importlib.util
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from storm_lab.errors import UserError
from storm_lab.live.bridge import Bridge, Policy, Round
from storm_lab.live.request import Known
from storm_lab.machine.options import examples
from storm_lab.model.version import StormVersion
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.parameters import parse_parameters
from storm_lab.schedulers.registry import make_scheduler


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
@click.option("--param", "parameters", multiple=True, metavar="KEY=VALUE", help="Parameter of the scheduler.")
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
    policy = Policy(find_scheduler(name, parameters), Known(version), seed=seed)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: over.set())
    with Bridge(socket, policy, _teller()):
        click.echo(f"{policy.scheduler.name} answers at {socket.absolute()}; end it with Ctrl-C", err=True)
        over.wait()


def find_scheduler(name: str, parameters: Iterable[str] = ()) -> Scheduler[Any]:
    """A scheduler by the name of its policy, by ``module:Class``, or by ``file.py:Class``.

    Raises:
        UserError: there is none, it cannot be imported or is no scheduler, or a parameter is wrong.
    """
    place, separator, class_name = name.rpartition(":")
    if not separator:
        return make_scheduler(name, parameters)
    found = getattr(_module(place), class_name, None)
    if not (isinstance(found, type) and issubclass(found, Scheduler)):
        what = "has no such class" if found is None else "is not a subclass of Scheduler"
        raise UserError(f"{place} {what}", field="scheduler", value=name)
    try:
        return found(parse_parameters(found.Parameters, parameters, owner=class_name))
    except TypeError as error:
        raise UserError(f"it cannot be made: {error}", field="scheduler", value=name) from error


def _module(place: str) -> Any:
    try:
        if not place.endswith(".py"):
            sys.path.insert(0, str(Path.cwd()))
            return importlib.import_module(place)
        path = Path(place)
        if not path.is_file():
            raise UserError("there is no such file", field="scheduler", value=place)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Classes look for their module by its name when their annotations are read.
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    except UserError:
        raise
    except Exception as error:
        text = " ".join(str(error).split())
        raise UserError(
            f"it cannot be imported: {type(error).__name__}: {text}", field="scheduler", value=place
        ) from error
    return module


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
