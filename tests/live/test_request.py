"""Scheduling views that are read from Nimbus's requests."""

import pytest

from storm_lab.live.request import Known, read_request
from storm_lab.model import Cluster, Executor, Grouping, Node, Resources, Slot, StormVersion, Subscription
from tests.live.nimbus import CHAIN, EXECUTORS, V2, node, question, topology

CLUSTER = Cluster((Node("b", cores=8, ports=(6700, 6701)), Node("a", ports=(6700, 6701))))
KNOWN = Known(V2, CLUSTER, {"10.0.0.1": "a", "10.0.0.2": "b"}, {"chain": CHAIN})


def test_known_machines_and_topologies_keep_their_names_and_order():
    view = read_request(question(), KNOWN).view
    assert [n.id for n in view.cluster.nodes] == ["b", "a"]
    assert view.cluster.node("b").cores == 8
    assert view.topologies[0].id == "chain"
    assert [c.id for c in view.topologies[0].components] == ["spout", "bolt"]


def test_names_are_mapped_back_to_ids_of_storm():
    request = read_request(question(), KNOWN)
    assert request.storm_id == {"chain": "chain-1-1700000000"}
    assert request.supervisor == {"a": "supervisor-1", "b": "supervisor-2"}


def test_the_present_assignment_is_read_by_executors():
    held = [["supervisor-1", 6701, [[1, 1], [4, 4]]], ["supervisor-2", 6700, [[2, 2], [3, 3], [5, 5]]]]
    view = read_request(question(topology(present=held)), KNOWN).view
    assert view.present.slots[Executor("chain", 4, 4, "spout")] == Slot("a", 6701)
    assert view.present.slots[Executor("chain", 2, 2, "bolt")] == Slot("b", 6700)
    assert len(view.present.slots) == 5


def test_slots_that_nimbus_does_not_list_are_dead():
    asked = question()
    asked["nodes"][0]["ports"] = [6701]
    view = read_request(asked, KNOWN).view
    assert view.dead_slots == {Slot("a", 6700)}
    assert Slot("a", 6700) not in view.usable_slots


def test_a_node_that_nimbus_does_not_list_is_absent():
    view = read_request(question(nodes=1), KNOWN).view
    assert [n.id for n in view.cluster.nodes] == ["a"]


def test_a_rebalance_changes_workers_and_executors():
    merged = [[1, 1, "__acker"], [2, 3, "bolt"], [4, 4, "spout"], [5, 5, "spout"]]
    asked = question(topology(workers=1, executors=merged))
    view = read_request(asked, KNOWN).view
    assert view.topologies[0].workers == 1
    assert view.topologies[0].component("bolt").executors == 1
    assert view.topologies[0].component("bolt").task_count == 2
    assert Executor("chain", 2, 3, "bolt") in view.executors["chain"]


def test_a_topology_whose_executors_contradict_its_description_is_left_out():
    odd = [row if row[0] != 1 else [1, 1, "__mine"] for row in EXECUTORS]
    held = [["supervisor-1", 6700, [[1, 1]]]]
    request = read_request(question(topology(executors=odd, present=held)), KNOWN)
    assert request.view.topologies == ()
    assert "differ from its description" in request.left_out["chain-1-1700000000"]
    # Its worker keeps running, so no other topology may have its slot.
    assert Slot("a", 6700) in request.view.dead_slots


def test_unknown_nodes_and_topologies_are_described_from_the_request():
    view = read_request(question(), Known(None)).view
    assert view.version == StormVersion((2, 8, 3))
    first = view.cluster.nodes[0]
    assert (first.id, first.cores, first.memory_mb) == ("10.0.0.1", 4, 4096.0)
    assert first.offer == Resources(cpu_points=400.0, memory_mb=4096.0)
    chain = view.topologies[0]
    assert [c.id for c in chain.components] == ["spout", "bolt"]
    assert chain.component("bolt").inputs == (Subscription("spout"),)
    assert len(view.executors["chain"]) == 5


def test_two_supervisors_of_one_host_are_two_nodes():
    asked = question()
    asked["nodes"] = [node(1), node(1) | {"id": "supervisor-9"}]
    view = read_request(asked, Known(V2)).view
    assert {n.id for n in view.cluster.nodes} == {"supervisor-1", "supervisor-9"}


def test_groupings_are_read_as_storm_writes_them():
    def grouping(name: str, fields: list[str]) -> Grouping:
        row = topology()
        row["components"][0]["inputs"][0] |= {"grouping": name, "fields": fields}
        return read_request(question(row), Known(V2)).view.topologies[0].component("bolt").inputs[0].grouping

    assert grouping("fields", ["id"]) is Grouping.FIELDS
    assert grouping("fields", []) is Grouping.GLOBAL
    assert grouping("local_or_shuffle", []) is Grouping.LOCAL_OR_SHUFFLE
    assert grouping("all", []) is Grouping.ALL
    assert grouping("custom_serialized", []) is Grouping.SHUFFLE


def test_bolts_that_storm_adds_have_tasks_like_any_other():
    rows = [[1, 1, "__acker"], [2, 2, "__eventlogger"]]
    rows += [[first + 1, last + 1, name] for first, last, name in EXECUTORS[1:]]
    view = read_request(question(topology(executors=rows)), Known(V2)).view
    assert {e.component for e in view.executors["chain"]} == {"__acker", "__eventlogger", "bolt", "spout"}
    assert not view.topologies[0].component("__eventlogger").is_spout


def test_the_version_must_be_given_if_the_request_does_not_name_it():
    asked = question()
    del asked["storm"]
    with pytest.raises(ValueError, match="give --storm-version"):
        read_request(asked, Known(None))


@pytest.mark.parametrize(
    "broken", [{}, {"format": 2}, {"format": 1}, {"format": 1, "nodes": 3, "topologies": []}]
)
def test_an_invalid_request_is_refused(broken: dict):
    with pytest.raises(ValueError, match="request"):
        read_request(broken, KNOWN)
