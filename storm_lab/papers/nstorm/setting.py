"""Settings of N-Storm's experiments: a method of migration, its cycles, and how many threads move.

All experiments of the paper play the same topology on the same servers, so runs are named by their setting
and not by the figure: what several figures compare is played once.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.experiments.parameter import Parameters, ParameterValue

REBALANCE = "rebalance"
RESTART = "restart"
THREADS = "threads"
"""Methods: Storm's rebalance command; worker-level restart (Storm*); thread-level update (N-Storm)."""

SYNC_S = 10.0
POLL_S = 3.0
"""The cycles T_s and T_w where the paper does not vary them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What one run is about.

    ``moved`` executors change places at each re-assignment, none with 0. ``sync_s`` is T_s, the supervisors'
    cycle; ``poll_s`` is T_w, that of the workers and of the supervisors' look at their processes.
    ``kill_delay_s`` turns N-Storm into N-Storm+. ``wait_s`` is the wait of the rebalance command.
    """

    method: str
    moved: int = 1
    sync_s: float = SYNC_S
    poll_s: float = POLL_S
    kill_delay_s: float = 0.0
    wait_s: float = 30.0

    @property
    def variant(self) -> str:
        """Its name among the runs, in characters of a file name."""
        if self.method == REBALANCE:
            return f"storm-wait{self.wait_s:g}-m{self.moved}"
        if self.method == RESTART:
            return f"storm-star-m{self.moved}"
        name = f"nstorm-plus{self.kill_delay_s:g}" if self.kill_delay_s else "nstorm"
        return f"{name}-{self.sync_s:g}-{self.poll_s:g}-m{self.moved}"

    @property
    def values(self) -> dict[str, ParameterValue]:
        """What a run of this setting depends on, beside the shared parameters."""
        values: dict[str, ParameterValue] = {
            "method": self.method,
            "moved": self.moved,
            "sync_s": self.sync_s,
            "poll_s": self.poll_s,
        }
        if self.method == THREADS:
            values["kill_delay_s"] = self.kill_delay_s
        if self.method == REBALANCE:
            values["wait_s"] = self.wait_s
        return values

    @classmethod
    def of(cls, parameters: Parameters) -> Setting:
        """The setting that a run's parameters describe."""
        optional = {
            name: parameters.number(name) for name in ("kill_delay_s", "wait_s") if name in parameters
        }
        return cls(
            parameters.text("method"),
            parameters.integer("moved"),
            parameters.number("sync_s"),
            parameters.number("poll_s"),
            **optional,
        )


STAR = Setting(RESTART)
NSTORM = Setting(THREADS)
"""Storm* and N-Storm with one moved executor, as in figure 6."""
