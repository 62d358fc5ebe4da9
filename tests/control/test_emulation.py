"""Complete runs: refused specifications, results, and the agreement of the parts with each other."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from storm_lab.emulator.control.clock import SECOND, ns
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.control.times import ControlTimes, timers_of
from storm_lab.emulator.emulation import Emulation, EmulationSpec
from storm_lab.errors import UserError
from storm_lab.model import Assignment, Slot, executors_of
from storm_lab.model.version import V0_8_2, V0_9_7
from storm_lab.monitoring.online_scheduling import OnlineScheduling
from storm_lab.schedulers.contract import SchedulingResult, SchedulingView
from tests.control.real_world import TOPOLOGY, play, spec
from tests.control.world import Gather


def _refusals() -> list[tuple[EmulationSpec, str]]:
    good = spec()
    (plan,) = good.topologies
    lonely = Assignment.of([(executors_of(TOPOLOGY, V0_9_7)[0], Slot("node01", 6700))])
    return [
        (replace(good, duration_s=0.0), "duration_s = 0.0"),
        (replace(good, duration_s=float("nan")), "duration_s = nan"),
        (replace(good, duration_s="600"), "duration_s = '600': the run needs a number"),
        (replace(good, window_s=-1.0), "window_s = -1.0"),
        (replace(good, window_s=1e-9), "window_s = 1e-09"),
        (replace(good, sample_every=0), "sample_every = 0: the run needs a whole number"),
        (replace(good, seed=0.5), "seed = 0.5"),
        (replace(good, scheduler=Gather), "scheduler = .*: the run needs a Scheduler; give an instance"),
        (replace(good, settings={"no.such.key": 1}), "'no.such.key'.*no such setting.*there are"),
        (
            replace(good, settings={"nimbus.monitor.freq.secs": 5}, timers=timers_of(V0_9_7)),
            "'nimbus.monitor.freq.secs'.*set timers.nimbus_round_s instead",
        ),
        (replace(good, topologies=()), "topologies: the run has no topologies"),
        (replace(good, topologies=(plan, plan)), "topology = 'tree': the run has this topology twice"),
        (replace(good, topologies=(replace(plan, sources={}),)), "spout 'lines' of topology 'tree'"),
        (replace(good, times=ControlTimes(jvm_start_s=70.0)), "jvm_start_s = 70.0.*0 to 10 s"),
        (replace(good, placement=lonely), "placement: executor .* has no slot"),
        (
            replace(good, faults=FaultPlan.of_rows([{"fault": "kill-node", "at_s": 99, "node": "node01"}])),
            r"faults\[0\]\.at_s = 99.*outside the run",
        ),
    ]


@pytest.mark.parametrize(("bad", "message"), _refusals(), ids=lambda value: str(value)[:20])
def test_an_invalid_run_is_refused_before_it_is_built(bad: EmulationSpec, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Emulation(bad)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("version", "0.9.7", r"needs a StormVersion; give StormVersion.parse\('0.9.7'\)"),
        ("version", 99, "needs a StormVersion"),
        ("version", None, "needs a StormVersion, not None"),
        ("cluster", None, "needs a Cluster, not None"),
        ("topologies", None, "needs a tuple, not None"),
        ("cost", 1.0, "needs a CostModel"),
        ("services", None, "needs a tuple, not None"),
        ("services", ("monitor",), r"services\[0\] = 'monitor': the run needs a Service"),
        ("migration", "smooth", "needs a MigrationMethod"),
        ("faults", [], "needs a FaultPlan"),
        ("placement", {}, "needs an Assignment or None"),
        ("bundle", 10, "needs a Bundle"),
        ("unreached", "drop", "needs an Unreached or None; give Unreached.DROP or Unreached.KEEP"),
        ("control_only", "yes", "needs true or false"),
        ("settings", None, "needs a Mapping, not None"),
    ],
)
def test_a_field_of_a_wrong_type_is_refused_by_name(field: str, value: object, message: str) -> None:
    with pytest.raises(UserError, match=message) as refusal:
        Emulation(replace(spec(), **{field: value}))
    assert str(refusal.value).startswith(field)
    assert "\n" not in str(refusal.value)


def test_faults_and_times_of_a_wrong_type_are_refused() -> None:
    good = spec()
    with pytest.raises(UserError, match=r"faults\[0\] = 'kill-node': a fault plan needs a Fault"):
        Emulation(replace(good, faults=FaultPlan(("kill-node",))))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="submit_s = '5': topology 'tree' needs a number"):
        Emulation(replace(good, topologies=(replace(good.topologies[0], submit_s="5"),)))


def test_a_run_reaches_its_end_and_reports_progress_in_virtual_time() -> None:
    seen: list[tuple[int, int]] = []
    outcome = Emulation(spec(duration_s=20.0)).run(None, lambda now, end: seen.append((now, end)))
    assert outcome.duration_ns == ns(20)
    assert outcome.stopped == ""
    assert seen == [(second * SECOND, ns(20)) for second in range(1, 21)]


class _LeavesOneOut(Gather):
    """A scheduler that leaves out the last executor and still reports a complete schedule."""

    name = "forgetful"

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        whole = super().schedule(view)
        some = dict(list(whole.assignment.slots.items())[:-1])
        return SchedulingResult(Assignment(some), whole.status)


class _Stumbles(_LeavesOneOut):
    def schedule(self, view: SchedulingView) -> SchedulingResult:
        raise LookupError("no such thing")


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (_LeavesOneOut(), r"executor sink\[\d+,\d+\] of 'tree' has no slot, but the topology is reported"),
        (_Stumbles(), r"raised LookupError: no such thing \(test_emulation\.py, line \d+\)"),
    ],
    ids=["leaves one out", "stumbles"],
)
@pytest.mark.parametrize("online", [False, True], ids=["nimbus", "generator"])
def test_every_answer_of_a_policy_is_checked(policy: _LeavesOneOut, message: str, online: bool) -> None:
    run = spec(duration_s=60.0)
    if online:
        run = replace(run, services=(OnlineScheduling(policy, period_s=20.0),))
    else:
        run = replace(run, scheduler=policy)
    with pytest.raises(UserError, match=message) as refusal:
        Emulation(run).run()
    text = str(refusal.value)
    assert text.startswith("scheduler = 'forgetful': it")
    assert ("generation at " if online else "a topology has been submitted at 0 s") in text


def test_reporting_progress_does_not_change_the_run() -> None:
    quiet = Emulation(spec(duration_s=30.0)).run()
    watched = Emulation(spec(duration_s=30.0)).run(None, lambda now, end: None)
    assert quiet == watched


def test_a_given_placement_is_used_and_kept() -> None:
    slot = Slot("node03", 6702)
    hand = Assignment.of([(e, slot) for e in executors_of(TOPOLOGY, V0_9_7)])
    played = play(replace(spec(duration_s=60.0), placement=hand))
    assert played.outcome.final == hand
    assert set(played.rows.table("executions")["node"]) == {"node03"}


def test_the_control_table_holds_the_decisions_in_order_with_sorted_json() -> None:
    played = play(spec(duration_s=30.0))
    control = played.rows.table("control")
    assert list(control["time_ns"]) == sorted(control["time_ns"])
    assert list(control["action"][:2]) == ["submit", "assign"]
    assert len(control) == len(played.outcome.decisions)
    for text in control["detail"]:
        if text:
            detail = json.loads(text)
            assert list(detail) == sorted(detail)


def test_the_placements_table_holds_the_stays_of_the_control_plane() -> None:
    played = play(spec(duration_s=60.0, services=(OnlineScheduling(Gather(), period_s=20.0),)))
    table = played.rows.table("placements")
    logged = {
        (row.start_ns, row.end_ns, row.start_task, row.worker, row.node, row.port)
        for row in table.itertuples()
    }
    expected = {
        (
            stay.start_ns,
            -1 if stay.end_ns is None else stay.end_ns,
            stay.executor.start,
            stay.worker,
            stay.slot.node,
            stay.slot.port,
        )
        for stay in played.outcome.stays
    }
    assert logged == expected
    assert played.outcome.final.nodes_used() == ("node02",)


def test_measured_load_reaches_the_generator_from_the_real_data_plane() -> None:
    played = play(spec(duration_s=60.0, services=(OnlineScheduling(Gather(), period_s=20.0),)))
    (generated,) = [d for d in played.outcome.decisions if d.action == "generate-schedule"]
    match = re.match(r"less inter-node traffic: ([\d.]+) to 0.0 tuples/s", generated.reason)
    assert match is not None
    # Ten lines a second, each with 1.5 copies on average and the ackers' messages, mostly between nodes.
    assert 20 <= float(match[1]) <= 200


def test_a_smooth_hand_over_loses_fewer_tuples_than_a_restart() -> None:
    failed = []
    for smooth in (True, False):
        run = spec(duration_s=110.0, version=V0_8_2, services=(OnlineScheduling(Gather(), period_s=30.0),))
        roots = play(replace(run, migration=Smooth()) if smooth else run).rows.table("roots")
        late = roots[roots["emit_ns"] > ns(30)]
        failed.append(int(late["outcome"].isin(["failed", "lost"]).sum()))
    assert failed[0] < failed[1]
