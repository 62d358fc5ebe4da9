"""The sitting of the control plane: start, rebalance, crash of a worker, loss of a node."""

from __future__ import annotations

from storm_lab.emulator.control.faults.commands import RebalanceTopology
from storm_lab.emulator.control.faults.machines import KillNode
from storm_lab.emulator.control.faults.processes import KillWorker
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.live.suite.build import Chain, program_of
from storm_lab.live.suite.scene import Effect, Measure, Program, Scene, Schedule
from storm_lab.model import Slot, StormVersion
from storm_lab.model.version import V2_0_0

_RATE = SourcePlan(SourceKind.RATE, rate_per_s=100.0)
_READY_BY_S = 35.0
_TIME = (Measure.CONTROL,)


def control(version: StormVersion) -> Program:
    """Describe two chains at 100 tuples/s.

    One is rebalanced onto two workers; at the same time the other loses the worker of its bolt. Later the
    bolt's node is lost.
    """
    # The node is lost after everything has recovered, and the effect is watched until the end. Storm before
    # 1.0 detects a dead worker by its heartbeat, after 30 s, and 0.9.2 loses its sender too. From 2.0 on
    # Nimbus waits 120 s for executors that it has placed, and 60 s for a supervisor. In this order its next
    # answer leaves out the lost node.
    loss_s, end_s = (68.0, 158.0) if version >= V2_0_0 else (125.0, 190.0)
    crash = "crashing", _READY_BY_S, loss_s, _TIME
    schedule = Schedule(
        end_s,
        [
            KillWorker(_READY_BY_S, "n2", 6700),
            RebalanceTopology(_READY_BY_S, "moving", workers=2, wait_s=0.0),
            KillNode(loss_s, "n2"),
        ],
        [
            Scene("worker-start", "crashing", 0.0, _READY_BY_S, _TIME, effect=Effect.READY),
            Scene("crash-relaunch", *crash, effect=Effect.RELAUNCH, slot="n2:6700"),
            Scene("crash-silence", *crash, effect=Effect.RESUME),
            Scene("rebalance-silence", "moving", _READY_BY_S, loss_s, _TIME, effect=Effect.RESUME),
            Scene("node-loss-silence", "crashing", loss_s, end_s, _TIME, effect=Effect.RESUME),
        ],
    )
    home, bolt, other = Slot("n1", 6700), Slot("n2", 6700), Slot("n1", 6701)
    chains = (
        Chain("crashing", _RATE, (home,), (bolt,), (home,)),
        Chain("moving", _RATE, (other,), (other,), (other,)),
    )
    return program_of(version, schedule, chains, sample_every=1)
