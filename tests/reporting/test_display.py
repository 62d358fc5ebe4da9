"""What JupyterLab shows: graphs and tables of the project's objects, with everything in them escaped."""

import xml.etree.ElementTree as ElementTree
from importlib import import_module

import storm_lab
from storm_lab.model import Assignment, Cluster, Component, Executor, Node, Slot, Subscription, Topology
from storm_lab.reporting import display
from storm_lab.schedulers import SchedulingResult, TopologyStatus

CHAIN = Topology(
    id="chain",
    workers=2,
    components=(
        Component("spout", 2, outputs={"default": ("word",)}),
        Component("split", 3, inputs=(Subscription("spout"),), outputs={"default": ("word",)}),
        Component("<count>", 1, inputs=(Subscription("split"), Subscription("<count>"))),
    ),
)


def test_a_topology_is_drawn_from_left_to_right_and_cycles_do_not_hang() -> None:
    root = ElementTree.fromstring(display.topology_svg(CHAIN))
    boxes = [float(box.get("x", 0)) for box in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert boxes == sorted(boxes)
    assert len(set(boxes)) == 3


def test_names_cannot_become_markup() -> None:
    shown = display.topology_html(CHAIN)
    assert "<count>" not in shown
    assert "&lt;count&gt;" in shown


def test_an_assignment_has_a_row_for_each_worker() -> None:
    first, second = Executor("chain", "spout", 1, 1), Executor("chain", "split", 3, 3)
    assignment = Assignment({first: Slot("n1", 6700), second: Slot("n1", 6700)})
    shown = display.assignment_html(assignment)
    assert "2 executors in 1 workers on 1 nodes" in shown
    assert shown.count("<tr>") == 2
    result = SchedulingResult(assignment, {"chain": TopologyStatus(True, "all placed")})
    assert "all placed" in display.result_html(result)


def test_a_cluster_of_many_nodes_is_cut_and_says_so() -> None:
    cluster = Cluster(tuple(Node(f"n{number}") for number in range(display.MOST_ROWS + 5)))
    assert "and 5 more" in display.cluster_html(cluster)


def test_ipython_learns_every_class_by_its_name() -> None:
    class Formatter:
        def for_type_by_name(self, module: str, name: str, html: object) -> None:
            known.append((module, name))

    known: list[tuple[str, str]] = []
    display.show_richly(Formatter())
    assert len(known) >= 5
    for module, name in known:
        assert hasattr(import_module(module), name)


def test_every_public_name_of_the_package_is_there_and_documented() -> None:
    for name in storm_lab.__all__:
        found = getattr(storm_lab, name)
        assert name in dir(storm_lab)
        assert name == "__version__" or found.__doc__
