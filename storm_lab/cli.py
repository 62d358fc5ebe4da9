"""The command ``storm-lab``.

What a user did wrong is one line on stderr and exit status 2; other failures of a run are status 1; Ctrl-C is
130. Heavy modules are imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

import click

from storm_lab.errors import StormLabError
from storm_lab.papers.parameter import unknown_name
from storm_lab.version import __version__

if TYPE_CHECKING:
    from storm_lab.papers.experiment import Experiment
    from storm_lab.runs.reproduce import Reproduced
    from storm_lab.runs.study import Study

_ELSEWHERE = {
    "schedule": ("storm_lab.schedulers.commands", "Schedule cases, one JSON object a line."),
    "explain": ("storm_lab.schedulers.commands", "Show why each executor got its slot."),
    "sweep": ("storm_lab.runs.sweep_command", "Run an experiment over parameters, schedulers and seeds."),
    "calibrate": ("storm_lab.calibration.command", "Fit the constants of the cost model."),
}
"""Commands that live with their subject: the modules that hold them under their names, and what they do."""


class _Commands(click.Group):
    """A group with commands of other modules, imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_elsewhere()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _elsewhere():
            return super().get_command(ctx, cmd_name)
        command = getattr(import_module(_ELSEWHERE[cmd_name][0]), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Not through get_command: a help page must not import the schedulers.
        helps = {name: command.get_short_help_str(60) for name, command in self.commands.items()}
        helps |= {name: _ELSEWHERE[name][1] for name in _elsewhere()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(helps.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise unknown_name("command", args[0], self.list_commands(ctx), "storm-lab")
        return super().resolve_command(ctx, args)


def _elsewhere() -> list[str]:
    return [name for name, (module, _) in _ELSEWHERE.items() if _exists(module)]


class _Benches(click.Group):
    """A group with the command of every module of `storm_lab.bench`, under the module's name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        spec = find_spec("storm_lab.bench")
        folders = list(spec.submodule_search_locations or []) if spec else []
        return sorted(
            item.name.replace("_", "-") for item in pkgutil.iter_modules(folders) if item.name[0] != "_"
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            raise unknown_name("bench", cmd_name, self.list_commands(ctx), "storm-lab")
        module = import_module(f"storm_lab.bench.{cmd_name.replace('-', '_')}")
        return next((item for item in vars(module).values() if isinstance(item, click.Command)), None)


def _examples(*lines: str) -> str:
    """Text for the end of a help page; click leaves it as it stands."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_examples(
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


_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
_jobs = click.option(
    "--jobs", default=2, show_default=True, type=click.IntRange(1, 64), help="Emulations at a time."
)
_fresh = click.option("--fresh", is_flag=True, help="Play and execute again what is there already.")


@cli.command(
    "list", epilog=_examples("storm-lab list", "storm-lab list tstorm-word-count", "storm-lab list --json")
)
@click.argument("slug", metavar="[EXPERIMENT]", required=False)
@_json
def list_experiments(slug: str | None, as_json: bool) -> None:
    """List the experiments, or the parameters of one."""
    from storm_lab.papers.registry import experiment, experiments

    chosen = (experiment(slug),) if slug else experiments()
    if as_json:
        click.echo(json.dumps([_described(item) for item in chosen], indent=1, ensure_ascii=False))
    elif slug:
        click.echo(f"{chosen[0].slug}: {chosen[0].title} ({chosen[0].paper}, {chosen[0].figure})\n")
        for parameter in chosen[0].parameters:
            allowed = ", ".join(part for part in (parameter.type_name, parameter.range_text) if part)
            click.echo(f"  {parameter.name} = {_text(parameter.default)}  [{allowed}]\n      {parameter.doc}")
    else:
        width = max(len(item.slug) for item in chosen)
        for item in chosen:
            click.echo(
                f"{item.slug:{width}}  {item.title} ({item.paper}, {item.figure}; {len(item.claims)} claims)"
            )


@cli.command(
    epilog=_examples(
        "storm-lab run tstorm-word-count",
        "storm-lab run tstorm-word-count -p gammas=1,1.4,1.8 -p lines_per_s=150",
        "storm-lab run tstorm-word-count -p text=my_novel.txt --emulate-only",
    )
)
@click.argument("slug", metavar="EXPERIMENT")
@click.option(
    "-p", "--param", "parameters", metavar="NAME=VALUE", multiple=True, help="Set a parameter; repeatable."
)
@click.option("--emulate-only", is_flag=True, help="Play the emulations and stop before the notebook.")
@_jobs
@_fresh
@_json
def run(
    slug: str, parameters: tuple[str, ...], emulate_only: bool, jobs: int, fresh: bool, as_json: bool
) -> None:
    """Run one experiment with parameters of your own.

    With the defaults the results go to reports/, else into a folder that is named at the end.
    """
    from storm_lab.papers.registry import experiment
    from storm_lab.runs.study import Study

    found = experiment(slug)
    study = Study(found, found.parsed(parameters))
    if emulate_only:
        played = study.play(jobs=jobs, show_progress=True, fresh=fresh)
        rows = [
            {"variant": p.spec.variant, "seed": p.spec.seed, "folder": str(p.folder), "reused": p.reused}
            for p in played
        ]
        click.echo(json.dumps(rows, indent=1) if as_json else "\n".join(row["folder"] for row in rows))  # type: ignore[misc]
        return
    (done,) = _reproduced((study,), jobs, fresh)
    _print_outcome(done, as_json)


@cli.command(epilog=_examples("storm-lab reproduce", "storm-lab reproduce tstorm-word-count"))
@click.argument("slugs", metavar="[EXPERIMENT]...", nargs=-1)
@click.option("--no-notebooks", is_flag=True, help="Play the emulations, compute the metrics and stop there.")
@_jobs
@_fresh
def reproduce(slugs: tuple[str, ...], no_notebooks: bool, jobs: int, fresh: bool) -> None:
    """Reproduce all experiments, or some, and write the report.

    What is there and current is kept: a second time takes seconds, and after an interruption it goes on.
    """
    from storm_lab.runs.reproduce import build_report, published_verdicts, studies
    from storm_lab.runs.study import verdict_table

    chosen = studies(slugs)
    if no_notebooks:
        from storm_lab.runs.prepare import prepare

        prepare(chosen, jobs=jobs, show_progress=True, fresh=fresh, say=_say)
        return
    _reproduced(chosen, jobs, fresh)
    page = build_report()
    claims = {claim for study in chosen for claim in study.experiment.claims}
    click.echo(verdict_table(tuple(v for v in published_verdicts() if v.claim.id in claims)))
    click.echo(f"\nreport: {page}")


@cli.command(epilog=_examples("storm-lab report"))
def report() -> None:
    """Write reports/index.html anew from the published verdicts and figures."""
    from storm_lab.runs.reproduce import build_report

    click.echo(build_report())


@cli.command(
    epilog=_examples(
        "storm-lab claims", "storm-lab claims --experiment tstorm-word-count", "storm-lab claims --json"
    )
)
@click.option("--experiment", "slug", metavar="EXPERIMENT", help="Only the claims of this experiment.")
@_json
def claims(slug: str | None, as_json: bool) -> None:
    """List what the papers claim and what came out."""
    from storm_lab.papers.ledger import load_claims
    from storm_lab.reporting.record import claim_rows
    from storm_lab.runs.reproduce import published_verdicts
    from storm_lab.runs.study import verdict_table

    ledger = load_claims()
    names = tuple(dict.fromkeys((*ledger.owners, *ledger.experiments)))
    if slug is not None and slug not in names:
        raise unknown_name("experiment", slug, names, "the ledger of claims")
    chosen = tuple(v for v in published_verdicts() if slug in (None, v.claim.owner, v.claim.experiment))
    if as_json:
        click.echo(json.dumps(claim_rows(chosen), indent=1, ensure_ascii=False))
    else:
        click.echo(verdict_table(chosen))


@cli.command(epilog=_examples("storm-lab doctor"))
@_json
def doctor(as_json: bool) -> None:
    """Tell what this machine has and what is wrong with it; exit status 1 when something will not work."""
    from storm_lab.platform.doctor import run_checks

    findings = run_checks()
    if as_json:
        rows = [
            {"level": f.level, "subject": f.subject, "text": f.text, "remedy": f.remedy or ""}
            for f in findings
        ]
        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        for finding in findings:
            remedy = f" -> {finding.remedy}" if finding.remedy else ""
            click.echo(f"{finding.level:4}  {finding.subject}: {finding.text}{remedy}")
    if any(finding.level == "fail" for finding in findings):
        sys.exit(1)


@cli.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog=_examples("storm-lab lab", "storm-lab lab --no-browser --port 8890"),
)
@click.pass_context
def lab(context: click.Context) -> NoReturn:
    """Open JupyterLab on the notebooks; further options go to JupyterLab."""
    from storm_lab.runs.notebook import notebooks_folder

    folder = notebooks_folder()
    # Works without a network: no look for newer versions or news.
    quiet = ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.news_url=None"]
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}", *quiet, *context.args]
    sys.stdout.flush()
    os.execv(sys.executable, command)


@cli.group(cls=_Benches, epilog=_examples("storm-lab bench --help"))
def bench() -> None:
    """Measure the tools and the emulator itself."""


def _reproduced(studies: tuple[Study, ...], jobs: int, fresh: bool) -> tuple[Reproduced, ...]:
    from storm_lab.runs.reproduce import reproduce as reproduce_studies

    return reproduce_studies(studies, jobs=jobs, show_progress=True, fresh=fresh, say=_say)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _print_outcome(done: Reproduced, as_json: bool) -> None:
    from storm_lab.papers.ledger import load_claims
    from storm_lab.reporting.record import claim_rows, read_verdicts
    from storm_lab.reporting.verdict import judge
    from storm_lab.runs.study import verdict_table

    experiment = done.study.experiment
    record = read_verdicts(done.verdicts)
    found = {measurement.claim_id: measurement for measurement in record.measurements}
    ledger = load_claims()
    verdicts = tuple(judge(ledger.claim(claim), found.get(claim)) for claim in experiment.claims)
    if as_json:
        answer = {"notebook": str(done.notebook), "reused": done.reused, "claims": claim_rows(verdicts)}
        click.echo(json.dumps(answer, indent=1, ensure_ascii=False))
    else:
        click.echo(verdict_table(verdicts))
        click.echo(f"\nnotebook: {done.notebook.with_suffix('.html')}")


def _described(experiment: Experiment) -> dict[str, Any]:
    return {
        "slug": experiment.slug,
        "paper": experiment.paper,
        "title": experiment.title,
        "figure": experiment.figure,
        "claims": list(experiment.claims),
        "parameters": [
            {
                "name": parameter.name,
                "default": parameter.default,
                "type": parameter.type_name,
                "unit": parameter.unit,
                "low": parameter.low,
                "high": parameter.high,
                "choices": list(parameter.choices),
                "doc": parameter.doc,
            }
            for parameter in experiment.parameters
        ],
    }


def _text(value: object) -> str:
    return ",".join(f"{item:g}" for item in value) if isinstance(value, tuple) else str(value)


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the program: runs a command and turns what it raises into an exit status."""
    # Asked to end, unwind like Ctrl-C does: half-written runs are removed on the way out.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        status = cli.main(
            args=None if arguments is None else list(arguments), prog_name="storm-lab", standalone_mode=False
        )
    except (click.Abort, KeyboardInterrupt):
        click.echo(
            "storm-lab: interrupted; what is whole is kept, the same command goes on from there", err=True
        )
        sys.exit(130)
    except click.ClickException as error:
        click.echo(f"storm-lab: {' '.join(error.format_message().split())}", err=True)
        sys.exit(error.exit_code)
    except StormLabError as error:
        click.echo(f"storm-lab: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        # A folder that is none or may not be written to, a full disk: for the user to put right.
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"storm-lab: {where}{error.strerror or error}", err=True)
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
