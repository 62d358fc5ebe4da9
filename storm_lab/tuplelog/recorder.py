"""The interface of objects that take the rows of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Recorder(Protocol):
    """Takes rows of the tuple log's tables, as `storm_lab.tuplelog.writer.RunWriter` does."""

    def append(self, table: str, columns: Mapping[str, Any]) -> None:
        """Add rows: every column of the table's schema except ``run``."""
