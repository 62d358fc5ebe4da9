"""Carries out the fault plan's events on real Storm; what it cannot carry out is refused before the start."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from storm_lab.emulator.control.decision_log import Decision
from storm_lab.emulator.control.faults import Fault, FaultPlan
from storm_lab.emulator.control.faults.commands import (
    ActivateTopology,
    DeactivateTopology,
    KillTopology,
    RebalanceTopology,
    SetLoad,
)
from storm_lab.emulator.control.faults.machines import CutLink, KillNode, RestoreLink, ReviveNode
from storm_lab.emulator.control.faults.processes import KillWorker
from storm_lab.emulator.source import TopologyPlan
from storm_lab.errors import StormLabError, UserError
from storm_lab.live.storm import LiveStorm
from storm_lab.live.trace_export import set_rate, spout_path, whole_seconds
from storm_lab.model import Slot

_SUBMITTED_NS = 60_000_000_000
_POLL_SECONDS = 0.2

_COMMANDS = (RebalanceTopology, KillTopology, ActivateTopology, DeactivateTopology)
_PLAYED = (KillWorker, KillNode, ReviveNode, CutLink, RestoreLink, SetLoad, *_COMMANDS)


@dataclass(frozen=True, slots=True)
class Submission:
    """A topology of a run, as it is submitted to real Storm.

    ``name`` is what Nimbus calls it, ``exported`` the folder of its exported files, and ``records`` that of
    the files which its workers write.
    """

    plan: TopologyPlan
    name: str
    exported: Path
    records: Path


class Timeline:
    """Carries out a fault plan, each event at its time in the run; ``submissions`` are by topology id."""

    def __init__(self, plan: FaultPlan, storm: LiveStorm, submissions: Mapping[str, Submission]) -> None:
        self._events = sorted(plan.faults, key=lambda fault: fault.at_s)
        self._storm = storm
        self._submissions = submissions
        self.decisions: list[Decision] = []
        self.problem: Exception | None = None
        """What ended `play` early, other than an event that Storm or the machine refused."""

    def play(self, origin_ns: int, ended: threading.Event) -> None:
        """Carry out all events in order; returns early if ``ended`` is set."""
        try:
            for fault in self._events:
                due_ns = origin_ns + round(fault.at_s * 1e9)
                if ended.wait(max(0, due_ns - time.monotonic_ns()) / 1e9):
                    return
                if not self._await_topology(fault, ended):
                    return
                self._carry_out(fault, origin_ns)
        except Exception as error:
            self.problem = error

    def _carry_out(self, fault: Fault, origin_ns: int) -> None:
        start = time.monotonic_ns()
        problem = ""
        try:
            subject = self._act(fault)
        except StormLabError as error:
            subject, problem = fault.name, str(error)
        who = "nimbus" if isinstance(fault, _COMMANDS) else "fault"
        # A user's commands have the names used by the emulator's Nimbus.
        action = fault.name.removesuffix("-topology") if who == "nimbus" else fault.name
        took = {"took_ms": round((time.monotonic_ns() - start) / 1e6, 1)}
        action = f"{action}-failed" if problem else action
        self.decisions.append(Decision(start - origin_ns, who, action, subject, problem, took))

    def _await_topology(self, fault: Fault, ended: threading.Event) -> bool:
        """Wait until Nimbus knows the topology of a command; False if ``ended`` is set before.

        Its submission may not be complete yet, and a later run may have a topology of that name.
        """
        if not isinstance(fault, _COMMANDS):
            return True
        name = self._submissions[fault.topology].name
        end_ns = time.monotonic_ns() + _SUBMITTED_NS
        while name not in self._storm.topologies() and time.monotonic_ns() < end_ns:
            if ended.wait(_POLL_SECONDS):
                return False
        return True

    def _act(self, fault: Fault) -> str:
        """Carry out one event and return its subject."""
        storm = self._storm
        match fault:
            case KillWorker(node=node, port=port):
                storm.kill_worker(Slot(node, port))
                return str(Slot(node, port))
            case KillNode() | ReviveNode():
                (storm.lose_node if fault.off else storm.restore_node)(fault.node)
                return fault.node
            case CutLink() | RestoreLink():
                change = storm.cut_link if isinstance(fault, CutLink) else storm.mend_link
                change(fault.node_a, fault.node_b)
                return fault.subject
            case SetLoad(topology=topology, spout=spout, rate_per_s=rate):
                queue = spout_path(self._submissions[topology].exported, "queue", spout)
                set_rate(queue, time.monotonic_ns(), rate)
                return f"{topology}/{spout}"
            case RebalanceTopology(topology=topology, workers=workers, wait_s=wait):
                name = self._submissions[topology].name
                storm.rebalance(name, wait_s=self._wait_s(topology, wait), workers=workers)
                return topology
            case KillTopology(topology=topology, wait_s=wait):
                storm.kill(self._submissions[topology].name, wait_s=self._wait_s(topology, wait))
                return topology
            case ActivateTopology() | DeactivateTopology():
                (storm.deactivate if fault.off else storm.activate)(self._submissions[fault.topology].name)
                return fault.topology
            case _:
                raise UserError("not possible on real Storm", field=fault.name)

    def _wait_s(self, topology: str, given: float | None) -> int:
        """Return how long a command waits: by default for the message timeout, as Storm's own do."""
        default = self._submissions[topology].plan.topology.message_timeout_s
        return int(default if given is None else given)


def check_faults(plan: FaultPlan) -> None:
    """Refuse events that cannot be carried out on real Storm; `UserError` names the first of them."""
    for fault in plan.faults:
        if not isinstance(fault, _PLAYED):
            names = ", ".join(sorted(kind.name for kind in _PLAYED))
            message = "not possible on real Storm"
            raise UserError(message, field="faults", value=fault.name, remedy=f"live runs support: {names}")
        if isinstance(fault, RebalanceTopology | KillTopology) and fault.wait_s is not None:
            whole_seconds(fault.wait_s, f"wait_s of {fault.name}", least=0)
