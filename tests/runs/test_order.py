"""The order in which the notebooks of a job start."""

from storm_lab.papers.registry import experiments
from storm_lab.runs.expected import expected_costs
from storm_lab.runs.reproduce import longest_first
from storm_lab.runs.study import Study


def test_the_longest_notebooks_start_first() -> None:
    studies = [Study.of(item.slug) for item in experiments()]
    places = longest_first(studies, range(len(studies)))
    seconds = [expected_costs()[studies[place].experiment.slug].notebook_s for place in places]
    assert seconds == sorted(seconds, reverse=True)
    assert sorted(places) == list(range(len(studies)))
    assert len(set(seconds)) > 1, "a table of equal numbers would prove nothing"
