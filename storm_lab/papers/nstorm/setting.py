"""Settings of N-Storm's experiments: a method of migration, its cycles, and how many threads move.

All experiments of the paper play the same topology on the same servers, so runs are named by their setting
and not by the figure: what several figures compare is played once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from storm_lab.experiments.experiment import Advance, RunSpec
from storm_lab.experiments.parameter import Parameters, ParameterValue
from storm_lab.papers.nstorm.testbed import VERSION, sentences

if TYPE_CHECKING:
    from storm_lab.tuplelog import RunWriter

RUNS = "nstorm-migration"
"""Name under which the runs of all figures lie."""

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

_SHARED = (
    "duration_s",
    "words",
    "calls",
    "round_trip_ms",
    "split_us",
    "count_us",
    "jvm_start_s",
    "poll_ms",
)
_OF_THREADS = ("executor_start_ms", "sync_ms")
"""Parameters that only a thread-level update depends on."""


def run_specs(
    parameters: Parameters,
    settings: Iterable[Setting],
    *,
    tag: str = "",
    own: Mapping[str, ParameterValue] | None = None,
) -> tuple[RunSpec, ...]:
    """Each setting once for every seed; equal settings are played once.

    ``tag`` ends the variants' names: it keeps runs with other shared parameters apart. ``own`` are further
    parameters of these runs.

    Raises:
        UserError: the text cannot be read.
    """
    text = parameters.text("text")
    digest = sentences(text, parameters.integer("words")).digest
    return tuple(
        RunSpec(
            experiment=RUNS,
            variant=setting.variant + tag,
            seed=seed,
            parameters=parameters.only(
                (*_SHARED, *(_OF_THREADS if setting.method == THREADS else ()))
            ).changed(**setting.values, **(own or {})),
            emulate=emulate,
            storm_version=VERSION,
            inputs={"sentences": digest},
            files={"text": text},
            # Roots tell the throughput; of the executions a few are enough.
            sample_every=1000,
        )
        for setting in dict.fromkeys(settings)
        for seed in dict.fromkeys(parameters.integers("seeds"))
    )


def trials(parameters: Parameters, name: str, settings: Iterable[Setting]) -> tuple[tuple[RunSpec, ...], ...]:
    """The settings with other values of one shared parameter, first seed only.

    The values are those of the parameter ``<name>_tried``, without the one that all other runs have.
    """
    seed = parameters.integers("seeds")[:1]
    wanted = tuple(settings)
    tried = [value for value in parameters.numbers(f"{name}_tried") if value != parameters[name]]
    return tuple(
        run_specs(
            parameters.changed(**{name: _as_type(parameters[name], value)}, seeds=seed),
            wanted,
            tag=trial_tag(name, value),
        )
        for value in dict.fromkeys(tried)
    )


def trial_tag(name: str, value: float) -> str:
    """What the variants of a trial end with: ``poll_ms`` 30 gives ``-poll30``."""
    return f"-{name.partition('_')[0]}{value:g}"


def _as_type(present: ParameterValue, value: float) -> ParameterValue:
    return int(value) if isinstance(present, int) else value


def emulate(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Play one run, and finish its log."""
    from storm_lab.papers.nstorm.play import play

    play(spec, writer, advance)
