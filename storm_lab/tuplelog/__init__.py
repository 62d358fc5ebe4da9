"""The log of a run on disk: its tables and its manifest, and the code that writes and reads both."""

from storm_lab.tuplelog.buffer import Coded
from storm_lab.tuplelog.manifest import Manifest, RunIdentity, Scalar, Status
from storm_lab.tuplelog.reader import Problem, Run, RunRefused, find_runs, open_run
from storm_lab.tuplelog.schema import TABLES
from storm_lab.tuplelog.writer import RunWriter

__all__ = [
    "TABLES",
    "Coded",
    "Manifest",
    "Problem",
    "Run",
    "RunIdentity",
    "RunRefused",
    "RunWriter",
    "Scalar",
    "Status",
    "find_runs",
    "open_run",
]
