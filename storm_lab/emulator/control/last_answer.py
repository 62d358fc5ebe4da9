"""A scheduler's last answer: in most of Nimbus' rounds nothing has changed since the round before."""

from __future__ import annotations

from typing import Any

from storm_lab.schedulers.ask import ask
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView


class LastAnswer:
    """Asks schedulers, but not twice in a row about the same view: the same view gives the same answer."""

    def __init__(self) -> None:
        self._last: tuple[Scheduler[Any], SchedulingView, SchedulingResult] | None = None

    def of(self, scheduler: Scheduler[Any], view: SchedulingView, case: str) -> SchedulingResult:
        """The scheduler's answer about the view, checked; ``case`` is what is asked, for messages.

        Raises:
            UserError: it is no answer; names scheduler, case, executor and slot.
        """
        if self._last is not None:
            asked, seen, result = self._last
            if asked is scheduler and seen == view:
                return result
        result = ask(scheduler, view, case=case)
        self._last = (scheduler, view, result)
        return result
