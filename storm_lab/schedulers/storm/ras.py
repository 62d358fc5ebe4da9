"""Storm's resource-aware scheduler (RAS), which packs executors by declared CPU and memory.

1.0.x has R-Storm as merged into Storm; 2.x has the backtracking search of the newest release. RAS ignores the
number of workers asked for.
"""

from __future__ import annotations

from storm_lab.errors import UserError
from storm_lab.model.version import V1_0_0, V2_0_0
from storm_lab.schedulers.ask import check_view
from storm_lab.schedulers.contract import NoParameters, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.storm import ras1, ras2_round


class ResourceAwareScheduler(Scheduler[NoParameters]):
    """``ResourceAwareScheduler`` in the form of 1.0.6 (for 1.0.x) or of 2.8.8 (for 2.x)."""

    name = "ras"
    version = "1"

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place topologies in order of users' shares and priorities.

        Raises `UserError` if the view's Storm version has no resource-aware scheduler, or one that is not
        built.
        """
        check_view(view)
        if view.version >= V2_0_0:
            return ras2_round.schedule_round(view)
        if view.version >= V1_0_0 and view.version.parts < (1, 1, 0):
            return ras1.schedule_round(view)
        message = "the resource-aware scheduler is available only for Storm 1.0 and 2.x"
        raise UserError(message, field="storm_version", value=str(view.version))
