"""A league of schedulers: one topology and cluster under each, and one table with intervals over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storm_lab.errors import UserError
from storm_lab.experiments.parameter import Parameters
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import Stage, stage_parameters, stage_runs
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.summary import metrics_of
from storm_lab.runs.execute import JOBS, PlayedRun, play_all, reused_by_variant
from storm_lab.runs.live_constants import MachineConstants, on_machine
from storm_lab.tournament.table import COLUMNS, league_table, results

__all__ = ["COLUMNS", "League", "league_table", "results"]


@dataclass(frozen=True, slots=True)
class League:
    """Entrants, the stage on which they all run, and its parameters."""

    entrants: tuple[Entrant, ...]
    stage: Stage
    parameters: Parameters
    machine: MachineConstants | None = None

    @classmethod
    def of(
        cls,
        entrants: Sequence[Entrant],
        stage: Stage,
        given: Mapping[str, object] | None = None,
        machine: MachineConstants | None = None,
    ) -> League:
        """A league on a stage, with some of its parameters set, and a measured machine's constants if given.

        A stage is `storm_lab.league.reader_site.Site`, or one of a paper, such as T-Storm's Word Count on
        its ten blades (`storm_lab.papers.tstorm.word_count_stage.STAGE`).

        Raises:
            UserError: two entrants of one name, or a parameter that does not fit.
        """
        names = [entrant.name for entrant in entrants]
        for name in names:
            if names.count(name) > 1:
                raise UserError("two entrants have this name", field="name", value=name, remedy="rename one")
        return cls(tuple(entrants), stage, stage_parameters(stage, given or {}), machine)

    def play(self, *, show_progress: bool = False) -> tuple[PlayedRun, ...]:
        """Have all runs on disk, and say on stderr how many lay there already.

        Schedulers written in a notebook play in this process.

        Raises:
            StormLabError: a run is refused or fails.
        """
        played: list[PlayedRun] = []
        for entrants, jobs in (
            ([e for e in self.entrants if not e.in_notebook], JOBS),
            ([e for e in self.entrants if e.in_notebook], 0),
        ):
            runs = on_machine(stage_runs(self.stage, entrants, self.parameters), self.machine)
            played += play_all(runs, jobs=jobs, show_progress=show_progress)
        if any(run.reused for run in played):
            # A result, not a complaint: notebooks show what goes to stderr as one.
            print(reused_by_variant(played))
        return tuple(played)

    def metrics(self) -> MetricTables:
        """The metric tables of all runs, through PySpark.

        Raises:
            StormLabError: as `play`, or there is no Java for Spark.
        """
        return metrics_of([run.folder for run in self.play()])
