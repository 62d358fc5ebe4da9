"""The order in which the notebooks of a job start, and what all experiments together cost."""

import pytest

from storm_lab.papers.registry import experiments
from storm_lab.runs.expected import expected_costs
from storm_lab.runs.reproduce import costs_together, longest_first
from storm_lab.runs.study import Study


def test_the_longest_notebooks_start_first() -> None:
    studies = [Study.of(item.slug) for item in experiments()]
    places = longest_first(studies, range(len(studies)))
    seconds = [expected_costs()[studies[place].experiment.slug].notebook_s for place in places]
    assert seconds == sorted(seconds, reverse=True)
    assert sorted(places) == list(range(len(studies)))
    assert len(set(seconds)) > 1, "a table of equal numbers would prove nothing"


def test_runs_that_two_experiments_share_cost_time_once() -> None:
    alone, sharing = (Study.of(f"nstorm-{name}") for name in ("multi-migration", "delayed-kill"))
    first, second = (expected_costs()[study.experiment.slug] for study in (alone, sharing))
    keys, others = ({spec.key for spec in study.specs()} for study in (sharing, alone))
    assert keys & others, "an example without shared runs would prove nothing"
    assert costs_together([alone, Study.of("tstorm-log-stream")])[0] == first
    own = len(keys - others) / len(keys)
    assert costs_together([alone, sharing])[1].emulation_s == pytest.approx(second.emulation_s * own)
    assert costs_together([sharing])[0] == second
