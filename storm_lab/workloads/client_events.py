"""Client events (Storm@Twitter, section 3.4): count the unique users of each second.

The spout reads events from Kafka and deserialises them, and distributors pass them on. User counters keep the
users seen in the current second and report their number once a second. Aggregators add up the reports. Events
are acked when they have been counted; reports are emitted outside the tuple trees of the events.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.workloads.splitmix import SplitMix
from storm_lab.workloads.usercode import Cost, Emit, SteadyBolt, SteadySpout, Values

EVENT_FIELDS = ("timestamp", "user_id")
REPORT_FIELDS = ("timestamp", "count")


@dataclass(frozen=True, slots=True)
class ClientEventCosts:
    """CPU time of the user code at the reference clock, in microseconds per call, and bytes of an event."""

    read_us: float
    distribute_us: float
    count_us: float
    aggregate_us: float
    event_bytes: int


class ReadEvents(SteadySpout):
    """Emits ``events`` events, a thousand to the second, of users drawn uniformly from ``users``."""

    def __init__(self, events: int, users: int, seed: int, costs: ClientEventCosts) -> None:
        draw = SplitMix(seed)
        records = ((number // 1000, draw.below(users)) for number in range(events))
        super().__init__(Cost(costs.read_us), records)
        self._event_bytes = costs.event_bytes

    def next_tuple(self, record: tuple[object, ...], emit: Emit) -> None:
        """Emit an event with its serialised size."""
        emit(*record, size=self._event_bytes)


class Distribute(SteadyBolt):
    """Passes an event on to the counter of its user."""

    def __init__(self, costs: ClientEventCosts) -> None:
        super().__init__(Cost(costs.distribute_us))
        self._event_bytes = costs.event_bytes

    def execute(self, values: Values, emit: Emit) -> None:
        """Emit the event unchanged."""
        emit(*values, size=self._event_bytes)


class CountUsers(SteadyBolt):
    """Counts the users of the current second and reports at every tick."""

    def __init__(self, costs: ClientEventCosts) -> None:
        super().__init__(Cost(costs.count_us))
        self._second: object = 0
        self.seen: set[object] = set()

    def execute(self, values: Values, emit: Emit) -> None:
        """Add the user; a new second begins without users."""
        second, user = values
        if second != self._second:
            self._second = second
            self.seen.clear()
        self.seen.add(user)

    def tick(self, emit: Emit) -> None:
        """Emit the second with its number of users."""
        emit(self._second, len(self.seen))

    def tick_cost(self) -> Cost:
        """Return the cost of an event."""
        return self._each


class AddReports(SteadyBolt):
    """Adds up the counters' reports, second by second."""

    def __init__(self, costs: ClientEventCosts) -> None:
        super().__init__(Cost(costs.aggregate_us))
        self.total: dict[object, int] = {}

    def execute(self, values: Values, emit: Emit) -> None:
        """Add a counter's report to the total of its second."""
        second, count = values
        assert isinstance(count, int)
        self.total[second] = self.total.get(second, 0) + count
