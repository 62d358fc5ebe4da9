"""Storm's default scheduler with the slot order of another version: which machines new workers fill first."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from storm_lab.model.version import V0_9_3
from storm_lab.schedulers.contract import NoParameters, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.storm.default import DefaultScheduler

IN_TURN = "0.8.2"
MOST_FREE_FIRST = "0.9.3"
SLOT_ORDERS = (IN_TURN, MOST_FREE_FIRST)
"""Up to 0.9.2 machines are taken in the order of a map, from 0.9.3 on those with most free slots first."""


class DefaultSince093(Scheduler[NoParameters]):
    """``DefaultScheduler`` as from 0.9.3 on, whatever version the cluster plays.

    Nobody knows which order Twitter's own build had in 2014.
    """

    name: ClassVar[str] = "default-0.9.3"
    version: ClassVar[str] = "1"

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Schedule as Storm 0.9.3 does."""
        return DefaultScheduler().schedule(replace(view, version=V0_9_3))


def default_scheduler(slot_order: str) -> Scheduler[NoParameters]:
    """The default scheduler with the slot order of this version."""
    return DefaultScheduler() if slot_order == IN_TURN else DefaultSince093()
