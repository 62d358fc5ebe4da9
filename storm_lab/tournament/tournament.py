"""A tournament: every entrant on every case of a suite, with paired seeds.

It can be resumed, and no failing run ends it. A run that is refused or fails is kept as a loss with its
reason. If the user's scheduler raises an exception, the reason names its line, and the others continue.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from storm_lab.errors import UserError
from storm_lab.experiments.experiment import RunSpec
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import stage_runs
from storm_lab.machine.process_end import is_sigterm
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.summary import metrics_of
from storm_lab.runs.digest import identity_of
from storm_lab.runs.execute import JOBS, play_all, reused_by_variant
from storm_lab.runs.live_constants import Constants, on_machine
from storm_lab.runs.pool import Advance, Pool
from storm_lab.runs.spark_play import spark_that_finds
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.read_only import read_only
from storm_lab.tournament.league import METRICS, MIN_THROUGHPUT_SHARE, NOTHING_COMPLETED, measured_runs
from storm_lab.tournament.objective import (
    THROUGHPUT,
    TRAFFIC_METRICS,
    excess_percent,
    executor_count,
    is_anchored,
    least_traffic,
    nodes_of,
    objective_of,
    traffic_of,
)
from storm_lab.tournament.quantities import MEASURES
from storm_lab.tournament.suite import Case
from storm_lab.version import __version__

_REPEATS = 3
_REPEAT_BELOW_S = 0.5
_REPEAT_FIRST_BELOW_S = 5.0
"""Longest first answer, in seconds, that is repeated; the first answer includes the scheduler's imports."""
_TOTAL_LIMIT_S = 60.0


class AnswerTime(NamedTuple):
    """How long an answer takes, in ms, and why it does not place everything; empty if it does."""

    ms: float
    refusal: str


