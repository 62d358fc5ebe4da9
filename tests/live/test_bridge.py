"""Answers of the bridge to Nimbus, through its socket and without it."""

import errno
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from storm_lab.errors import UserError
from storm_lab.live.bridge import Bridge, Policy, Round
from storm_lab.live.request import Known
from storm_lab.model import Assignment, Cluster, Executor, Node, Slot, executors_of
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, TopologyStatus
from storm_lab.schedulers.storm.default import DefaultScheduler
from tests.live.nimbus import CHAIN, V2, question, topology

CLUSTER = Cluster((Node("a", ports=(6700, 6701)), Node("b", ports=(6700, 6701))))
KNOWN = Known(V2, CLUSTER, {"10.0.0.1": "a", "10.0.0.2": "b"}, {"chain": CHAIN})
STORM_ID = "chain-1-1700000000"
ALL = executors_of(CHAIN, V2)


def _all_in_slot(slot: Slot) -> Assignment:
    return Assignment.of((executor, slot) for executor in ALL)


def _running_on(number: int) -> dict[str, Any]:
    """Return the chain with all its executors in the first slot of a supervisor."""
    return topology(present=[[f"supervisor-{number}", 6700, [[n, n] for n in range(1, 6)]]])


class Fixed(Scheduler[Any]):
    """Returns a fixed answer, or raises it if it is an exception."""

    name = "fixed"
    version = "1"

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def schedule(self, view):
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, Assignment):
            return SchedulingResult(self.answer, {"chain": TopologyStatus(True, "as you like")})
        return self.answer


def test_the_default_scheduler_fills_both_nodes():
    answer, made = Policy(DefaultScheduler(), KNOWN).answer(question())
    rows = answer["assign"][STORM_ID]
    assert {(node, port) for node, port, _ in rows} == {("supervisor-1", 6700), ("supervisor-2", 6700)}
    assert sorted(pair for _, _, pairs in rows for pair in pairs) == [[n, n] for n in range(1, 6)]
    assert answer["status"] == {STORM_ID: "Fully Scheduled"}
    assert made.moved == ("chain",)
    assert json.loads(json.dumps(answer)) == answer


def test_a_topology_that_keeps_its_slots_is_not_reported_as_moved():
    policy = Policy(Fixed(_all_in_slot(Slot("a", 6700))), KNOWN)
    _, made = policy.answer(question(_running_on(1)))
    assert made.moved == ()
    policy.scheduler = Fixed(_all_in_slot(Slot("b", 6700)))
    _, made = policy.answer(question(_running_on(1)))
    assert made.moved == ("chain",)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
        (UserError("no such thing", field="gamma", value=0), "gamma = 0: no such thing"),
        (None, "NoneType"),
        (7, "int"),
        (_all_in_slot(Slot("c", 6700)), "which the cluster does not have"),
        (Assignment.of([(ALL[0], Slot("a", 6700))]), "has no slot"),
        (
            _all_in_slot(Slot("a", 6700)).merged(
                Assignment.of([(Executor("x", 1, 1, "y"), Slot("b", 6700))])
            ),
            "no topology that is scheduled",
        ),
    ],
)
def test_a_failing_scheduler_changes_nothing_and_the_status_gives_the_reason(wrong: Any, said: str):
    answer, made = Policy(Fixed(wrong), KNOWN).answer(question())
    assert answer["assign"] == {}
    assert answer["status"][STORM_ID].startswith("Kept as it is: fixed: ")
    assert said in answer["status"][STORM_ID]
    assert said in made.problem
    assert made.moved == ()


def test_a_worker_may_keep_running_on_a_node_that_nimbus_no_longer_lists():
    policy = Policy(Fixed(_all_in_slot(Slot("supervisor-3", 6700))), KNOWN)
    answer, made = policy.answer(question(_running_on(3)))
    assert [row[:2] for row in answer["assign"][STORM_ID]] == [["supervisor-3", 6700]]
    assert made.moved == ()


def test_a_topology_that_does_not_fit_gets_no_slots():
    full = SchedulingResult(Assignment(), {"chain": TopologyStatus(False, "no room")})
    answer, _ = Policy(Fixed(full), KNOWN).answer(question())
    assert answer["assign"] == {STORM_ID: []}
    assert answer["status"] == {STORM_ID: "no room"}


def test_an_unreadable_request_changes_nothing():
    answer, made = Policy(DefaultScheduler(), KNOWN).answer(question(format=9))
    assert answer["assign"] == {}
    assert "format 9" in answer["status"][STORM_ID]
    assert "format 9" in made.problem


@pytest.mark.parametrize("rows", [None, 5, "chain", {"id": STORM_ID}, [7]])
def test_a_request_without_a_list_of_topologies_is_answered_all_the_same(rows: object):
    answer, made = Policy(DefaultScheduler(), KNOWN).answer(question() | {"topologies": rows})
    assert answer == {"assign": {}, "status": {}}
    assert "cannot be read" in made.problem


def test_a_manual_first_placement_takes_precedence_over_the_scheduler():
    policy = Policy(DefaultScheduler(), KNOWN, placement=_all_in_slot(Slot("b", 6701)))
    answer, _ = policy.answer(question())
    assert [row[:2] for row in answer["assign"][STORM_ID]] == [["supervisor-2", 6701]]


def test_the_scheduler_decides_while_slots_of_a_manual_placement_are_missing():
    asked = question()
    asked["nodes"][1]["ports"] = [6700]
    policy = Policy(DefaultScheduler(), KNOWN, placement=_all_in_slot(Slot("b", 6701)))
    answer, _ = policy.answer(asked)
    assert len(answer["assign"][STORM_ID]) == 2


