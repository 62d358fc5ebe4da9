"""From measured load to an installed schedule: monitors, database, generator, custom scheduler, swaps."""

from __future__ import annotations

import math
import pickle
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from storm_lab.emulator.control.clock import ns
from storm_lab.emulator.control.control_plane import ControlPlane, Sampler
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.errors import UserError
from storm_lab.model import Assignment, Cluster, Node, Slot
from storm_lab.monitoring.database import LoadDatabase, WindowLoad
from storm_lab.monitoring.generator import OverloadDetector, OverloadRule
from storm_lab.monitoring.monitor import MonitorPlan
from storm_lab.monitoring.online_scheduling import InitialConsolidation, OnlineScheduling, Swap
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView, TopologyStatus
from tests.control.fake_plane import FakePlane
from tests.control.world import build, chain, run_to, seconds_of


class _To(Scheduler):  # type: ignore[type-arg]
    """A scheduler that puts everything on given nodes and keeps the views it was given."""

    name = "to"
    version = "1"

    def __init__(self, *nodes: str, complete: bool = True) -> None:
        super().__init__()
        self.nodes = nodes
        self.complete = complete
        self.views: list[SchedulingView] = []

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        self.views.append(view)
        executors = [e for group in view.executors.values() for e in group]
        if not self.complete:
            executors.pop()
        pairs = [(e, Slot(self.nodes[i % len(self.nodes)], 6700)) for i, e in enumerate(executors)]
        status = {t.id: TopologyStatus(self.complete, "no place for one") for t in view.topologies}
        return SchedulingResult(Assignment.of(pairs), status)


Started = tuple[ControlPlane, FakePlane]


def _start(plan: OnlineScheduling, nodes: int = 3) -> Started:
    control, plane = build(nodes)
    plan.start(control, Sampler(control.clock, control.plane, ns(20)))
    plane.cpu_share = {"spout": 0.10, "bolt": 0.20, "__acker": 0.05}
    # Tasks: acker 1, bolts 2 to 4, spouts 5 to 7.
    plane.rates = {("chain", spout, bolt): 30.0 for spout in (5, 6, 7) for bolt in (2, 3, 4)}
    control.nimbus.submit(chain(workers=3))
    return control, plane


def test_the_generators_clock_starts_when_the_initial_period_is_over() -> None:
    control, _ = _start(OnlineScheduling(_To("node01"), period_s=100))
    run_to(control, 300)
    running = seconds_of(control, "running")[0]
    assert seconds_of(control, "start-clock") == [running]
    assert seconds_of(control, "generate-schedule") == [pytest.approx(running + 100, abs=1e-3)]


def test_with_a_consolidation_the_initial_period_includes_the_rebalance() -> None:
    control, plane = build(3)
    sampler = Sampler(control.clock, control.plane, ns(20))
    # The order in which both are started makes no difference.
    OnlineScheduling(_To("node01"), period_s=100).start(control, sampler)
    InitialConsolidation().start(control, sampler)
    control.nimbus.submit(chain(workers=6))
    run_to(control, 90)
    first, second = seconds_of(control, "running")
    assert seconds_of(control, "start-clock") == [second]
    # Up, then the message timeout of 30 s, then the supervisors' sync (at most 10 s) and a JVM start of 5 s.
    assert first + 30 + 5 <= second <= first + 30 + 10 + 5 + 0.1
    assert len(plane.alive) == 3
    assert len({plane.slots[worker].node for worker in plane.alive}) == 3


def test_a_topology_with_one_worker_per_node_is_not_rebalanced() -> None:
    control, _ = build(3)
    InitialConsolidation().start(control, Sampler(control.clock, control.plane, ns(20)))
    control.nimbus.submit(chain(workers=3))
    run_to(control, 90)
    assert control.log.of("rebalance") == []
    assert len(control.log.of("leave")) == 1


def test_the_generator_sees_average_loads_in_mhz_and_tuples_per_second() -> None:
    policy = _To("node01")
    control, _ = _start(OnlineScheduling(policy, period_s=200))
    run_to(control, 300)
    load = policy.views[0].load
    assert load is not None
    by_component = {e.component: mhz for e, mhz in load.cpu_mhz.items()}
    # The clock is 2000 MHz.
    assert by_component == {
        "__acker": pytest.approx(100.0),
        "bolt": pytest.approx(400.0),
        "spout": pytest.approx(200.0),
    }
    assert sum(load.node_mhz.values()) == pytest.approx(3 * 400 + 3 * 200 + 100)
    assert {round(rate, 6) for rate in load.traffic.values()} == {30.0}
    assert len(load.traffic) == 9