@dataclass(frozen=True)
class Tournament:
    """Entrants, cases and seeds, which every entrant plays, optionally with the constants of a machine."""

    entrants: tuple[Entrant, ...]
    cases: tuple[Case, ...]
    seeds: tuple[int, ...]
    machine: Constants | None = None

    def settings(self) -> dict[str, object]:
        """Return what a reader needs to know to play it again: version, seeds, and the schedulers."""
        schedulers = {
            entrant.name: {
                "class": type(entrant.scheduler).__qualname__,
                "version": entrant.scheduler.version,
                "parameters": _parameters(entrant.scheduler),
                "measured_load": entrant.online,
            }
            for entrant in self.entrants
        }
        return {"storm_lab": __version__, "seeds": list(self.seeds), "schedulers": schedulers}

    def specs(self) -> dict[str, tuple[RunSpec, ...]]:
        """Return the runs of each case."""
        return {case.name: on_machine(self._runs(case, self.entrants), self.machine) for case in self.cases}

    def _runs(self, case: Case, entrants: Sequence[Entrant]) -> tuple[RunSpec, ...]:
        return stage_runs(case.stage, entrants, {**case.given, "seeds": list(self.seeds)})

    def play(self, *, jobs: int = JOBS, on_spark: bool = False, show_progress: bool = True) -> pd.DataFrame:
        """Play the missing runs and measure all; return one row per case, entrant and seed.

        Columns: case, group, scheduler, seed, run, those of `MEASURES`, objective (``latency`` or
        ``throughput``: what the case measures), score (smaller is better, infinite for a loss) and problem
        (the reason of a loss, else empty). Raises `StormLabError` if no run succeeded, or there is no Java
        for Spark. An interruption keeps complete runs.
        """
        failures: dict[str, str] = {}
        specs = [spec for own in self.specs().values() for spec in own]
        spark = spark_that_finds(self.entrants) if on_spark else None
        played = play_all(specs, jobs=jobs, spark=spark, show_progress=show_progress, failures=failures)
        reasons = {run: text.splitlines()[0] for run, text in failures.items()}
        if not played:
            raise UserError(f"no run succeeded; first reason: {next(iter(reasons.values()))}")
        print(reused_by_variant(played), file=sys.stderr)
        folders = sorted({run.folder for run in played})
        names = (*METRICS, *TRAFFIC_METRICS)
        tables = metrics_of(folders, spark, names=names, show_progress=show_progress)
        return self.with_answers(self.rows(tables, reasons), jobs=jobs)

    def rows(self, tables: MetricTables, failures: Mapping[str, str]) -> pd.DataFrame:
        """Make the rows of `play` from the metrics of all runs; ``failures`` says why the others failed."""
        names = {"complete_p99_ms": "p99_ms", "unranked": "problem"}
        by_case = self.specs()
        played = [(case, spec, identity_of(spec).run) for case in self.cases for spec in by_case[case.name]]
        # Sources and executors are the same for all entrants and seeds.
        firsts = {case: runs[0].describe(runs[0]) for case, runs in by_case.items()}
        anchored = {run: is_anchored(firsts[case.name]) for case, _, run in played}
        objective = {name: objective_of(first) for name, first in firsts.items()}
        wanted = {run: executor_count(firsts[case.name]) for case, _, run in played}
        measured = measured_runs(tables, anchored, wanted).rename(columns=names).set_index("run")
        measured["per_node"] = measured["throughput"] / measured["nodes"]
        frame = pd.DataFrame(
            [(case.name, case.group, spec.variant, spec.seed, run) for case, spec, run in played],
            columns=["case", "group", "scheduler", "seed", "run"],
        ).join(measured.reindex(columns=[*MEASURES, "problem"]), on="run")
        frame["objective"] = frame["case"].map(objective)
        frame["problem"] = frame["problem"].fillna(frame["run"].map(failures)).fillna("")
        specs = {run: spec for _, spec, run in played}
        frame["excess_percent"] = frame["run"].map(_excess(frame, specs, tables)).astype(float)
        return scored(frame)

    def with_answers(self, rows: pd.DataFrame, *, jobs: int = JOBS) -> pd.DataFrame:
        """Add ``answer_ms`` to the rows, and the reason of a scheduler that refuses to place anything."""
        answers = self.answers(jobs=jobs)
        online = {entrant.name for entrant in self.entrants if entrant.online}
        rows = rows.copy()
        for row in rows.itertuples():
            answer = answers.get((str(row.case), str(row.scheduler), int(str(row.seed))))
            if answer is None:
                continue
            rows.loc[row.Index, "answer_ms"] = answer.ms
            # An online scheduler finds its topologies already placed by another.
            if row.problem == NOTHING_COMPLETED and answer.refusal and row.scheduler not in online:
                rows.loc[row.Index, "problem"] = f"refused to place it: {answer.refusal}"
        return rows

    def answers(self, *, jobs: int = JOBS) -> dict[tuple[str, str, int], AnswerTime]:
        """Time the answers to a cold start on this machine, by case, scheduler and seed.

        The time is the smallest of three if the scheduler is quick. A scheduler that fails on a case has no
        answer there. One that has taken more than a minute in total is asked about no further case, and about
        at most two seeds of the current one. One other process asks all questions, so that a crash does not
        end this one; with ``jobs`` 0, this process asks.
        """
        questions = []
        for case in self.cases:
            # The first view is the same for all entrants.
            views = {run.seed: _view(run) for run in self._runs(case, self.entrants[:1])}
            questions += [_Question(case.name, own.name, own.scheduler, views) for own in self.entrants]
        timer = _AnswerTimer()
        pool = Pool(1, timer, name=lambda question: question.case)
        if jobs and not any(entrant.in_notebook for entrant in self.entrants):
            # A scheduler that crashes the process has lost, as its runs show.
            answered = pool.do(questions, fail=lambda question, error: None)
        else:
            answered = {number: timer(question) for number, question in enumerate(questions)}
        return {
            (*questions[number][:2], seed): answer
            for number, found in answered.items()
            for seed, answer in found.items()
        }


def _parameters(scheduler: Scheduler[Any]) -> dict[str, Any]:
    """Return the parameters; none if the user's ``__init__`` does not call the base class's."""
    found = getattr(scheduler, "parameters", None)
    return asdict(found) if is_dataclass(found) and not isinstance(found, type) else {}


class _Question(NamedTuple):
    """A question about a case to an entrant: the view of each seed."""

    case: str
    entrant: str
    scheduler: Scheduler[Any]
    views: Mapping[int, SchedulingView]


