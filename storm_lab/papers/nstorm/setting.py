"""Settings of N-Storm's experiments: a migration method, its cycles, and the number of threads that move.

All experiments of the paper play the same topology on the same servers. Runs are therefore named by their
setting and not by the figure, so that settings that several figures compare are played once.
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
"""The cycles T_s and T_w in experiments that do not vary them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What distinguishes one run from the others.

    ``moved`` executors change places at each re-assignment; 0 moves none. ``sync_s`` is T_s, the supervisors'
    cycle. ``poll_s`` is T_w, the cycle of the workers and of the supervisors' check of their processes.
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
        """Name of the setting's runs, usable as a file name."""
        if self.method == REBALANCE:
            return f"storm-wait{self.wait_s:g}-m{self.moved}"
        if self.method == RESTART:
            return f"storm-star-m{self.moved}"
        name = f"nstorm-plus{self.kill_delay_s:g}" if self.kill_delay_s else "nstorm"
        return f"{name}-{self.sync_s:g}-{self.poll_s:g}-m{self.moved}"

    @property
    def values(self) -> dict[str, ParameterValue]:
        """Parameters on which a run of this setting depends, besides the shared ones."""
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
