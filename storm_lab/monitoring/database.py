"""The load database: loads measured by the monitors and schedules made by the generator, in SQLite.

It is an ordinary file (or ``:memory:``), written in one transaction per window. A schedule generator in
another process, or a person with SQL, can therefore read it while the topology runs. The tables are in
`SCHEMA`, with times in virtual ns, CPU in MHz, and traffic in tuples per second; ``_sample`` is the last
window, ``_average`` the moving average. The views ``latest_...`` show the newest window.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.model import Assignment, Executor, MeasuredLoad, Slot

SCHEMA = """
CREATE TABLE window (id INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL);
CREATE TABLE executor (
    id INTEGER PRIMARY KEY, topology TEXT NOT NULL, component TEXT NOT NULL,
    start_task INTEGER NOT NULL, end_task INTEGER NOT NULL, UNIQUE (topology, start_task));
CREATE TABLE executor_load (
    window INTEGER NOT NULL REFERENCES window, executor INTEGER NOT NULL REFERENCES executor,
    node TEXT NOT NULL, port INTEGER NOT NULL, mhz_sample REAL NOT NULL, mhz_average REAL NOT NULL,
    queued INTEGER NOT NULL, PRIMARY KEY (window, executor)) WITHOUT ROWID;
CREATE TABLE node_load (
    window INTEGER NOT NULL REFERENCES window, node TEXT NOT NULL, mhz_sample REAL NOT NULL,
    mhz_average REAL NOT NULL, PRIMARY KEY (window, node)) WITHOUT ROWID;
CREATE TABLE traffic (
    window INTEGER NOT NULL REFERENCES window, source INTEGER NOT NULL REFERENCES executor,
    target INTEGER NOT NULL REFERENCES executor, rate_sample REAL NOT NULL, rate_average REAL NOT NULL,
    PRIMARY KEY (window, source, target)) WITHOUT ROWID;
-- Root tuples that failed in the window.
CREATE TABLE failure (
    window INTEGER NOT NULL REFERENCES window, topology TEXT NOT NULL, failed INTEGER NOT NULL,
    PRIMARY KEY (window, topology)) WITHOUT ROWID;
-- Made by the generator; parameters are JSON, adopted is 0 or 1.
CREATE TABLE schedule (
    id INTEGER PRIMARY KEY, generated_ns INTEGER NOT NULL, scheduler TEXT NOT NULL, version TEXT NOT NULL,
    parameters TEXT NOT NULL, cause TEXT NOT NULL, adopted INTEGER NOT NULL, verdict TEXT NOT NULL);
CREATE TABLE schedule_slot (
    schedule INTEGER NOT NULL REFERENCES schedule, executor INTEGER NOT NULL REFERENCES executor,
    node TEXT NOT NULL, port INTEGER NOT NULL, PRIMARY KEY (schedule, executor)) WITHOUT ROWID;
-- The policy that the generator uses from then on; parameters are JSON.
CREATE TABLE swap (
    at_ns INTEGER NOT NULL, scheduler TEXT NOT NULL, version TEXT NOT NULL, parameters TEXT NOT NULL);
CREATE VIEW latest_executor_load AS
    SELECT e.topology, e.component, e.start_task, e.end_task, l.node, l.port, l.mhz_sample, l.mhz_average,
    l.queued FROM executor_load l JOIN executor e ON e.id = l.executor WHERE l.window = (SELECT max(id) FROM
    window);
CREATE VIEW latest_node_load AS
    SELECT node, mhz_sample, mhz_average FROM node_load WHERE window = (SELECT max(id) FROM window);
CREATE VIEW latest_traffic AS
    SELECT s.topology, s.component AS source_component, s.start_task AS source_task,
           t.component AS target_component, t.start_task AS target_task, r.rate_sample, r.rate_average
    FROM traffic r JOIN executor s ON s.id = r.source JOIN executor t ON t.id = r.target
    WHERE r.window = (SELECT max(id) FROM window);