class _AnswerTimer:
    """Asks one question after another and keeps the total time that each entrant has taken."""

    def __init__(self) -> None:
        self._seconds_used: dict[str, float] = {}

    def __call__(self, question: _Question, advance: Advance = lambda share: None) -> dict[int, AnswerTime]:
        found: dict[int, AnswerTime] = {}
        for number, (seed, view) in enumerate(question.views.items()):
            used_s = self._seconds_used.get(question.entrant)
            # A second answer shows the spread, however long the first one took.
            if number != 1 and used_s is not None and used_s > _TOTAL_LIMIT_S:
                break
            repeat_below_s = _REPEAT_FIRST_BELOW_S if used_s is None else _REPEAT_BELOW_S
            try:
                times, answer = _timed_answer(question.scheduler, view, repeat_below_s)
                found[seed] = AnswerTime(1000 * min(times), _refusal(answer))
            except (Exception, SystemExit) as error:
                if is_sigterm(error):
                    raise
                # A loss, as its runs show.
                break
            self._seconds_used[question.entrant] = (used_s or 0.0) + sum(times)
        return found


def _timed_answer(
    scheduler: Scheduler[Any], view: SchedulingView, repeat_below_s: float
) -> tuple[list[float], SchedulingResult]:
    """Return the seconds of each answer, and the last one; quick schedulers answer several times."""
    # Done before the clock starts, and for all schedulers alike.
    view = read_only(view)
    times: list[float] = []
    while len(times) < _REPEATS and sum(times) < repeat_below_s:
        fresh = deepcopy(scheduler)
        began = time.perf_counter()
        answer = fresh.schedule(view)
        times.append(time.perf_counter() - began)
    return times, answer


def _refusal(answer: SchedulingResult) -> str:
    """Return the messages of the topologies that are not scheduled, as one line."""
    refused = (s.message or "no reason given" for s in answer.status.values() if not s.scheduled)
    return " ".join("; ".join(dict.fromkeys(refused)).split())


def _view(spec: RunSpec) -> SchedulingView:
    """Return the first view that a scheduler gets in a run."""
    run = spec.describe(spec)
    topologies = tuple(plan.topology for plan in run.topologies)
    return SchedulingView(topologies, run.cluster, run.version, seed=run.seed)


def _excess(rows: pd.DataFrame, specs: Mapping[str, RunSpec], tables: MetricTables) -> dict[str, float]:
    """Return, by run, the excess of its placement over the least inter-node traffic, where that is proven."""
    found: dict[str, float] = {}
    for _, runs in rows[rows["problem"] == ""].groupby("case", sort=False)["run"]:
        traffic = traffic_of(tables, runs.iloc[0])
        least = least_traffic(_view(specs[runs.iloc[0]]), traffic)
        if least is not None:
            found |= {run: excess_percent(traffic, nodes_of(tables, run), least) for run in runs}
    return found


def scored(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with ``score``, the number by which schedulers are ranked on a case.

    It is the latency if the case's ``objective`` is, and then a run that completes fewer than nine tenths of
    the most tuples loses, because a scheduler that drops load is quick. Otherwise the score is the reciprocal
    of the throughput. A loss is infinite.
    """
    rows = rows.copy()
    rows["score"] = np.inf
    for _, own in rows.groupby("case", sort=False):
        good = own[own["problem"] == ""]
        if own["objective"].iloc[0] == THROUGHPUT:
            rows.loc[good.index, "score"] = 1.0 / good["throughput"]
            continue
        rows.loc[good.index, "score"] = good["complete_ms"]
        most = good.groupby("scheduler")["throughput"].mean().max()
        slow = good.index[good["throughput"] < MIN_THROUGHPUT_SHARE * most]
        rows.loc[slow, "score"] = np.inf
        rows.loc[slow, "problem"] = "completes fewer than nine tenths of the most tuples"
    return rows


def score_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean score over seeds, cases by schedulers; a loss with one seed is a loss of the case.

    Cases that no scheduler finished are left out.
    """
    table = rows.pivot_table(index="case", columns="scheduler", values="score", aggfunc="mean", sort=False)
    finished: pd.DataFrame = table[np.isfinite(table.to_numpy()).any(axis=1)]
    return finished[list(dict.fromkeys(rows["scheduler"]))]
