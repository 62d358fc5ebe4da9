"""The Python end of Nimbus's scheduler: a Unix socket at which storm_lab's schedulers answer.

`BridgeScheduler.java` sends one JSON line in each scheduling round of Nimbus and applies the line that it
receives. Whatever an answer does not name stays as it is. If a scheduler fails, the answer assigns nothing,
and the topologies' status describes the error.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from storm_lab.errors import StormLabError, UserError, refused_by_system
from storm_lab.live.request import Known, Request, read_request
from storm_lab.model import Assignment, Executor, InvalidAssignmentError, MeasuredLoad, Slot
from storm_lab.schedulers.ask import check_result
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.read_only import read_only

_LONGEST_SOCKET_PATH = 107
"""Longest path of a Unix socket in bytes (sun_path of Linux without its final zero)."""

_LONGEST_LINE = 64 << 20
_KEPT = "Kept as it is: "


@dataclass(frozen=True, slots=True)
class Round:
    """One request of Nimbus and the answer to it. Times are CLOCK_MONOTONIC.

    ``moved`` are the topologies whose executors the answer moves; ``problem`` is empty if the scheduler
    answered.
    """

    time_ns: int
    took_ns: int
    scheduler: str
    assignment: Assignment
    moved: tuple[str, ...]
    status: Mapping[str, str]
    problem: str = ""
    supervisors: Mapping[str, str] = field(default_factory=dict)
    """Node id by Storm's id of its supervisor."""


@dataclass(slots=True)
class Policy:
    """What the bridge answers with; may be changed while the cluster runs.

    Args:
        scheduler: any scheduler of storm_lab.
        known: topologies and machines of the run.
        placement: first placement of topologies; the scheduler places those that it does not name completely.
        load: returns the measured load at each request; None while nothing has been measured.
        seed: seed of schedulers that draw random numbers.
    """

    scheduler: Scheduler[Any]
    known: Known
    placement: Assignment = field(default_factory=Assignment)
    load: Callable[[], MeasuredLoad | None] = lambda: None
    seed: int = 0
    install: Assignment = field(default_factory=Assignment)
    """Executors to be moved at the next request, regardless of the scheduler."""
    view: SchedulingView | None = None
    """The view of Nimbus's last request."""
    _manual_workers: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For topologies placed by hand, their number of workers at Nimbus then and in that placement."""
    _running: set[str] = field(default_factory=set)
    """Topologies that have been placed."""

    def answer(self, fields: Mapping[str, Any]) -> tuple[dict[str, Any], Round]:
        """Return the answer to one request and its record. Never raises because of a scheduler."""
        start = time.monotonic_ns()
        name = self.scheduler.name
        try:
            request = read_request(fields, self.known, load=self.load(), seed=self.seed)
            request = replace(request, view=self._with_manual_workers(request.view))
        except Exception as error:
            problem = _one_line(error)
            status = {str(row["id"]): _KEPT + problem for row in _rows(fields)}
            made = Round(start, time.monotonic_ns() - start, name, Assignment(), (), status, problem)
            return {"assign": {}, "status": status}, made
        status = {storm_id: _KEPT + why for storm_id, why in request.left_out.items()}
        self.view = request.view
        present = request.view.present
        problem = ""
        try:
            result = self._schedule(request.view)
            placed = result.assignment
            own = {t: result.status[t].message if t in result.status else "" for t in request.storm_id}
            assign = _answer_rows(request, placed)
        except Exception as error:
            problem = f"{name}: {_one_line(error)}"
            placed, assign = present, {}
            own = dict.fromkeys(request.storm_id, _KEPT + problem)
        status |= {request.storm_id[t]: message for t, message in own.items()}
        ids = request.storm_id
        moved = tuple(t for t in ids if placed.of_topology(t).slots != present.of_topology(t).slots)
        supervisors = {supervisor: node for node, supervisor in request.supervisor.items()}
        made = Round(start, time.monotonic_ns() - start, name, placed, moved, own, problem, supervisors)
        return {"assign": assign, "status": status}, made

    def _schedule(self, view: SchedulingView) -> SchedulingResult:
        """Return the scheduler's result, with placements by hand applied first; raises if it is not valid."""
        fixed = self._manual_placement(view)
        topologies = {executor.topology for executor in fixed.slots}

        def with_fixed(assignment: Assignment) -> Assignment:
            if not topologies:
                return assignment
            others = ((e, s) for e, s in assignment.slots.items() if e.topology not in topologies)
            return Assignment.of(others).merged(fixed)

        asked = read_only(replace(view, present=with_fixed(view.present)))
        result: object = self.scheduler.schedule(asked)
        if not isinstance(result, SchedulingResult):
            raise TypeError(f"the scheduler returned a {type(result).__name__}, not a SchedulingResult")
        result = replace(result, assignment=with_fixed(result.assignment))
        check_result(view, result)
        return result

    def _with_manual_workers(self, view: SchedulingView) -> SchedulingView:
        """Return the view with numbers of workers as placed by hand, until a rebalance changes them.

        Storm's own schedulers would otherwise spread topologies over as many workers as they were submitted
        with.
        """
        topologies = []
        for topology in view.topologies:
            asked, placed = self._manual_workers.get(topology.id, (0, 0))
            if asked != topology.workers:
                self._manual_workers.pop(topology.id, None)
            topologies.append(replace(topology, workers=placed) if asked == topology.workers else topology)
        return replace(view, topologies=tuple(topologies))

    def _manual_placement(self, view: SchedulingView) -> Assignment:
        """Return what the scheduler does not decide: a move by hand, or a first placement by hand."""
        live = set(view.usable_slots)
        pairs: list[tuple[Executor, Slot]] = []
        for topology in view.topologies:
            executors = view.executors[topology.id]
            if not view.unplaced(topology.id):
                self._running.add(topology.id)
            if self.install.of_topology(topology.id).slots == view.present.of_topology(topology.id).slots:
                # The move is done: from now on the scheduler may continue from there.
                others = ((e, s) for e, s in self.install.slots.items() if e.topology != topology.id)
                self.install = Assignment.of(others)
            for source, wanted in ((self.install, True), (self.placement, topology.id not in self._running)):
                slots = source.of_topology(topology.id).slots
                if wanted and set(slots) == set(executors) and set(slots.values()) <= live:
                    pairs += list(slots.items())
                    asked = self._manual_workers.get(topology.id, (topology.workers, 0))[0]
                    self._manual_workers[topology.id] = (asked, len(set(slots.values())))
                    break
        return Assignment.of(pairs)


