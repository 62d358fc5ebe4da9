"""The command ``storm-lab live``: real Apache Storm on this machine."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from storm_lab.errors import UserError
from storm_lab.experiments.claim import with_unit
from storm_lab.live.bridge import Bridge, Policy, Round, check_socket_path
from storm_lab.live.doctor import run_checks
from storm_lab.live.hosts import MASTER, HostOptions
from storm_lab.live.java_build import player_jar
from storm_lab.live.netns import RUN
from storm_lab.live.records import places, remove_orphans
from storm_lab.live.releases import RELEASES, find_release
from storm_lab.live.request import Known
from storm_lab.live.storm import LiveStorm
from storm_lab.machine.atomic_file import check_folder
from storm_lab.machine.doctor import print_findings
from storm_lab.machine.options import Commands, FiniteRange, examples, json_option, param_option
from storm_lab.model.cluster import Cluster, Node
from storm_lab.model.version import StormVersion
from storm_lab.schedulers.scheduler_file import scheduler_of


@click.group(
    cls=Commands,
    epilog=examples("storm-lab live doctor", "storm-lab live up --version 0.9.2", "storm-lab live down"),
)
def live() -> None:
    """Run real Apache Storm, on the same inputs as the emulator.

    Jars are fetched only when a command needs them; a message then names them and their size.
    """
    # A terminal that closes sends SIGHUP: exit normally, so that the cluster is removed too.
    signal.signal(signal.SIGHUP, lambda number, frame: sys.exit(128 + number))


@live.command(epilog=examples("storm-lab live doctor"))
@json_option
def doctor(as_json: bool) -> None:
    """Check what this machine offers for real Storm; exit status 1 if a cluster cannot start."""
    print_findings(run_checks(), as_json)


@live.command(epilog=examples("storm-lab live fetch", "storm-lab live fetch 2.8 0.9.2"))
@click.argument("versions", nargs=-1, metavar="[VERSION]...")
def fetch(versions: tuple[str, ...]) -> None:
    """Fetch the jars of the given versions of Storm, or of all, and compile the topology player."""
    for release in [find_release(text) for text in versions] or RELEASES.values():
        player_jar(release)
        click.echo(f"Storm {release.version} is ready")


@live.command(epilog=examples("storm-lab live up", "storm-lab live up --version 0.9.2 --nodes 6 --mhz 400"))
@click.option(
    "--version", default=next(iter(RELEASES)), show_default=True, metavar="V", help="Version of Storm."
)
@click.option(
    "--nodes", default=2, show_default=True, type=click.IntRange(1, 50), help="Number of worker nodes."
)
@click.option("--slots", default=4, show_default=True, type=click.IntRange(1, 100), help="Slots per node.")
@click.option("--cores", default=1, show_default=True, type=click.IntRange(1, 256), help="Cores per node.")
@click.option("--mhz", default=2000.0, show_default=True, type=FiniteRange(1), help="Clock of a core in MHz.")
@click.option("--memory", default=2048.0, show_default=True, help="Memory per node in MB.")
@click.option("--latency", default=0.0, show_default=True, help="One-way latency of links in us.")
@click.option(
    "--hosts",
    "kind",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "namespaces", "loopback"]),
    help="How nodes are realised.",
)
@click.option("--logs", type=click.Path(path_type=Path), help="Folder for logs, kept after the cluster ends.")
@click.option(
    "--socket", type=click.Path(path_type=Path), help="Unix socket at which Nimbus requests schedules."
)
def up(
    version: str,
    nodes: int,
    slots: int,
    cores: int,
    mhz: float,
    memory: float,
    latency: float,
    kind: str,
    logs: Path | None,
    socket: Path | None,
) -> None:
    """Start a cluster and leave it running, until: storm-lab live down."""
    ports = tuple(range(6700, 6700 + slots))
    node = Node("node1", ports=ports, cores=cores, core_mhz=mhz, memory_mb=memory)
    cluster = Cluster(tuple(replace(node, id=f"node{number}") for number in range(1, nodes + 1)))
    options = HostOptions(kind=kind, latency_us=latency)  # type: ignore[arg-type]
    if socket is not None:
        if not socket.absolute().parent.is_dir():
            raise UserError("its folder does not exist", field="--socket", value=str(socket))
        socket = socket.absolute()
        check_socket_path(socket, "--socket")
    if logs is not None:
        check_folder(logs, field="--logs")
    storm = LiveStorm(version, cluster, hosts=options, folder=logs, bridged=socket is not None, socket=socket)
    storm.start()
    try:
        lines = _description(storm)
        storm.leave()
    except BaseException:
        storm.stop()
        raise
    for line in lines:
        click.echo(line)


@live.command(epilog=examples("storm-lab live down"))
def down() -> None:
    """End clusters that were left running, and clean up after commands that were killed."""
    removed = remove_orphans(kept_too=True)
    for record in removed:
        why = "was running" if record.kept else "was left behind by a killed command"
        click.echo(f"{record.token}: Storm {record.version} {why}; removed completely")
    busy = [place.record for place in places()]
    for record in busy:
        click.echo(f"{record.token}: in use by a running command; end that command with Ctrl-C")
    if not removed and not busy:
        click.echo("no clusters")


@live.command(
    epilog=examples(
        "storm-lab live scheduler rstorm --socket /run/storm/scheduler",
        "storm-lab live scheduler my_package:MyScheduler --socket /tmp/nimbus --param gamma=2",
        "storm-lab live scheduler my_idea.py:MyIdea --socket /tmp/nimbus --storm-version 0.9.7",
    )
)
@click.argument("name", metavar="SCHEDULER")
@click.option(
    "--socket",
    type=click.Path(path_type=Path),
    required=True,
    help="Unix socket at which Nimbus requests schedules.",
)
@param_option("Parameter of the scheduler.")
@click.option("--storm-version", metavar="V", help="Version of Storm; from 1.0 on Nimbus states it.")
@click.option("--seed", default=0, show_default=True, help="Seed of its random numbers.")
def scheduler(
    name: str, socket: Path, parameters: tuple[str, ...], storm_version: str | None, seed: int
) -> None:
    """Answer a Nimbus whose storm.scheduler is stormlab.BridgeScheduler, until Ctrl-C.

    SCHEDULER is the name of a policy, or MODULE:CLASS, or FILE.py:CLASS. While no scheduler answers, Nimbus
    changes nothing.
    """
    version = None if storm_version is None else StormVersion.parse(storm_version)
    policy = Policy(scheduler_of(name, parameters), Known(version), seed=seed)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: ended.set())
    with Bridge(socket, policy, _change_printer()):
        click.echo(f"{policy.scheduler.name} answers at {socket.absolute()}; end it with Ctrl-C", err=True)
        ended.wait()


def _description(storm: LiveStorm) -> list[str]:
    master = storm.host(MASTER)
    lines = [f"Storm {storm.release.version} is running: cluster {storm.token}, Nimbus at {master.address}"]
    for node in storm.cluster.nodes:
        host = storm.host(node.id)
        share = "" if host.cores is None else f", {host.cores:.2f} cores of this machine"
        lines.append(f"  {node.id} at {host.address}, slots {node.ports[0]} to {node.ports[-1]}{share}")
    lines += [f"  not realised: {line}" for line in storm.unrealised]
    if master.namespace is not None:
        lines.append(f"  programs can reach it from: nsenter --net={RUN / master.namespace}")
    lines.append("end it with: storm-lab live down")
    return lines


def _change_printer() -> Callable[[Round], None]:
    """Return a function that prints changes: each move, and each new problem once."""
    last_problem = [""]

    def print_changes(made: Round) -> None:
        for topology in made.moved:
            placed = made.assignment.of_topology(topology)
            workers = with_unit(str(len(placed.workers())), "workers")
            nodes = with_unit(str(len(placed.nodes_used())), "nodes")
            click.echo(f"{topology}: {workers} on {nodes}, in {made.took_ns / 1e6:.1f} ms")
        if made.problem and made.problem != last_problem[0]:
            click.echo(f"kept as it is: {made.problem}", err=True)
        last_problem[0] = made.problem

    return print_changes