def test_an_adopted_schedule_is_fetched_within_the_fetch_period_and_installed() -> None:
    control, plane = _start(OnlineScheduling(_To("node01"), period_s=100, fetch_s=10))
    run_to(control, 200)
    (generated,) = seconds_of(control, "generate-schedule")
    (fetched,) = seconds_of(control, "fetch-schedule")
    assert generated <= fetched <= generated + 10
    assert control.nimbus.present.nodes_used() == ("node01",)
    run_to(control, 500)
    assert len(control.log.of("fetch-schedule")) == 1
    assert {entry.reason for entry in control.log.of("reject-schedule")} == {
        "the schedule is the present one"
    }
    assert {plane.slots[worker].node for worker in plane.alive} == {"node01"}


def test_a_schedule_that_gains_nothing_is_rejected() -> None:
    control, _ = _start(OnlineScheduling(_To("node02", "node03", "node01"), period_s=100))
    run_to(control, 200)
    (entry,) = control.log.of("reject-schedule")
    assert re.fullmatch(r"no gain: \d+\.0 to \d+\.0 tuples/s between nodes, 3 to 3 nodes", entry.reason)
    assert control.log.of("fetch-schedule") == []


def test_an_incomplete_schedule_leaves_the_present_assignment() -> None:
    control, _ = _start(OnlineScheduling(_To("node01", complete=False), period_s=100))
    run_to(control, 200)
    (entry,) = control.log.of("reject-schedule")
    assert entry.reason == "no complete schedule: no place for one"


def test_overload_triggers_a_schedule_at_once_and_not_again_during_the_pause() -> None:
    rule = OverloadRule(node_fraction=0.5, node_windows=2, pause_s=60)
    control, plane = _start(OnlineScheduling(_To("node01", "node02"), period_s=300, overload=rule))
    run_to(control, 100)
    plane.cpu_share["bolt"] = 3.0
    run_to(control, 180)
    # Windows end every 20 s; the average passes half of a node's 8000 MHz in the second and third of them.
    detected = seconds_of(control, "detect-overload")
    assert detected == [160.0]
    assert seconds_of(control, "generate-schedule")[0] == 160.0
    assert "uses" in control.log.of("detect-overload")[0].reason


def test_a_queue_that_stays_full_is_an_overload_even_if_no_core_is_busy() -> None:
    for length, expected in ((499, 0), (500, 1)):
        control, plane = _start(OnlineScheduling(_To("node01"), period_s=1000))
        plane.queue_length = {"bolt": length}
        run_to(control, 100)
        assert len(control.log.of("detect-overload")) == expected


def test_no_sign_of_zero_windows_is_an_overload() -> None:
    rule = OverloadRule(node_windows=0, executor_windows=0, queue_windows=0)
    control, plane = _start(OnlineScheduling(_To("node01"), period_s=1000, overload=rule))
    plane.queue_length, plane.failed, plane.cpu_share["bolt"] = {"bolt": 500}, {"chain": 7}, 8.0
    run_to(control, 200)
    assert control.log.of("detect-overload") == []


def test_failures_count_as_overload_only_when_the_rule_says_so() -> None:
    for windows, expected in ((0, 0), (3, 1)):
        rule = OverloadRule(failure_windows=windows, pause_s=1000)
        control, plane = _start(OnlineScheduling(_To("node01"), period_s=1000, overload=rule))
        plane.failed = {"chain": 7}
        run_to(control, 200)
        assert len(control.log.of("detect-overload")) == expected


def test_root_tuples_that_a_new_assignment_loses_are_no_overload() -> None:
    rule = OverloadRule(failure_windows=1, failure_pause=1, pause_s=0)
    policy = _To("node01", complete=False)
    control, plane = _start(OnlineScheduling(policy, period_s=1000, overload=rule))
    plane.failed = {"chain": 7}
    run_to(control, 200)
    control.nimbus.rebalance("chain", wait_s=10.0, workers=2, reason="asked for")
    run_to(control, 400)
    first, second = seconds_of(control, "running")
    detected = seconds_of(control, "detect-overload")
    assert detected, "what fails later is one"
    # Windows end every 20 s; a tuple fails within two timeouts of 30 s. The old workers go on for 10 s.
    assert not [time for time in detected if time < first + 60 or 210 < time < second + 60]
    assert {math.ceil((since + 60) / 20) * 20.0 for since in (first, second)} <= set(detected)