def test_a_manual_move_is_made_once_and_then_the_scheduler_takes_over():
    policy = Policy(Fixed(_all_in_slot(Slot("a", 6700))), KNOWN, install=_all_in_slot(Slot("b", 6700)))
    answer, _ = policy.answer(question(_running_on(1)))
    assert [row[:2] for row in answer["assign"][STORM_ID]] == [["supervisor-2", 6700]]
    answer, _ = policy.answer(question(_running_on(2)))
    assert [row[:2] for row in answer["assign"][STORM_ID]] == [["supervisor-1", 6700]]


def test_a_manual_placement_applies_to_the_first_assignment_only():
    policy = Policy(DefaultScheduler(), KNOWN, placement=_all_in_slot(Slot("b", 6701)))
    policy.answer(question(_running_on(1)))
    # After a rebalance the topology has no slots, and the scheduler decides.
    answer, _ = policy.answer(question())
    assert len(answer["assign"][STORM_ID]) == 2


def test_the_default_scheduler_keeps_a_topology_manually_moved_into_one_worker():
    spread = [["supervisor-1", 6700, [[1, 1], [2, 2], [3, 3]]], ["supervisor-2", 6700, [[4, 4], [5, 5]]]]
    policy = Policy(DefaultScheduler(), KNOWN, install=_all_in_slot(Slot("b", 6700)))
    assert policy.answer(question(topology(present=spread)))[1].moved == ("chain",)
    # The topology asks for two workers, but was moved into one.
    assert policy.answer(question(_running_on(2)))[1].moved == ()
    assert policy.answer(question(_running_on(2)))[1].moved == ()
    # When a rebalance asks for three workers, it gets three.
    answer, _ = policy.answer(question(topology(workers=3)))
    assert len(answer["assign"][STORM_ID]) == 3


REQUEST = json.dumps(question()).encode() + b"\n"


def _bridge(path: Path, scheduler: Scheduler[Any] | None = None, **options: Any) -> Bridge:
    return Bridge(path, Policy(scheduler or DefaultScheduler(), KNOWN), **options)


def _ask(path: Path, text: bytes = REQUEST) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(path))
        client.sendall(text)
        with client.makefile("rb") as lines:
            return json.loads(lines.readline())


def test_each_line_sent_to_the_socket_is_answered_by_one_line(tmp_path: Path):
    with _bridge(tmp_path / "s") as bridge:
        answer = _ask(bridge.path)
        assert len(answer["assign"][STORM_ID]) == 2
        assert "error" in _ask(bridge.path, b"what?\n")
        # A client that sends nothing does not block other clients.
        with socket.socket(socket.AF_UNIX) as silent:
            silent.connect(str(bridge.path))
            assert _ask(bridge.path)["assign"]
    assert [made.moved for made in bridge.rounds] == [("chain",), ("chain",)]
    assert not bridge.path.exists()


def test_a_round_is_noted_before_it_is_answered(tmp_path: Path):
    noted: list[tuple[str, ...]] = []

    def note(made: Round) -> None:
        time.sleep(0.1)
        noted.append(made.moved)

    with _bridge(tmp_path / "s", note=note) as bridge:
        _ask(bridge.path)
        assert noted == [("chain",)]


def test_a_round_that_cannot_be_noted_is_answered(tmp_path: Path):
    def note(made: Round) -> None:
        raise BrokenPipeError

    with _bridge(tmp_path / "s", note=note) as bridge:
        assert _ask(bridge.path)["assign"]


def test_concurrent_requests_are_answered_one_at_a_time(tmp_path: Path):
    inside: list[int] = []
    most: list[int] = []

    class Counting(DefaultScheduler):
        def schedule(self, view):
            inside.append(1)
            most.append(len(inside))
            threading.Event().wait(0.02)
            inside.pop()
            return super().schedule(view)

    with _bridge(tmp_path / "s", Counting()) as bridge:
        threads = [threading.Thread(target=_ask, args=(bridge.path,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert max(most) == 1
    assert len(most) == 4


def test_a_stale_socket_is_replaced(tmp_path: Path):
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "s"))
    left.close()
    assert (tmp_path / "s").is_socket()
    with _bridge(tmp_path / "s") as bridge:
        assert _ask(bridge.path)["assign"]


def test_a_socket_in_use_is_refused(tmp_path: Path):
    with (
        _bridge(tmp_path / "s"),
        pytest.raises(UserError, match="already answers at this socket"),
        _bridge(tmp_path / "s"),
    ):
        pass


def test_a_socket_that_may_not_be_reached_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Denied(socket.socket):
        """A socket of another user answers so."""

        def connect(self, address: Any) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

    with _bridge(tmp_path / "s") as served:
        monkeypatch.setattr(socket, "socket", Denied)
        words = r"created there \(Permission denied\); choose another path"
        with pytest.raises(UserError, match=words), _bridge(tmp_path / "s"):
            pass
        assert served.path.is_socket()


def test_a_file_at_the_path_of_the_socket_is_left_alone(tmp_path: Path):
    (tmp_path / "s").write_text("mine")
    with pytest.raises(UserError, match="not a socket exists there"), _bridge(tmp_path / "s"):
        pass
    assert (tmp_path / "s").read_text() == "mine"


def test_a_path_that_is_too_long_for_a_socket_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="107 bytes"), _bridge(tmp_path / ("x" * 120)):
        pass
