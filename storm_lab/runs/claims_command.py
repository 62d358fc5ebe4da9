"""The commands ``storm-lab claims`` and ``report``: what the papers print, what was measured, and why."""

from __future__ import annotations

import click

from storm_lab.errors import check_known
from storm_lab.experiments.cause import load_causes
from storm_lab.experiments.claim import Claim
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Basis
from storm_lab.machine.options import answer, examples, json_option, print_json
from storm_lab.machine.places import reports_folder
from storm_lab.reporting.record import claim_rows
from storm_lab.reporting.tally import Standing, standing
from storm_lab.reporting.verdict import Outcome
from storm_lab.runs.completion import complete_claim, complete_experiment
from storm_lab.runs.reproduce import build_report, published_verdicts
from storm_lab.runs.study import verdict_table


@click.command(
    epilog=examples(
        "storm-lab claims",
        "storm-lab claims tstorm-fig6a-speedup",
        "storm-lab claims --paper N-Storm --verdict 'not reproduced' --json",
        "storm-lab claims --verdict open",
    )
)
@click.argument("claim", required=False, metavar="[CLAIM]", shell_complete=complete_claim)
@click.option(
    "--experiment",
    "slug",
    metavar="EXPERIMENT",
    shell_complete=complete_experiment,
    help="Only the claims of this experiment.",
)
@click.option("--paper", metavar="PAPER", help="Only the claims of this paper.")
@click.option("--verdict", metavar="VERDICT", help="Only claims with this verdict or standing, such as open.")
@click.option("--basis", metavar="BASIS", help="Only claims that are fitted, predicted or arithmetic.")
@json_option
def claims(
    claim: str | None,
    slug: str | None,
    paper: str | None,
    verdict: str | None,
    basis: str | None,
    as_json: bool,
) -> None:
    """List what the papers claim and what was measured, or show all about one claim."""
    ledger = load_claims()
    for what, given, known in (
        ("claim", claim, {each.id for each in ledger.claims}),
        ("experiment", slug, {*ledger.owners, *ledger.experiments}),
        ("paper", paper, ledger.papers),
        ("verdict", verdict, {each.value for each in (*Outcome, *Standing)}),
        ("basis", basis, {each.value for each in Basis}),
    ):
        if given is not None:
            check_known(what, given, known, "the ledger of claims")
    causes = load_causes()
    chosen = tuple(
        each
        for each in published_verdicts()
        if claim in (None, each.claim.id)
        and slug in (None, each.claim.owner, each.claim.experiment)
        and paper in (None, each.claim.paper)
        and verdict in (None, each.outcome.value, standing(each, causes.get(each.claim.id)).value)
        and basis in (None, each.basis.value)
    )
    rows = claim_rows(chosen)
    if as_json:
        print_json(rows)
    elif claim is None or not rows:
        click.echo(verdict_table(chosen, "no claim matches all of these"))
    else:
        click.echo(_story(rows[0]))


def _story(row: dict[str, str]) -> str:
    """Everything about one claim, one field per line."""
    claim, cause = load_claims().claim(row["id"]), load_causes().get(row["id"])
    lines = [
        ("claim", claim.id),
        ("paper", f"{claim.paper}, {claim.figure}"),
        ("says", claim.statement),
        ("metric", claim.metric + (f"; against {claim.baseline}" if claim.baseline else "")),
        ("printed", row["expected"]),
        ("band", row["band"]),
        ("measured", row["measured"] or ("" if claim.untestable else "nothing yet")),
        ("verdict", f"{row['verdict']} ({row['basis']})"),
        ("because", row["reason"]),
        ("standing", row["standing"]),
        ("fitted", claim.fitted),
        ("class", row["class"]),
        ("cause", row["cause"]),
        ("evidence", cause.evidence if cause else ""),
        ("reading", row["reading"]),
        ("note", claim.note),
        ("argued", _explanation_link(claim)),
        ("run it", "" if claim.untestable else f"storm-lab run {claim.owner}"),
        ("try it", f"storm-lab run {claim.owner} {row['trial']}" if row["trial"] else ""),
    ]
    return "\n".join(f"{name:>9}  {text}" for name, text in lines if text)


def _explanation_link(claim: Claim) -> str:
    """Link to the place in the executed notebook that explains why the claim is not reproduced, or ``""``."""
    page = reports_folder() / "notebooks" / f"{claim.owner}.html"
    place = f"why-{claim.id}"
    found = page.is_file() and f'id="{place}"' in page.read_text(encoding="utf-8", errors="replace")
    return f"{page}#{place}" if found else ""


@click.command(epilog=examples("storm-lab report"))
@json_option
def report(as_json: bool) -> None:
    """Rebuild reports/index.html from the published verdicts and figures."""
    path = str(build_report())
    answer(as_json, {"report": path}, path)