@pytest.mark.parametrize(
    ("failed", "noticed"),
    [
        # Windows of 20 s; spouts check for timeouts every 30 s, so every third window has no failures.
        ((1, 0, 1), [False, False, True]),
        ((1, 0, 0, 1, 0), [False] * 5),
        ((0, 1, 1, 1), [False, False, False, True]),
    ],
)
def test_failures_count_as_continuous_over_one_window_without_any_but_not_over_two(
    failed: tuple[int, ...], noticed: list[bool]
) -> None:
    detector = OverloadDetector(OverloadRule(failure_windows=3), Cluster((Node("node01"),)))
    windows = [WindowLoad(0, 1, {}, {}, {}, {"chain": number}) for number in failed]
    assert [detector.check(window) is not None for window in windows] == noticed


def test_the_policy_can_be_swapped_during_a_run_and_the_log_records_when() -> None:
    first, second = _To("node01"), _To("node02")
    control, _ = _start(OnlineScheduling(first, period_s=100, swaps=(Swap(150.0, second),)))
    run_to(control, 300)
    assert seconds_of(control, "use-policy") == [0.0, 150.0]
    assert len(first.views) == 1
    assert len(second.views) == 1


@pytest.mark.parametrize(
    ("said", "given"),
    [
        (r"swaps\[0\]\.at_s = -1", {"swaps": (Swap(-1.0, _To("node01")),)}),
        (r"swaps\[0\]\.policy = 'tstorm'", {"swaps": (Swap(1.0, "tstorm"),)}),  # type: ignore[arg-type]
        ("policy = 'tstorm': online scheduling needs a Scheduler", {"policy": "tstorm"}),
        ("monitor: online scheduling needs a MonitorPlan, not None", {"monitor": None}),
        ("alpha = 'x'", {"monitor": MonitorPlan(alpha="x")}),  # type: ignore[arg-type]
        ("fetch_s = 0", {"fetch_s": 0}),
        ("least_gain = nan: .*give 0 to 1", {"least_gain": math.nan}),
    ],
)
def test_invalid_plans_are_refused(said: str, given: dict[str, object]) -> None:
    with pytest.raises(UserError, match=f"^{said}"):
        _start(OnlineScheduling(**{"policy": _To("node01"), **given}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value"), [("node_fraction", math.nan), ("node_windows", 1.5), ("pause_s", -1)]
)
def test_invalid_rules_are_refused(field: str, value: float) -> None:
    with pytest.raises(UserError, match=f"^{field} = "):
        OverloadRule(**{field: value})  # type: ignore[arg-type]


def test_a_new_schedule_waits_while_nimbus_is_down() -> None:
    control, _ = _start(OnlineScheduling(_To("node01"), period_s=100))
    run_to(control, 110)
    control.nimbus.stop()
    run_to(control, 200)
    assert len(control.log.of("generate-schedule")) == 1
    assert control.log.of("fetch-schedule") == []
    control.nimbus.start()
    run_to(control, 211)
    assert len(control.log.of("fetch-schedule")) == 1


def test_a_schedule_onto_a_node_that_has_died_meanwhile_is_refused() -> None:
    control, _ = _start(OnlineScheduling(_To("node01"), period_s=100))
    run_to(control, 110)
    control.nimbus.stop()
    run_to(control, 150)
    control.supervisors["node01"].power_off("killed by the test")
    run_to(control, 200)
    control.nimbus.start()
    run_to(control, 211)
    (entry,) = control.log.of("refuse-schedule")
    assert entry.reason == "node node01 is no longer there"
    assert control.log.of("fetch-schedule") == []


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "load.sqlite"
    control, _ = _start(OnlineScheduling(_To("node01"), monitor=MonitorPlan(database=path), period_s=100))
    run_to(control, 150)
    return path


def test_another_process_reads_the_database_with_plain_sql(database: Path) -> None:
    with sqlite3.connect(database) as other:
        rows = other.execute(
            "SELECT component, count(*), round(avg(mhz_average)) FROM latest_executor_load GROUP BY component"
        ).fetchall()
        assert rows == [("__acker", 1, 100.0), ("bolt", 3, 400.0), ("spout", 3, 200.0)]
        assert other.execute("SELECT count(*) FROM latest_traffic").fetchone() == (9,)
        assert other.execute("SELECT scheduler, adopted FROM schedule").fetchall() == [("to", 1)]
        assert other.execute("SELECT count(*) FROM schedule_slot").fetchone() == (7,)
        assert other.execute("SELECT min(start_ns), max(end_ns) FROM window").fetchone() == (0, ns(140))


OTHER_PROCESS = """
import pickle, sys
from storm_lab.model import Assignment
from storm_lab.monitoring.database import LoadDatabase, WindowLoad
from storm_lab.monitoring.generator import generate
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.papers.tstorm import TStormParameters, TStormScheduler

topologies, cluster, version, slots = pickle.load(sys.stdin.buffer)
view = SchedulingView(topologies, cluster, version, Assignment(slots))
with LoadDatabase.open(sys.argv[1]) as database:
    number, schedule = generate(
        database, TStormScheduler(TStormParameters(gamma=3.0)), view, now_ns=0, cause="asked from outside"
    )
print(number, schedule.adopted, len(schedule.assignment.nodes_used()))
"""


def test_a_generator_in_another_process_writes_a_schedule_that_is_fetched(tmp_path: Path) -> None:
    path = tmp_path / "load.sqlite"
    plan = OnlineScheduling(_To("node01"), monitor=MonitorPlan(database=path), period_s=10_000)
    control, _ = _start(plan)
    run_to(control, 150)
    nimbus = control.nimbus
    told = (
        tuple(nimbus.topologies.values()),
        nimbus.live_cluster,
        control.version,
        dict(nimbus.present.slots),
    )
    answer = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS, str(path)],
        input=pickle.dumps(told),
        capture_output=True,
        check=True,
    )
    assert answer.stdout.decode().split() == ["1", "True", "1"]
    run_to(control, 165)
    (entry,) = control.log.of("fetch-schedule")
    assert entry.reason == "asked from outside"
    assert len(control.nimbus.present.nodes_used()) == 1
    run_to(control, 200)