"""
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class ExecutorLoad:
    """One executor in one window: its slot, its CPU (sample and average, MHz) and its receive queue."""

    slot: Slot
    mhz_sample: float
    mhz_average: float
    queued: int


@dataclass(frozen=True, slots=True)
class WindowLoad:
    """All that the monitors write about one window. Pairs are (sample, average)."""

    start_ns: int
    end_ns: int
    executors: Mapping[Executor, ExecutorLoad]
    nodes: Mapping[str, tuple[float, float]]
    traffic: Mapping[tuple[Executor, Executor], tuple[float, float]]
    failed: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GeneratedSchedule:
    """A schedule made by the generator. Only adopted schedules are installed."""

    generated_ns: int
    scheduler: str
    version: str
    parameters: str
    cause: str
    adopted: bool
    verdict: str
    assignment: Assignment


def parameters_json(parameters: object) -> str:
    """Return a policy's parameters as JSON with sorted keys."""
    if not is_dataclass(parameters) or isinstance(parameters, type):
        return "{}"
    return json.dumps(asdict(parameters), sort_keys=True, default=str)


class LoadDatabase:
    """The load database of one run, in a file or ``:memory:``.

    If the file holds the database of an older run, it is replaced.
    """

    _ids: dict[Executor, int]
    _read: tuple[tuple[int, int], MeasuredLoad | None] | None

    def __init__(self, path: str | Path = ":memory:") -> None:
        self._ids, self._read = {}, None
        if str(path) != ":memory:":
            _remove_older(Path(path))
        try:
            self._db = sqlite3.connect(path)
            self._db.executescript(f"PRAGMA user_version = {SCHEMA_VERSION};{SCHEMA}")
        except sqlite3.Error as error:
            message = f"the load database cannot be written ({error})"
            remedy = "choose a file in a folder that you may write to"
            raise UserError(message, field="database", value=str(path), remedy=remedy) from error

    @classmethod
    def open(cls, path: str | Path) -> LoadDatabase:
        """Open a database that another process writes, to read it and to add schedules.

        Raises `UserError` if the file is missing, is not a load database or has another schema version.
        """
        if not Path(path).is_file():
            raise UserError("there is no such file", field="database", value=str(path))
        opened = cls.__new__(cls)
        opened._ids, opened._read = {}, None
        opened._db = sqlite3.connect(path)
        try:
            (version,) = opened._db.execute("PRAGMA user_version").fetchone()
            if version != SCHEMA_VERSION:
                message = f"the file is not a load database of schema {SCHEMA_VERSION}"
                raise UserError(message, field="database", value=str(path))
            opened.load()
        except sqlite3.DatabaseError as error:
            message = f"the file is not a load database ({error})"
            raise UserError(message, field="database", value=str(path)) from error
        return opened

    def __enter__(self) -> LoadDatabase:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def write_window(self, load: WindowLoad) -> None:
        """Add one window in a single transaction."""
        with self._db as db:
            span = (load.start_ns, load.end_ns)
            window = db.execute("INSERT INTO window VALUES (NULL, ?, ?)", span).lastrowid
            executors = [
                (window, self._id(e), *x.slot, x.mhz_sample, x.mhz_average, x.queued)
                for e, x in load.executors.items()
            ]
            pairs = load.traffic.items()
            self._insert("executor_load", executors)
            self._insert("node_load", [(window, node, *mhz) for node, mhz in load.nodes.items()])
            self._insert("traffic", [(window, self._id(a), self._id(b), *rates) for (a, b), rates in pairs])
            self._insert("failure", [(window, *failed) for failed in load.failed.items()])

    def _insert(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        for row in rows[:1]:
            self._db.executemany(f"INSERT INTO {table} VALUES (?{', ?' * (len(row) - 1)})", rows)

    def load(self) -> MeasuredLoad | None:
        """Return the moving averages of the newest window, or None before the first."""
        # The first number changes when this process has written, the second when another one has.
        (others,) = self._db.execute("PRAGMA data_version").fetchone()
        newest = (self._db.total_changes, int(others))
        if self._read is None or self._read[0] != newest:
            self._read = (newest, self._read_load())
        return self._read[1]

    def _read_load(self) -> MeasuredLoad | None:
        db = self._db
        if db.execute("SELECT 1 FROM window LIMIT 1").fetchone() is None:
            return None
        executors = db.execute("SELECT id, topology, start_task, end_task, component FROM executor")
        by_id = {number: Executor(*names) for number, *names in executors}
        last = "(SELECT max(id) FROM window)"
        cpu = db.execute(
            f"SELECT executor, mhz_average FROM executor_load WHERE window = {last} ORDER BY executor"
        )
        traffic = db.execute(
            f"SELECT source, target, rate_average FROM traffic WHERE window = {last} ORDER BY source, target"
        )
        nodes = db.execute(f"SELECT node, mhz_average FROM node_load WHERE window = {last} ORDER BY node")
        return MeasuredLoad(
            cpu_mhz={by_id[e]: mhz for e, mhz in cpu},
            traffic={(by_id[s], by_id[t]): rate for s, t, rate in traffic},
            node_mhz=dict(nodes.fetchall()),
        )

    def write_schedule(self, schedule: GeneratedSchedule) -> int:
        """Add a schedule and return its number."""
        with self._db as db:
            columns = ("generated_ns", "scheduler", "version", "parameters", "cause", "adopted", "verdict")
            values = [getattr(schedule, column) for column in columns]
            number = db.execute("INSERT INTO schedule VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", values).lastrowid
            assert number is not None
            slots = schedule.assignment.slots.items()
            self._insert("schedule_slot", [(number, self._id(executor), *slot) for executor, slot in slots])
        return number

    def newest_adopted(self) -> tuple[int, Assignment, str] | None:
        """Return number, assignment and cause of the newest adopted schedule, or None."""
        row = self._db.execute(
            "SELECT id, cause FROM schedule WHERE adopted = 1 ORDER BY id DESC LIMIT 1"
        ).fetchone()
        if row is None:
            return None
        number, cause = row
        slots = self._db.execute(
            "SELECT e.topology, e.start_task, e.end_task, e.component, s.node, s.port FROM schedule_slot s"
            " JOIN executor e ON e.id = s.executor WHERE s.schedule = ? ORDER BY e.topology, e.start_task",
            (number,),
        )
        pairs = [(Executor(*row[:4]), Slot(*row[4:])) for row in slots]
        return number, Assignment.of(pairs), cause

    def write_swap(self, at_ns: int, scheduler: str, version: str, parameters: str) -> None:
        """Record which policy the generator uses from now on."""
        with self._db:
            self._insert("swap", [(at_ns, scheduler, version, parameters)])

    def _id(self, executor: Executor) -> int:
        number = self._ids.get(executor)
        if number is None:
            # Another process may have added the executor.
            self._db.execute(
                "INSERT OR IGNORE INTO executor (topology, component, start_task, end_task)"
                " VALUES (?, ?, ?, ?)",
                (executor.topology, executor.component, executor.start, executor.end),
            )
            (number,) = self._db.execute(
                "SELECT id FROM executor WHERE topology = ? AND start_task = ?",
                (executor.topology, executor.start),
            ).fetchone()
            self._ids[executor] = number
        return int(number)


def _remove_older(path: Path) -> None:
    """Remove the database of an older run; refuse any other file and leave it alone."""
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(path)) as older:
            tables = older.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.Error:
        tables = []
    if path.stat().st_size and ("executor_load",) not in tables:
        message = "the file exists and is not a load database"
        raise UserError(message, field="database", value=str(path), remedy="choose another name")
    path.unlink()
