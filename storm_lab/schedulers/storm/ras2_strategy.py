"""The strategies of Storm 2.x's resource-aware scheduler, by the names of their classes.

Source: ``org.apache.storm.scheduler.resource.strategies.scheduling`` of Storm 2.8.3, by its answers. Generic
resources are not built; without them the default and the generic strategy differ in name only.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.errors import UserError, unknown_name
from storm_lab.model import Topology
from storm_lab.model.settings import BY_PROXIMITY, STRATEGY, flag_of
from storm_lab.schedulers.storm.ras2_orders import Rank


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a topology's executors look for places.

    ``rank`` orders the nodes; ``sorts_again`` says whether they are sorted anew on the way. ``goes_round``:
    each executor goes on at the node after the one before, instead of starting at the first one again.
    """

    name: str
    rank: Rank = Rank.AVERAGE_THEN_LEAST
    sorts_again: bool = True
    goes_round: bool = False


_STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy("DefaultResourceAwareStrategy"),
        Strategy("GenericResourceAwareStrategy"),
        Strategy("DefaultResourceAwareStrategyOld", Rank.LEAST_THEN_AVERAGE, sorts_again=False),
        Strategy("GenericResourceAwareStrategyOld", Rank.AVERAGE),
        Strategy("RoundRobinResourceAwareStrategy", sorts_again=False, goes_round=True),
    )
}
_DEFAULT = "DefaultResourceAwareStrategy"


def strategy_of(topology: Topology) -> Strategy:
    """The strategy that the topology asks for, or Storm's default.

    Raises:
        UserError: it is not built, or the topology asks for an order of executors that is not.
    """
    name = str(topology.settings.get(STRATEGY, _DEFAULT)).rsplit(".", 1)[-1]
    if name not in _STRATEGIES:
        owner = f"topology {topology.id!r} asks for a strategy that is not built: storm_lab"
        raise unknown_name("strategy", name, _STRATEGIES, owner, field=STRATEGY)
    if flag_of(topology.settings, BY_PROXIMITY):
        raise UserError(
            f"topology {topology.id!r} asks for an executor order that is not built",
            field=BY_PROXIMITY,
            value=True,
            remedy="leave it out",
        )
    return _STRATEGIES[name]