def _answer_rows(request: Request, assignment: Assignment) -> dict[str, Any]:
    rows: dict[str, Any] = {storm_id: [] for storm_id in request.storm_id.values()}
    for slot, executors in assignment.workers().items():
        pairs = [[executor.start, executor.end] for executor in executors]
        topology = request.storm_id[executors[0].topology]
        # A worker may run on after its supervisor is gone; its slot then names the node by Storm's own id.
        rows[topology].append([request.supervisor.get(slot.node, slot.node), slot.port, pairs])
    return rows


def _rows(fields: object) -> Sequence[Mapping[str, Any]]:
    rows = fields.get("topologies") if isinstance(fields, Mapping) else None
    if not isinstance(rows, list):
        return []
    return [row for row in rows if isinstance(row, Mapping) and "id" in row]


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, StormLabError | InvalidAssignmentError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    timeout = 30

    def handle(self) -> None:
        line = self.rfile.readline(_LONGEST_LINE)
        if not line.strip():
            return
        try:
            fields = json.loads(line)
        except ValueError as error:
            self._send({"assign": {}, "status": {}, "error": f"the request is not JSON ({error})"})
            return
        with self.server.lock:
            answer, made = self.server.bridge.policy.answer(fields)
            # Before the answer, so rounds are in order, and none is missing if Nimbus ends after it.
            try:
                self.server.bridge.take(made)
            finally:
                self._send(answer)

    def _send(self, answer: Mapping[str, Any]) -> None:
        self.wfile.write(json.dumps(answer).encode() + b"\n")


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self.lock = threading.Lock()
        super().__init__(str(bridge.path), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        # Nimbus closed the connection in the middle of a line; it asks again in its next round.
        return


def check_socket_path(path: Path, field: str) -> None:
    """Refuse a path that is too long for a socket; `UserError` names ``field``."""
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        message = f"a socket's path has at most {_LONGEST_SOCKET_PATH} bytes"
        raise UserError(message, field=field, value=str(path), remedy="choose a shorter path")


class Bridge:
    """A socket at which a policy answers, for as long as a ``with`` block lasts.

    A socket that is no longer served is replaced; ``note`` is called with every round. Raises `UserError` if
    the path is longer than 107 bytes, cannot be written to, or is already served.
    """

    def __init__(self, path: Path, policy: Policy, note: Callable[[Round], None] = lambda made: None) -> None:
        self.path = path
        self.policy = policy
        self.rounds: list[Round] = []
        self._note = note

    def __enter__(self) -> Bridge:
        check_socket_path(self.path, "socket")
        message, remedy = "a socket cannot be created there", "choose another path, where you may write"
        with refused_by_system(message, field="socket", value=str(self.path), remedy=remedy):
            self._clear()
            self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, name="bridge", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.path.unlink(missing_ok=True)

    def take(self, made: Round) -> None:
        """Keep the record of a round."""
        self.rounds.append(made)
        self._note(made)

    def _clear(self) -> None:
        """Remove a leftover socket; refuse a socket that is served, and any other file."""
        if not self.path.exists():
            return
        if not self.path.is_socket():
            raise UserError("a file that is not a socket exists there", field="socket", value=str(self.path))
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.path))
            except ConnectionRefusedError:
                self.path.unlink()
                return
        message = "another scheduler already answers at this socket"
        remedy = "end it, or choose another path"
        raise UserError(message, field="socket", value=str(self.path), remedy=remedy)