def test_an_older_runs_database_is_replaced(database: Path) -> None:
    LoadDatabase(database).close()
    assert sqlite3.connect(database).execute("SELECT count(*) FROM window").fetchone() == (0,)


def test_any_other_file_is_not_replaced(tmp_path: Path) -> None:
    text, foreign = tmp_path / "thesis.txt", tmp_path / "thesis.sqlite"
    text.write_text("years of work")
    with closing(sqlite3.connect(foreign)) as thesis, thesis:
        thesis.execute("CREATE TABLE work (years INTEGER)")
    before = foreign.read_bytes()
    for path in (text, foreign, tmp_path):
        with pytest.raises(UserError, match="exists and is not a load database"):
            LoadDatabase(path)
    assert (text.read_text(), foreign.read_bytes()) == ("years of work", before)


def test_a_file_that_is_not_a_load_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        LoadDatabase.open(tmp_path / "absent.sqlite")
    (tmp_path / "text").write_text("not a database, but long enough to look at")
    with pytest.raises(UserError, match="is not a load database"):
        LoadDatabase.open(tmp_path / "text")


def test_tstorms_initial_period_of_about_a_minute_follows_from_the_cycles() -> None:
    # Two supervisor syncs (up to 10 s each), one download (1 s), the rebalance's 30 s, two JVM starts: 7 s
    # for four at once on four cores, as each uses 1.4 of them, then 5 s for one on each node.
    periods = []
    for seed in range(8):
        control, _ = build(10, seed=seed)
        InitialConsolidation().start(control, Sampler(control.clock, control.plane, ns(20)))
        control.nimbus.submit(chain(workers=40, executors=20))
        run_to(control, 90)
        periods.append(seconds_of(control, "running")[1])
    assert min(periods) > 43 + 2 * 5 and max(periods) < 43 + 2 * 10.1
    assert 57 <= sum(periods) / len(periods) <= 64


@pytest.mark.parametrize(
    "rows",
    [
        [
            {"fault": "deactivate-topology", "at_s": 5, "topology": "chain"},
            {"fault": "activate-topology", "at_s": 60, "topology": "chain"},
        ],
        [{"fault": "rebalance-topology", "at_s": 5, "topology": "chain", "wait_s": 20}],
        [{"fault": "kill-topology", "at_s": 5, "topology": "two", "wait_s": 30}],
    ],
    ids=["deactivated", "rebalanced", "killed"],
)
def test_a_command_delays_the_clock_of_the_generator_but_does_not_stop_it(
    rows: list[dict[str, object]],
) -> None:
    control, _ = build(3)
    plan = OnlineScheduling(_To("node01"), period_s=50, overload=None)
    plan.start(control, Sampler(control.clock, control.plane, ns(20)))
    control.nimbus.submit(chain())
    if rows[0]["topology"] == "two":
        control.nimbus.submit(chain(topology_id="two"))
    FaultPlan.of_rows(rows).start(control)
    run_to(control, 300)
    (started,) = seconds_of(control, "start-clock")
    assert 5.0 < started < 70.0
