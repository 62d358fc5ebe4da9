"""What JupyterLab shows: graphs and tables of the project's objects, with everything in them escaped."""

import xml.etree.ElementTree as ElementTree
from importlib import import_module
from typing import Any

from IPython.core.formatters import DisplayFormatter

import storm_lab
from storm_lab.model import Assignment, Cluster, Component, Executor, Node, Slot, Subscription, Topology
from storm_lab.reporting import display
from storm_lab.schedulers import SchedulingResult, SchedulingView, TopologyStatus
from storm_lab.schedulers.ask import ask

CHAIN = Topology(
    id="chain",
    workers=2,
    components=(
        Component("spout", 2, outputs={"default": ("word",)}),
        Component("split", 3, inputs=(Subscription("spout"),), outputs={"default": ("word",)}),
        Component("<count>", 1, inputs=(Subscription("split"), Subscription("<count>"))),
    ),
)


def _formatters() -> dict[str, Any]:
    formatters: dict[str, Any] = DisplayFormatter().formatters
    display.show_richly(formatters["text/html"])
    return formatters


def _html(thing: object) -> str:
    return str(_formatters()["text/html"](thing))


def test_a_topology_is_drawn_from_left_to_right_and_cycles_do_not_hang() -> None:
    root = ElementTree.fromstring(display.topology_svg(CHAIN))
    boxes = [float(box.get("x", 0)) for box in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert boxes == sorted(boxes)
    assert len(set(boxes)) == 3


def test_names_cannot_become_markup() -> None:
    shown = _html(CHAIN)
    assert "<count>" not in shown
    assert "&lt;count&gt;" in shown


def test_an_assignment_has_a_row_for_each_worker() -> None:
    first, second = Executor("chain", "spout", 1, 1), Executor("chain", "split", 3, 3)
    assignment = Assignment({first: Slot("n1", 6700), second: Slot("n1", 6700)})
    shown = _html(assignment)
    assert "2 executors in 1 worker on 1 node" in shown
    assert shown.count("<tr>") == 2
    result = SchedulingResult(assignment, {"chain": TopologyStatus(True, "all placed")})
    assert "all placed" in _html(result)


def test_a_cluster_of_many_nodes_is_shortened_and_says_so() -> None:
    cluster = Cluster(tuple(Node(f"n{number}") for number in range(display.MOST_ROWS + 5)))
    assert "and 5 more" in _html(cluster)


def test_classes_are_registered_with_ipython_under_names_that_exist() -> None:
    known = _formatters()["text/html"].deferred_printers
    assert len(known) >= 5
    for module, name in known:
        assert hasattr(import_module(module), name)


def test_objects_are_shown_as_an_html_table_or_one_short_line() -> None:
    site = storm_lab.example_site(50.0)
    scheduler = storm_lab.make_scheduler("rstorm")
    view = SchedulingView((site.plan.topology,), site.cluster, version=site.version, explain=True)
    result = ask(scheduler, view)
    league = storm_lab.League.of([storm_lab.Entrant("one", scheduler)], site, {"seeds": [1]})
    study = storm_lab.Study.of("tstorm-word-count")
    formatters = _formatters()
    for each in (site.plan.topology, site.cluster, site, result.decisions[0], league, study):
        assert "<table>" in formatters["text/html"](each)
        line = formatters["text/plain"](each)
        assert line.startswith(f"<{type(each).__name__} ")
        assert len(line) < 200
    assert formatters["text/plain"]([result.assignment]) == "[<Assignment 8 executors in 1 worker on 1 node>]"
    assert "one" in formatters["text/plain"](league)


def test_a_figure_is_shown_as_png_without_configuring_matplotlib() -> None:
    figure = storm_lab.time_series  # Drawing functions import matplotlib.
    assert callable(figure)
    picture, about = _formatters()["image/png"](import_module("matplotlib.figure").Figure())
    assert picture.startswith(b"\x89PNG")
    assert about["width"] > 100


def test_tab_completion_offers_no_names_that_the_package_only_imports() -> None:
    assert not {"Any", "import_module", "sys"} & set(dir(storm_lab))


def test_every_public_name_of_the_package_exists_and_is_documented() -> None:
    for name in storm_lab.__all__:
        found = getattr(storm_lab, name)
        assert name in dir(storm_lab)
        assert name == "__version__" or found.__doc__
