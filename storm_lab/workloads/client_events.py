"""Client events (Storm@Twitter, section 3.4): users do things, and the unique ones are counted each second.

The spout reads events from Kafka and deserialises them, distributors pass them on, user counters keep the
users they have seen in the present second and report their number once a second, aggregators add the
reports up. Events are acked when they have been counted; reports are emitted outside their trees.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.usercode import Cost, Emit, SteadyBolt, SteadySpout, Values

EVENT_FIELDS = ("timestamp", "user_id")
REPORT_FIELDS = ("timestamp", "count")


@dataclass(frozen=True, slots=True)
class ClientEventCosts:
    """CPU of the user code at the reference clock, microseconds a call, and the size of an event, bytes."""

    read_us: float
    distribute_us: float
    count_us: float
    aggregate_us: float
    event_bytes: int


class ReadEvents(SteadySpout):
    """``events`` events of users drawn evenly from ``users``, a thousand to the second."""

    def __init__(self, events: int, users: int, seed: int, costs: ClientEventCosts) -> None:
        draw = SplitMix(seed)
        super().__init__(
            Cost(costs.read_us), ((number // 1000, draw.below(users)) for number in range(events))
        )
        self._event_bytes = costs.event_bytes

    def next_tuple(self, record: tuple[object, ...], emit: Emit) -> None:
        """Emit an event at its size on the wire."""
        emit(*record, size=self._event_bytes)


class Distribute(SteadyBolt):
    """Passes an event on, to the counter of its user."""

    def __init__(self, costs: ClientEventCosts) -> None:
        super().__init__(Cost(costs.distribute_us))
        self._event_bytes = costs.event_bytes

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the event as it came."""
        emit(*values, size=self._event_bytes)


class CountUsers(SteadyBolt):
    """Counts the users of the present second and reports at a tick."""

    def __init__(self, costs: ClientEventCosts) -> None:
        super().__init__(Cost(costs.count_us))
        self._second: object = 0
        self.seen: set[object] = set()

    def execute(self, values: Values, emit: Emit) -> None:
        """Note the user; a new second begins with none."""
        second, user = values
        if second != self._second:
            self._second = second
            self.seen.clear()
        self.seen.add(user)

    def tick(self, emit: Emit) -> None:
        """Emit the second with its number of users."""
        emit(self._second, len(self.seen))

    def tick_cost(self) -> Cost:
        """As an event."""
        return self._each


class AddReports(SteadyBolt):
    """Adds the counters' reports up, second by second."""

    def __init__(self, costs: ClientEventCosts) -> None:
        super().__init__(Cost(costs.aggregate_us))
        self.total: dict[object, int] = {}

    def execute(self, values: Values, emit: Emit) -> None:
        """Add a counter's report to its second."""
        second, count = values
        assert isinstance(count, int)
        self.total[second] = self.total.get(second, 0) + count
