"""A report over made-up measurements, for tests only."""

from pathlib import Path

from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Measured, Measurement
from storm_lab.model.constant import Constant
from storm_lab.reporting.figures.saved import save_figure
from storm_lab.reporting.figures.style import About
from storm_lab.reporting.figures.time_series import Event, Panel, time_series
from storm_lab.reporting.record import VerdictFile, write_verdicts
from storm_lab.reporting.report import render_report, write_report
from storm_lab.tuplelog import Problem, RunRefused
from tests.reporting import example_tables as example

CONSTANTS = [
    Constant("local_hop_us", 30.0, "us", 10, 100, "queue hand-off and wake-up of a thread", True),
    Constant("idle_jvm_share", 0.02, "", 0.01, 0.05, "heartbeats, timers, garbage collection", False),
]


def measurement(claim_id: str, share: float) -> Measurement:
    """A measurement at ``share`` of each expected value, or of rising values for an order."""
    claim = load_claims().claim(claim_id)
    if claim.order:
        values = tuple(Measured(float(place), label=label) for place, label in enumerate(claim.labels))
    else:
        middle = [target.expected if target.expected is not None else 1.0 for target in claim.targets]
        values = tuple(
            Measured(share * value, share * value - 1, share * value + 1, target.label)
            for value, target in zip(middle, claim.targets, strict=True)
        )
    return Measurement(claim_id, values, claim.unit, "made up")


def write_example(reports: Path, *, alt: str = "Processing time of both schedulers in three panels") -> Path:
    """Write verdict files, a figure, a notebook and their report to ``reports``; return the report's path."""
    word_count = load_claims().of_experiment("tstorm-word-count")
    shares = [1.0, 0.9, 0.5, -1.0, 1.02]
    measurements = tuple(measurement(claim.id, shares[place % 5]) for place, claim in enumerate(word_count))
    record = VerdictFile("tstorm-word-count", {"gamma": [1, 1.8, 2.2]}, (1, 2, 3), "0" * 64, measurements)
    write_verdicts(reports / "verdicts", record)
    panel = Panel("gamma 1.8", {"Storm default": "storm-default", "T-Storm": "tstorm-g1.8"}, (Event(353.0),))
    figure = time_series(
        example.latency(), [panel], value="processing_mean_ms", unit="processing time, ms",
        about=About(3, 150, "Storm default"), nodes=example.occupancy(), end_s=1000,
    )  # fmt: skip
    save_figure(
        figure,
        reports / "figures" / "tstorm-word-count" / "figure-6.svg",
        title="Word Count, Fig. 6",
        alt=alt,
    )
    notebook = reports / "notebooks" / "tstorm-word-count.html"
    notebook.parent.mkdir(parents=True, exist_ok=True)
    notebook.write_text("<title>notebook</title>", encoding="utf-8")
    folder = Path("tstorm-word-count") / "storm-default-s2"
    damaged = [RunRefused(folder, Problem.TRUNCATED, "roots.parquet has 3 bytes, not 30")]
    return write_report(reports, render_report(reports, constants=CONSTANTS, damaged=damaged))
