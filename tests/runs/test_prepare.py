"""All runs of several studies at once, and their metrics in one Spark session that notebooks do not need."""

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from storm_lab.experiments.experiment import Experiment, Settling
from storm_lab.experiments.parameter import Parameters, seed_parameter
from storm_lab.machine.places import DATA_VARIABLE
from storm_lab.pipeline.summary import await_metrics, computation_order, missing_metrics, store_metrics
from storm_lab.runs import execute
from storm_lab.runs.prepare import prepare
from storm_lab.runs.study import Study
from tests.runs import tiny_runs
from tests.runs.tiny_runs import spec

ROOT = Path(__file__).resolve().parents[2]


def settled_study() -> Study:
    """The first seed has both tables, two further ones only the events."""
    own = replace(
        study("settled").experiment,
        parameters=(seed_parameter("seeds", (1,)),),
        runs=lambda parameters: tuple(spec("a", tiny_runs.quick, seed) for seed in parameters.seeds),
        settling=(Settling(claims=("none",), seeds=3, metrics=("events",)),),
    )
    return Study(own, own.checked())


def study(slug: str, *seeds: int) -> Study:
    experiment = Experiment(
        slug, "T-Storm", "tiny", "none", (), "none.ipynb", ("events", "steady"),
        runs=lambda parameters: tuple(spec("a", tiny_runs.quick, seed) for seed in seeds),
        measure=lambda tables, parameters: (),
    )  # fmt: skip
    return Study(experiment, Parameters({}))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    return tmp_path


def test_every_study_gets_its_own_runs_back(data: Path) -> None:
    said: list[str] = []
    studies = [study("one", 1, 2), study("none"), study("two", 3)]
    prepared = prepare(studies, side_tasks={}, say=said.append)
    assert [[run.spec.seed for run in own] for own in prepared.runs] == [[1, 2], [], [3]]
    assert all(run.folder.is_relative_to(data) and run.seconds > 0 for own in prepared.runs for run in own)
    assert said == ["one: 2 runs, 2 of them new", "none: 0 runs, 0 of them new", "two: 1 runs, 1 of them new"]
    assert prepared.metrics_s == 0.0


def test_the_cost_of_a_shared_run_counts_for_both_studies_and_of_an_existing_run_for_none(data: Path) -> None:
    studies = [study("one", 1, 2), study("two", 2, 3)]
    prepared = prepare(studies, side_tasks={})
    seconds = {run.spec.seed: run.seconds for own in prepared.runs for run in own}
    first, second = prepared.cost_of(0, 5.0), prepared.cost_of(1, 5.0)
    assert first is not None and second is not None
    assert first.emulation_s == pytest.approx(seconds[1] + seconds[2])
    assert second.emulation_s == pytest.approx(seconds[2] + seconds[3])
    assert (first.notebook_s, first.metrics_s) == (5.0, 0.0)
    assert prepare(studies, side_tasks={}).cost_of(0, 5.0) is None


def test_side_tasks_run_meanwhile_and_a_failure_is_reported_for_its_study(data: Path) -> None:
    told: list[object] = []
    prepared = prepare(
        [study(slug) for slug in ("one", "two", "three", "four")],
        side_tasks={0: partial(tiny_runs.give, "a"), 2: tiny_runs.refuse, 3: partial(tiny_runs.give, "b")},
        on_side_progress=lambda place, share: told.append((place, share)),
        on_side_failure=lambda place, error: told.append((place, str(error))),
    )
    assert prepared.side_results == {0: "a", 3: "b"}
    assert {(0, 1.0), (2, "told"), (3, 1.0)} <= set(told)


@pytest.mark.slow
@pytest.mark.spark
def test_reading_prepared_metrics_needs_no_spark(data: Path) -> None:
    prepared = prepare([study("one", 1, 2), study("two", 3)])
    costs = [prepared.cost_of(place, 0.0) for place in (0, 1)]
    assert sum(cost.metrics_s for cost in costs if cost) == pytest.approx(prepared.metrics_s)
    assert all(cost and cost.metrics_s > 0 for cost in costs)
    folders = [str(run.folder) for own in prepared.runs for run in own]
    script = (
        "import sys; from pathlib import Path; from storm_lab.pipeline.summary import metrics_of\n"
        "tables = metrics_of(list(map(Path, sys.argv[1:])), names=('steady', 'events'))\n"
        "print(len(tables.runs), len(tables.steady), 'pyspark' in sys.modules)"
    )
    command = [sys.executable, "-c", script, *folders]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["3", "3", "False"]
    assert prepare([study("one", 1, 2)]).metrics_s == 0.0, "nothing is left to compute"


@pytest.mark.slow
@pytest.mark.spark
def test_runs_that_settle_a_claim_have_the_tables_that_it_needs(data: Path) -> None:
    own = settled_study()
    (runs,) = prepare([own]).runs
    assert [run.spec.seed for run in runs] == [1, 2, 3]
    folders = [run.folder for run in runs]
    both = dict.fromkeys(folders, ("events", "steady"))
    assert missing_metrics(both) == dict.fromkeys(folders[1:], ("steady",))
    for _ in ("kept less", "kept all"):
        tables = own.metrics()
        assert [list(table["seed"]) for table in (tables.runs, tables.steady)] == [[1, 2, 3], [1]]
        # Computing more tables does not change what the study reads.
        store_metrics(both)
    assert missing_metrics(both) == {}


def test_a_reader_waits_for_metrics_only_while_they_are_being_computed(tmp_path: Path) -> None:
    over = tmp_path / "over"
    looks: list[bool] = []

    def ended() -> bool:
        looks.append(over.exists())
        over.touch()
        return looks[-1]

    run = execute.play(execute.PlannedRun.of(spec("a", tiny_runs.quick), tmp_path / "runs"))
    await_metrics({run: ("steady",)}, ended)
    assert looks == [False, True], "nobody computes them"
    await_metrics({run: ()}, lambda: False)


def test_runs_are_numbered_in_the_order_in_which_their_metrics_are_computed() -> None:
    wanted = {Path("b"): ("steady",), Path("a"): ("events",), Path("c"): ("events",)}
    assert computation_order(wanted) == {Path("a"): 0, Path("b"): 1, Path("c"): 0}
