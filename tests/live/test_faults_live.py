"""Faults and commands of a plan, carried out on real Storm and recorded in the log. Starts daemons."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from unittest.mock import Mock, call

import pytest

from storm_lab.emulator.control.decision_log import Decision
from storm_lab.emulator.control.faults import Fault, FaultPlan
from storm_lab.emulator.control.faults.commands import DeactivateTopology, KillTopology, RebalanceTopology
from storm_lab.emulator.control.faults.machines import KillNode, SlowNode
from storm_lab.emulator.control.faults.processes import KillWorker
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.errors import UserError
from storm_lab.live.hosts import machine_mhz
from storm_lab.live.releases import RELEASES
from storm_lab.live.scenes import NEXT_NODE, chain
from storm_lab.live.timeline import Submission, Timeline, check_faults
from storm_lab.model import Component, Topology
from storm_lab.tuplelog import Run
from tests.live.real_cluster import played

S = 1_000_000_000
CHAIN = Submission(
    TopologyPlan(Topology("c", (Component("spout"),), message_timeout_s=45.0), None, {}),  # type: ignore[arg-type]
    "chain",
    Path("plan"),
    Path("records"),
)


def test_a_fault_that_real_storm_cannot_carry_out_is_refused():
    with pytest.raises(UserError, match="slow-node"):
        check_faults(FaultPlan((SlowNode(1.0, "n1", 0.5),)))


def carried_out(storm: Mock, *faults: Fault, ended: threading.Event | None = None) -> list[Decision]:
    timeline = Timeline(FaultPlan(faults), storm, {"c": CHAIN})
    timeline.play(time.monotonic_ns(), ended or threading.Event())
    assert timeline.problem is None
    return timeline.decisions


def test_commands_wait_for_a_topology_that_is_still_being_submitted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("storm_lab.live.timeline._POLL_SECONDS", 0.001)
    storm = Mock(**{"topologies.side_effect": [{}, {}, {"chain": {}}]})
    decisions = carried_out(storm, DeactivateTopology(0.0, "c"))
    assert storm.mock_calls == [call.topologies()] * 3 + [call.deactivate("chain")]
    assert [(d.action, d.subject) for d in decisions] == [("deactivate", "c")]


def test_a_command_whose_topology_never_came_is_not_carried_out_after_the_run():
    ended = threading.Event()

    def listed() -> dict[str, dict[str, str]]:
        """List the topology only when the run has ended, as a later run would submit it."""
        found: dict[str, dict[str, str]] = {"chain": {}} if ended.is_set() else {}
        ended.set()
        return found

    assert carried_out(Mock(topologies=listed), DeactivateTopology(0.0, "c"), ended=ended) == []


@pytest.mark.parametrize(("given", "waited"), [(None, 45), (0.0, 0), (7.0, 7)])
def test_a_kill_or_a_rebalance_waits_for_the_message_timeout_unless_told_otherwise(given, waited):
    storm = Mock(**{"topologies.return_value": {"chain": {}}})
    faults = RebalanceTopology(0.0, "c", wait_s=given), KillTopology(0.0, "c", wait_s=given)
    carried_out(storm, *faults)
    assert storm.rebalance.mock_calls == [call("chain", wait_s=waited, workers=None)]
    assert storm.kill.mock_calls == [call("chain", wait_s=waited)]


def test_a_wait_that_is_not_a_whole_number_of_seconds_is_refused():
    with pytest.raises(UserError, match=r"wait_s of kill-topology = 0.4: .* whole seconds; give 0, 1, 2, "):
        check_faults(FaultPlan((KillTopology(1.0, "c", wait_s=0.4),)))


def chain_with_faults(version: str, duration_s: float, faults: tuple[Fault, ...], tmp_path: Path) -> Run:
    """Play a chain whose middle bolt is on another node."""
    source = SourcePlan(SourceKind.RATE, rate_per_s=100.0)
    options = {"ackers": 1, "duration_s": duration_s, "faults": faults}
    spec = chain(RELEASES[version].storm, machine_mhz(), source, NEXT_NODE, **options)
    return played(spec, version, tmp_path / "run")


@pytest.mark.live
@pytest.mark.slow
def test_a_killed_worker_comes_back_and_a_rebalance_leaves_one_worker(tmp_path: Path):
    # Roots lost by the kill have failed by 105 s; a spout that moves earlier forgets them.
    faults = (KillWorker(45.0, "n2", 6700), RebalanceTopology(115.0, "chain", workers=1, wait_s=0.0))
    run = chain_with_faults("2.8.3", 165.0, faults, tmp_path)
    control = run.table("control").to_pylist()
    said = {(row["actor"], row["action"], row["subject"]): row["time_ns"] for row in control}
    killed = said["fault", "kill-worker", "n2:6700"]
    rebalanced = said["nimbus", "rebalance", "chain"]
    assert 45 * S <= killed < 50 * S
    assert 115 * S <= rebalanced < 120 * S
    # bolt1's first worker ended with the kill, and another took its slot.
    stays = sorted(
        (row for row in run.table("placements").to_pylist() if row["component"] == "bolt1"),
        key=lambda row: row["start_ns"],
    )
    first, second = stays[0], stays[1]
    assert first["end_ns"] is not None
    assert killed - 2 * S <= first["end_ns"] <= killed + 3 * S
    assert (second["node"], second["port"]) == ("n2", 6700)
    assert second["start_ns"] > killed
    assert second["worker"] != first["worker"]
    # After the rebalance there is one worker, wherever the default scheduler has put it.
    last = {row["worker"] for row in run.table("placements").to_pylist() if row["end_ns"] is None}
    assert len(last) == 1
    moved = [row for row in control if row["action"] == "assign" and row["time_ns"] > rebalanced]
    assert len(json.loads(moved[-1]["detail"])["workers"]) == 1
    # Tuples sent to the dead worker are lost, and their roots time out after 30 to 60 s.
    roots = run.table("roots").to_pylist()
    failed = [row for row in roots if row["outcome"] == "failed"]
    assert failed
    assert all(30 * S <= row["latency_ns"] <= 65 * S for row in failed)
    assert any(row["outcome"] == "acked" and row["emit_ns"] > 155 * S for row in roots)


@pytest.mark.live
@pytest.mark.slow
def test_executors_of_a_lost_node_move_to_another_node(tmp_path: Path):
    run = chain_with_faults("1.2.4", 170.0, (KillNode(50.0, "n2"),), tmp_path)
    stays = run.table("placements").to_pylist()
    assert {row["node"] for row in stays if row["start_ns"] < 50 * S} == {"n1", "n2"}
    assert {row["node"] for row in stays if row["end_ns"] is None} == {"n1"}
    lost = next(row for row in run.table("control").to_pylist() if row["action"] == "kill-node")
    assert (lost["actor"], lost["subject"]) == ("fault", "n2")
    assert any(
        row["outcome"] == "acked" and row["emit_ns"] > 150 * S for row in run.table("roots").to_pylist()
    )
