"""What the runs with failures say about promises: who is executed how often, and who acts without Nimbus."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Tables, measured, of_run

LOG = "log"
HOLDING = "holding-queue"
FORGETTING = "forgetting-queue"
ACKS_OFF = "acks-off"
NIMBUS_DOWN = "nimbus-down"

STOP_S = 240.0
"""The sources deliver nothing from here on."""
DOWN_FROM_S = 100.0
DOWN_TO_S = 340.0
"""Nimbus is down in between; long enough for every timeout of its own to have passed."""

CLAIMS = ("twitter-nimbus-down", "twitter-p99")
METRICS = ("throughput_10s", "component_throughput_60s", "failures_60s", "control")
"""The metric tables that the notebook and `measure` read."""


class SemanticsTables(Tables, Protocol):
    """The metric tables that are read here."""

    @property
    def throughput_10s(self) -> pd.DataFrame: ...
    @property
    def component_throughput_60s(self) -> pd.DataFrame: ...
    @property
    def failures_60s(self) -> pd.DataFrame: ...
    @property
    def control(self) -> pd.DataFrame: ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of the lines of a run: ``lines`` emitted at all, ``emitted`` with repetitions, ``acked``,
    and ``counted``: executions of the last bolt.
    """

    lines: int
    emitted: int
    acked: int
    counted: int


def delivery(tables: SemanticsTables, variant: str, seed: int) -> Delivery:
    """Lines and executions of a whole run."""
    parts = of_run(tables.component_throughput_60s, variant, seed)

    def total(component: str, column: str) -> int:
        return round(float(parts.loc[parts["component"] == component, column].sum()))

    emitted = total("spout", "emitted")
    replayed = int(of_run(tables.failures_60s, variant, seed)["replayed"].sum())
    acked = int(of_run(tables.throughput_10s, variant, seed)["acked"].sum())
    return Delivery(emitted - replayed, emitted, acked, total("count", "executed"))


@dataclass(frozen=True, slots=True)
class WithoutNimbus:
    """What happened while Nimbus was down, and what after it was back."""

    acked_while_down: int
    reassigned_while_down: int
    reassigned_after: int
    restarted: int


def without_nimbus(tables: SemanticsTables, seed: int) -> WithoutNimbus:
    """The run in which Nimbus, a worker and a machine fail."""
    acks = of_run(tables.throughput_10s, NIMBUS_DOWN, seed)
    down = acks[(acks["t_s"] >= DOWN_FROM_S) & (acks["t_s"] < DOWN_TO_S)]
    events = of_run(tables.control, NIMBUS_DOWN, seed)
    assigned = events[events["action"] == "assign"]
    moved = assigned["detail"].map(lambda detail: int(json.loads(str(detail)).get("moved", 0)))
    at = assigned["time_s"]
    starts = events[
        (events["action"] == "start-worker")
        & (events["time_s"] > DOWN_FROM_S)
        & (events["time_s"] < DOWN_TO_S)
        & events["actor"].astype(str).str.startswith("supervisor:")
    ]
    return WithoutNimbus(
        acked_while_down=int(down["acked"].sum()),
        reassigned_while_down=int(moved[(at > DOWN_FROM_S) & (at < DOWN_TO_S)].sum()),
        reassigned_after=int(moved[at >= DOWN_TO_S].sum()),
        restarted=len(starts),
    )


def measure(tables: SemanticsTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Nimbus down; the production figures are not testable, and acks are checked by the algorithms."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    found = [without_nimbus(tables, seed) for seed in seeds]
    return (
        Measurement(
            "twitter-nimbus-down",
            (
                measured([float(run.acked_while_down) for run in found], label="acked-while-down"),
                measured([float(run.reassigned_while_down) for run in found], label="reassigned-while-down"),
                measured([float(run.reassigned_after) for run in found], label="reassigned-after"),
                measured([float(run.restarted) for run in found], label="restarted-by-supervisors"),
            ),
            "mixed",
            f"Nimbus down from {DOWN_FROM_S:g} to {DOWN_TO_S:g} s, a worker killed 10 s on, a machine 20 s",
        ),
    )
