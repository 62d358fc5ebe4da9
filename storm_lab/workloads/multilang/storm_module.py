"""A stand-in for Storm's multi-language module for Python, ``storm.py``: its functions and base classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from storm_lab.workloads.multilang.components import Bolt as _Bolt
from storm_lab.workloads.multilang.components import Spout as _Spout
from storm_lab.workloads.multilang.components import Tuple

_current: list[Any] = []  # the component whose call is running


def enter(component: Any) -> None:
    """Set the component that the recorder calls from here on."""
    _current[:] = [component]


def _here() -> Any:
    if not _current:
        raise RuntimeError("emit, ack and fail belong into a component's calls")
    return _current[0]


def emit(
    tup: Any,
    stream: str | None = None,
    anchors: Iterable[Any] = (),
    id: Any = None,
    directTask: int | None = None,
) -> list[int]:
    """Emit a tuple; return the ids of the tasks that it goes to."""
    component = _here()
    own = {"tup_id": id} if isinstance(component, _Spout) else {"anchors": list(anchors) or None}
    tasks: list[int] = component.emit(tup, stream=stream, direct_task=directTask, need_task_ids=True, **own)
    return tasks


def emitDirect(task: int, tup: Any, **kwargs: Any) -> None:
    """Emit a tuple to one task."""
    emit(tup, directTask=task, **kwargs)


emitBolt = emitSpout = emit
emitDirectBolt = emitDirect


def ack(tup: Any) -> None:
    """Ack a tuple."""
    _here().ack(tup)


def fail(tup: Any) -> None:
    """Fail a tuple."""
    _here().fail(tup)


def log(msg: Any, level: Any = 2) -> None:
    """Log a message."""


logTrace = logDebug = logInfo = logWarn = logError = reportError = log


def rpcMetrics(name: str, params: Any) -> None:
    """Report a metric."""


class BasicBolt(_Bolt):
    """A bolt whose emits are anchored and whose tuples are acked."""

    def process_tick(self, tup: Tuple) -> None:
        """Process a tick like any other tuple."""
        self.process(tup)


class Bolt(BasicBolt):
    """A bolt that acks its tuples itself."""

    auto_ack = False
    auto_anchor = False


class Spout(_Spout):
    """A spout."""

    def nextTuple(self) -> None:
        """Emit what there is to emit."""

    def next_tuple(self) -> None:
        """Call ``nextTuple``, which is the name of this method in ``storm.py``."""
        self.nextTuple()


__all__ = ["BasicBolt", "Bolt", "Spout", "Tuple", "ack", "emit", "emitBolt", "emitDirect", "fail", "log"]
