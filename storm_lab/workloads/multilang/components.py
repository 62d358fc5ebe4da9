"""Base classes of spouts and bolts with the interface of streamparse and pystorm.

Nothing is read from standard input or written to standard output: emits, acks and fails go to the
`CallCollector` of the recorder that drives the component.
"""

from __future__ import annotations

import logging
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from storm_lab.workloads.multilang.dsl import Spec

if TYPE_CHECKING:
    from storm_lab.workloads.multilang.emits import CallCollector


class Tuple(NamedTuple):
    """A tuple as a bolt receives it."""

    id: str
    component: str
    stream: str
    task: int
    values: Any


class ScriptRanError(BaseException):
    """A script has made its component and called ``run``; the recorder takes over from here."""

    def __init__(self, component: Any) -> None:
        super().__init__("run() was called")
        self.component = component


class Component:
    """What spouts and bolts share.

    Some real components do not call the constructor of their base class, so nothing here depends on it.
    """

    outputs: Any = None
    par: int = 1
    config: Any = None
    exit_on_exception = True
    topology_name: str | None = None
    task_id: int | None = None
    component_name: str | None = None
    storm_conf: Mapping[str, Any] = {}
    context: Mapping[str, Any] = {}
    debug = False
    pid = os.getpid()
    _collector: CallCollector

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @cached_property
    def logger(self) -> logging.Logger:
        """The logger of the component's class."""
        return logging.getLogger(f"{type(self).__module__}.{type(self).__name__}")

    def attach(self, collector: CallCollector, conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Give the component its configuration and context, as the handshake does; `initialize` follows."""
        self._collector = collector
        self.storm_conf, self.context = conf, context
        self.topology_name = conf.get("topology.name")
        self.task_id = context.get("taskid")
        self.component_name = context.get("componentid")

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Called once before the first tuple."""

    def log(self, message: Any, level: Any = None) -> None:
        """Log a message."""
        self.logger.info("%s", message)

    def raise_exception(self, exception: BaseException, tup: Any = None) -> None:
        """Report an exception to Storm."""
        self.logger.error("%r", exception)

    def report_metric(self, name: str, value: Any) -> None:
        """Report a metric to Storm."""

    def run(self) -> None:
        """Hand the component to the recorder, at the end of the script that made it."""
        raise ScriptRanError(self)

    @classmethod
    def spec(cls, *args: Any, **kwargs: Any) -> Spec:
        """Declare a component of a topology."""
        raise TypeError(f"specifications should either be bolts or spouts, not {cls.__name__}")


class Spout(Component):
    """A source of tuples."""

    def next_tuple(self) -> None:
        """Emit what there is to emit."""
        raise NotImplementedError

    def ack(self, tup_id: Any) -> None:
        """Called when a tuple has been processed fully."""

    def fail(self, tup_id: Any) -> None:
        """Called when a tuple has failed."""

    def activate(self) -> None:
        """Called when the topology has been activated."""

    def deactivate(self) -> None:
        """Called when the topology has been deactivated."""

    def emit(
        self,
        tup: Any,
        tup_id: Any = None,
        stream: str | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Emit a tuple, with an id if it is to be tracked."""
        tasks = self._collector.emit(self, tup, stream, direct_task, tup_id=tup_id)
        return tasks if need_task_ids else None

    @classmethod
    def spec(cls, name: str | None = None, par: Any = None, config: Any = None, **kwargs: Any) -> Spec:
        """Declare this spout in a topology."""
        return Spec(cls, is_spout=True, name=name, par=par, config=config)


class ReliableSpout(Spout):
    """A spout that emits failed tuples again, a few times."""

    max_fails = 3

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.failed_tuples: Counter[Any] = Counter()
        self.unacked_tuples: dict[Any, Any] = {}

    def ack(self, tup_id: Any) -> None:
        """Forget a tuple that has been acked."""
        self.failed_tuples.pop(tup_id, None)
        self.unacked_tuples.pop(tup_id, None)

    def fail(self, tup_id: Any) -> None:
        """Emit a failed tuple again, unless it has failed ``max_fails`` times."""
        kept = self.unacked_tuples.get(tup_id)
        if kept is None:
            return
        if self.failed_tuples[tup_id] >= self.max_fails:
            self.ack(tup_id)
            return
        self.failed_tuples[tup_id] += 1
        tup, how, named = kept
        self.emit(tup, tup_id, *how, **named)

    def emit(self, tup: Any, tup_id: Any = None, *how: Any, **named: Any) -> list[int] | None:
        """Do as `Spout.emit`, and keep the tuple until it is acked."""
        if tup_id is None:
            raise ValueError("a ReliableSpout must give every tuple an id")
        self.unacked_tuples[tup_id] = (tup, how, named)
        return super().emit(tup, tup_id, *how, **named)


class Bolt(Component):
    """A step that processes tuples."""

    auto_anchor = True
    auto_ack = True
    auto_fail = True

    @staticmethod
    def is_tick(tup: Tuple) -> bool:
        """Whether a tuple is a tick."""
        return tup.component == "__system" and tup.stream == "__tick"

    def process(self, tup: Tuple) -> None:
        """Handle a tuple."""
        raise NotImplementedError

    def process_tick(self, tup: Tuple) -> None:
        """Handle a tick tuple."""

    def emit(
        self,
        tup: Any,
        stream: str | None = None,
        anchors: Iterable[Any] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Emit a tuple, anchored to the current one unless ``anchors`` names others."""
        tasks = self._collector.emit(self, tup, stream, direct_task, anchors=anchors)
        return tasks if need_task_ids else None

    def emit_many(self, tuples: Iterable[Any], **kwargs: Any) -> None:
        """Emit several tuples (streamparse before 2)."""
        for tup in tuples:
            self.emit(tup, **kwargs)

    def ack(self, tup: Any) -> None:
        """Ack a tuple, given itself or by its id."""
        self._collector.acked = True

    def fail(self, tup: Any) -> None:
        """Fail a tuple, given itself or by its id."""
        self._collector.failed = True

    @classmethod
    def spec(
        cls, name: str | None = None, inputs: Any = None, par: Any = None, config: Any = None, **kwargs: Any
    ) -> Spec:
        """Declare this bolt in a topology."""
        return Spec(cls, is_spout=False, name=name, inputs=inputs, par=par, config=config)


class BatchingBolt(Bolt):
    """A bolt that collects tuples by key and processes them in batches, at ticks."""

    ticks_between_batches: float = 1

    _tick_counter = 0

    @cached_property
    def _batches(self) -> defaultdict[Any, list[Tuple]]:
        return defaultdict(list)

    def group_key(self, tup: Tuple) -> Any:
        """Return the key of the batch that a tuple belongs to."""
        return None

    def process_batch(self, key: Any, tups: list[Tuple]) -> None:
        """Handle a batch."""
        raise NotImplementedError

    def process(self, tup: Tuple) -> None:
        """Add a tuple to the batch of its group."""
        self._batches[self.group_key(tup)].append(tup)

    def process_tick(self, tick_tup: Tuple) -> None:
        """Process the batches once more than ``ticks_between_batches`` ticks have passed, as in pystorm."""
        self._tick_counter += 1
        if self._tick_counter > self.ticks_between_batches and self._batches:
            self.process_batches()
            self._tick_counter = 0

    def process_batches(self) -> None:
        """Handle all batches that have been collected."""
        batches, self._batches = self._batches, defaultdict(list)
        for key, tups in batches.items():
            self.process_batch(key, tups)


class TicklessBatchingBolt(BatchingBolt):
    """A batching bolt with a timer of its own in place of ticks."""

    secs_between_batches: float = 2

    def process_tick(self, tick_tup: Tuple) -> None:
        """Process the batches."""
        self.process_batches()
