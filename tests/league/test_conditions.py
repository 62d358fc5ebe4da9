"""The conditions that a site takes besides topology, machines and sources, and those that it refuses."""

import dataclasses

import pytest

from storm_lab.calibration.constants_file import calibrated_cost
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.league.entrant import Entrant
from storm_lab.league.reader_site import Site
from storm_lab.league.stage import stage_runs
from storm_lab.model import Assignment, Slot, executors_of
from storm_lab.schedulers import SchedulingView, make_scheduler
from storm_lab.schedulers.baselines.given import GivenPlacement
from tests.league.test_reader_site import MACHINES, TOPOLOGY, run_of, site


def described(where: Site) -> EmulationSpec:
    entrant = Entrant("even", make_scheduler("even"))
    (spec,) = stage_runs(where, [entrant], {"seeds": [1]})
    return where.describe(entrant, spec)


def test_constants_are_given_by_name_as_a_cost_model_or_from_a_calibration() -> None:
    assert described(site(cost={"lan_us": 120.0})).cost == dataclasses.replace(CostModel(), lan_us=120.0)
    whole = dataclasses.replace(CostModel(), emit_us=5.0)
    assert described(site(cost=whole)).cost is whole
    assert described(site(cost=calibrated_cost())).cost == calibrated_cost()
    assert described(site(times={"jvm_start_s": 4.0})).times.jvm_start_s == 4.0


def test_settings_faults_and_pending_limits_reach_the_run() -> None:
    row = {"fault": "kill-node", "at_s": 100.0, "node": "small"}
    spec = described(site(settings={"nimbus.task.timeout.secs": 40}, faults=[row], max_spout_pending=7))
    assert spec.settings == {"nimbus.task.timeout.secs": 40}
    assert spec.faults == FaultPlan.of_rows([row])
    assert spec.topologies[0].topology.max_spout_pending == 7


def test_each_condition_gives_another_run() -> None:
    runs = [
        run_of(site(**conditions))
        for conditions in (
            {},
            {"cost": {"emit_us": 4.0}},
            {"times": {"jvm_start_s": 4.0}},
            {"settings": {"nimbus.task.timeout.secs": 40}},
            {"faults": [{"fault": "kill-node", "at_s": 100.0, "node": "small"}]},
            {"max_spout_pending": 7},
        )
    ]
    assert len(set(runs)) == len(runs)


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ({"bundle": 3}, "bundle: a site does not support this"),
        ({"fault": []}, "did you mean faults"),
        ({"cost": {"emitt_us": 1.0}}, "emitt_us.*CostModel has no such constant; did you mean emit_us"),
        ({"cost": {"emit_us": 1e9}}, "emit_us"),
        ({"settings": {"nimbus.task.timeout": 1}}, "nimbus.task.timeout.secs"),
        ({"faults": [{"fault": "kill-node", "at_s": 1.0, "node": "nowhere"}]}, "no such node"),
        ({"faults": [{"fault": "meteor", "at_s": 1.0}]}, "meteor"),
    ],
)
def test_unsupported_or_invalid_conditions_are_refused_by_name(
    conditions: dict[str, object], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        site(**conditions)


def test_a_given_placement_is_a_scheduler_that_reports_executors_without_a_slot() -> None:
    where = site()
    executors = executors_of(TOPOLOGY, where.version)
    big = Slot("big", 6700)
    view = SchedulingView((TOPOLOGY,), MACHINES, version=where.version)
    result = GivenPlacement(Assignment.of((each, big) for each in executors)).schedule(view)
    assert set(result.assignment.slots.values()) == {big}
    assert result.status["mine"].scheduled
    partly = GivenPlacement(Assignment.of((each, Slot("gone", 1)) for each in executors)).schedule(view)
    assert not partly.status["mine"].scheduled
    assert f"{len(executors)} executors" in partly.status["mine"].message


def test_a_fixed_first_placement_must_name_every_executor() -> None:
    executors = executors_of(TOPOLOGY, site().version)
    whole = Assignment.of((each, Slot("big", 6700)) for each in executors)
    assert described(site(placement=whole)).placement == whole
    with pytest.raises(UserError, match="placement"):
        site(placement=Assignment.of((each, Slot("big", 6700)) for each in executors[1:]))


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("cost", 3, "give a CostModel, or the constants"),
        ("times", "slow", "give ControlTimes, or"),
        ("timers", 3, "give Timers"),
        ("zookeeper", None, "give a ZooKeeperPlan"),
        ("settings", [1], "give values by Storm's full keys"),
        ("faults", 3, "or a list of faults"),
        ("placement", {"numbers": 1}, "give an Assignment"),
    ],
)
def test_conditions_of_the_wrong_type_are_refused_by_name(name: str, value: object, remedy: str) -> None:
    with pytest.raises(UserError, match=rf"^{name}.*has the wrong type; .*{remedy}"):
        site(**{name: value})
