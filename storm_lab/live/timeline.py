"""Carries out the fault plan's events on real Storm.

Events that real Storm or this machine cannot carry out are refused before anything is started.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

from storm_lab.emulator.control.decision_log import Decision
from storm_lab.emulator.control.faults import Fault, FaultPlan
from storm_lab.emulator.control.faults.commands import (
    ActivateTopology,
    DeactivateTopology,
    KillTopology,
    RebalanceTopology,
)
from storm_lab.emulator.control.faults.load import SetLoad
from storm_lab.emulator.control.faults.machines import CutLink, KillNode, RestoreLink, ReviveNode
from storm_lab.emulator.control.faults.processes import KillWorker
from storm_lab.errors import StormLabError, UserError
from storm_lab.live.line_queue import set_rate, spout_path
from storm_lab.live.storm import LiveStorm
from storm_lab.live.trace_export import whole_seconds
from storm_lab.model import Slot

_SUBMITTED_NS = 60_000_000_000
_POLL_SECONDS = 0.2

_COMMANDS = (RebalanceTopology, KillTopology, ActivateTopology, DeactivateTopology)
_PLAYED = (KillWorker, KillNode, ReviveNode, CutLink, RestoreLink, SetLoad, *_COMMANDS)


class Timeline:
    """Carries out a fault plan, each event at its time after the start of the run.

    By topology id, ``folders`` are the exported files, ``names`` the names under which topologies are
    submitted, and ``waits_s`` how long a kill or a rebalance waits if the plan does not say so.
    """

    def __init__(
        self,
        plan: FaultPlan,
        storm: LiveStorm,
        folders: Mapping[str, Path],
        names: Mapping[str, str],
        waits_s: Mapping[str, float],
    ) -> None:
        self._events = sorted(plan.faults, key=lambda fault: fault.at_s)
        self._storm = storm
        self._folders = folders
        self._names = names
        self._waits_s = waits_s
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
        """Wait until Nimbus knows the topology of a command, whose submission may not be complete yet.

        Returns False if ``ended`` is set before: a later run may have a topology of that name.
        """
        if not isinstance(fault, _COMMANDS):
            return True
        end_ns = time.monotonic_ns() + _SUBMITTED_NS
        while self._names[fault.topology] not in self._storm.topologies() and time.monotonic_ns() < end_ns:
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
                set_rate(spout_path(self._folders[topology], "queue", spout), time.monotonic_ns(), rate)
                return f"{topology}/{spout}"
            case RebalanceTopology(topology=topology, workers=workers, wait_s=wait):
                storm.rebalance(self._names[topology], wait_s=self._wait_s(topology, wait), workers=workers)
                return topology
            case KillTopology(topology=topology, wait_s=wait):
                storm.kill(self._names[topology], wait_s=self._wait_s(topology, wait))
                return topology
            case ActivateTopology() | DeactivateTopology():
                (storm.deactivate if fault.off else storm.activate)(self._names[fault.topology])
                return fault.topology
            case _:
                raise UserError("not possible on real Storm", field=fault.name)

    def _wait_s(self, topology: str, given: float | None) -> int:
        return int(self._waits_s[topology] if given is None else given)


def check_faults(plan: FaultPlan) -> None:
    """Refuse events that cannot be carried out on real Storm; `UserError` names the first of them."""
    for fault in plan.faults:
        if not isinstance(fault, _PLAYED):
            names = ", ".join(sorted(kind.name for kind in _PLAYED))
            message = "not possible on real Storm"
            raise UserError(message, field="faults", value=fault.name, remedy=f"live runs support: {names}")
        if isinstance(fault, RebalanceTopology | KillTopology) and fault.wait_s is not None:
            whole_seconds(fault.wait_s, f"wait_s of {fault.name}", least=0)
