"""The command ``storm-lab``.

An error of the user is one line on stderr with exit status 2; other failures exit with 1, Ctrl-C with 130.
Commands are defined beside their subjects and imported when they are called, so that ``--help`` is quick.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click
from click.shell_completion import CompletionItem, get_completion_class

from storm_lab.errors import StormLabError, explained
from storm_lab.machine.options import Commands, examples, json_option
from storm_lab.machine.process_end import is_sigterm
from storm_lab.runs.pool import quiet_gateway
from storm_lab.version import __version__

_ELSEWHERE = {
    "list": ("runs.list_command", "List the experiments, or the parameters or runs of one."),
    "run": ("runs.reproduce_command", "Run one experiment with parameters of your own."),
    "reproduce": ("runs.reproduce_command", "Reproduce all experiments, or some, and write the report."),
    "report": ("runs.claims_command", "Rebuild reports/index.html."),
    "figures": ("runs.figures_command", "Write an experiment's figures as SVG, PNG or PDF."),
    "claims": ("runs.claims_command", "List what the papers claim and what was measured."),
    "import": (
        "workloads.importers.command",
        "Read a topology written for Storm: Flux, streamparse, UI pages.",
    ),
    "advise": ("advice.command", "Advise on placement and settings of a topology."),
    "trace": ("runs.trace_command", "Export a run for Chrome's trace viewer or Perfetto."),
    "schedule": ("schedulers.cases.commands", "Schedule cases, given as one JSON object per line."),
    "explain": ("schedulers.cases.commands", "Show why each executor got its slot."),
    "sweep": ("runs.sweep_command", "Run an experiment over parameters, schedulers and seeds."),
    "new": ("league.starter", "Create a file for a scheduler of your own."),
    "league": ("tournament.commands", "Rank schedulers on many topologies and machines."),
    "compare": ("tournament.commands", "Test whether one scheduler is better than another."),
    "live": ("runs.live_command", "Run real Apache Storm, on the same inputs as the emulator."),
    "init": ("runs.lab", "Create a workspace with notebooks of your own."),
    "lab": ("runs.lab", "Open JupyterLab on working copies of the notebooks."),
    "calibrate": ("calibration.command", "Fit the constants of the cost model."),
    "recordings": ("calibration.command", "Predict recorded runs of a cluster."),
}
"""Commands defined elsewhere in the package: the module that holds each, and its short help."""

_COMPLETE = "_STORM_LAB_COMPLETE"
"""Environment variable by which a shell asks for completions; click derives it from the program's name."""


class _Commands(Commands):
    """A group that imports the commands of other modules when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        return _command_in(_ELSEWHERE[cmd_name][0], cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Without get_command, because a help page must not import the schedulers.
        helps = {name: command.get_short_help_str(60) for name, command in self.commands.items()}
        helps |= {name: what for name, (_, what) in _ELSEWHERE.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(helps.items()))

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of the output, such as `head`, has closed the pipe. Click would exit with 1, which
            # means a failure, and Python would complain again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(128 + signal.SIGPIPE) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # Without get_command, as above.
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [*map(CompletionItem, names), *click.Command.shell_complete(self, ctx, incomplete)]


class _Benches(Commands):
    """A group with one command for every module of `storm_lab.bench`, named after the module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        folder = Path(__file__).parent / "bench"
        return sorted(path.stem.replace("_", "-") for path in folder.glob("[!_]*.py"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = cmd_name in self.list_commands(ctx)
        return _command_in(f"bench.{cmd_name.replace('-', '_')}", cmd_name) if known else None


def _command_in(module: str, name: str) -> click.Command:
    defined = vars(import_module(f"storm_lab.{module}")).values()
    return next(item for item in defined if isinstance(item, click.Command) and item.name == name)


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "storm-lab list",
        "storm-lab reproduce tstorm-word-count",
        "storm-lab run tstorm-word-count -p gammas=1,2",
    ),
)
@click.version_option(__version__, prog_name="storm-lab")
@click.pass_context
def cli(context: click.Context) -> None:
    """Re-run the experiments of five papers on Apache Storm, without a cluster."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command(epilog=examples("storm-lab doctor"))
@json_option
def doctor(as_json: bool) -> None:
    """Check whether this machine has what storm-lab needs.

    Exit status 1 if something will not work.
    """
    # Every command imports what it needs, so that help is shown at once.
    from storm_lab.machine.doctor import print_findings, run_checks

    print_findings(run_checks(), as_json)


@cli.command(epilog=examples('eval "$(storm-lab completion bash)"', "storm-lab completion fish | source"))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script for a shell to complete storm-lab.

    It completes commands, options and experiments.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "storm-lab", _COMPLETE).source())


@cli.group(cls=_Benches, epilog=examples("storm-lab bench --help"))
def bench() -> None:
    """Measure the tools and the emulator themselves."""


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """On SIGTERM unwind as on Ctrl-C, so that incomplete runs are removed; later ones do not disturb that."""
    # Unlike SIG_IGN, a function is not inherited by the programs that the clean-up starts.
    signal.signal(number, lambda number, frame: None)
    sys.exit(128 + number)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and turn the exception that it raises into an exit status; the program's entry point."""
    quiet_gateway()
    signal.signal(signal.SIGTERM, _end)
    try:
        status = cli.main(args=arguments, prog_name="storm-lab", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        message = "interrupted; complete results are kept, and the same command continues from them"
        click.echo(f"storm-lab: {message}", err=True)
        sys.exit(130)
    except SystemExit as error:
        if is_sigterm(error):
            click.echo("storm-lab: ended by a signal (SIGTERM); complete results are kept", err=True)
        raise
    except click.ClickException as error:
        text = error.format_message()
        # A group without a command; click 8.1 prints its help page itself.
        is_help = isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ()))
        click.echo(text if is_help else f"storm-lab: {' '.join(text.split())}", err=True)
        sys.exit(error.exit_code)
    except Exception as error:
        told = explained(error)
        if told is None and isinstance(error, OSError):
            # For example a missing or read-only folder, or a full disk, which the user can put right.
            where = f"{error.filename}: " if error.filename else ""
            told = StormLabError(_without_current_folder() or f"{where}{error.strerror or error}")
        if told is None:
            raise
        click.echo(f"storm-lab: {told}", err=True)
        sys.exit(told.exit_code)
    sys.exit(status if isinstance(status, int) else 0)


def _without_current_folder() -> str | None:
    """Message if the current folder has been deleted, which the system's errors do not name; else None."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "the current folder no longer exists; change to another one"
    return None


if __name__ == "__main__":
    main()
