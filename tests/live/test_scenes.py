"""Scenes are descriptions that both the emulator and real Storm can play."""

import re
from dataclasses import replace

import pytest

from storm_lab.emulator.control.migration.nstorm import NStorm
from storm_lab.emulator.source import SourceKind
from storm_lab.emulator.spec import EmulationSpec, check_spec
from storm_lab.emulator.unreached import Unreached
from storm_lab.errors import UserError
from storm_lab.live.play import check_live
from storm_lab.live.releases import RELEASES
from storm_lab.live.scenes import HERE, NEXT_NODE, SCENES, find_scene, placed, scene_cluster
from storm_lab.model import ACKER, Slot, StormVersion, executors_of
from storm_lab.monitoring.random_moves import RandomMoves

MHZ = 2500.0
VERSIONS = [release.storm for release in RELEASES.values()]


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("name", SCENES)
def test_every_scene_describes_a_run_that_both_runtimes_can_play(name: str, version: StormVersion):
    spec = SCENES[name].describe(version, MHZ)
    check_spec(spec)
    check_live(spec, scene_cluster(MHZ))


@pytest.mark.parametrize("name", SCENES)
def test_describing_a_scene_twice_gives_the_same_description(name: str):
    one, other = (SCENES[name].describe(VERSIONS[0], MHZ) for _ in range(2))
    assert one.topologies[0].trace.digest == other.topologies[0].trace.digest
    assert one.placement == other.placement
    assert one.faults == other.faults


def test_light_load_is_placed_as_its_title_says():
    spec = find_scene("light-2n").describe(VERSIONS[0], MHZ)
    assert spec.placement is not None
    slots = {executor.component: slot for executor, slot in spec.placement.slots.items()}
    assert slots == {"spout": HERE, "bolt1": NEXT_NODE, "bolt2": HERE, ACKER: HERE}


def test_executors_of_a_component_are_assigned_to_its_slots_in_turn():
    spec = find_scene("light-1w").describe(VERSIONS[0], MHZ)
    topology = spec.topologies[0].topology
    wide = replace(
        topology, components=tuple(replace(component, executors=3) for component in topology.components)
    )
    a, b = Slot("n1", 6700), Slot("n2", 6700)
    where = {"spout": [a, b], "bolt1": [a], "bolt2": [b], ACKER: [a]}
    dealt = placed(executors_of(wide, VERSIONS[0]), where)
    spouts = [slot for executor, slot in sorted(dealt.slots.items()) if executor.component == "spout"]
    assert spouts == [a, b, a]


def test_the_error_for_an_unknown_scene_names_known_ones():
    with pytest.raises(UserError, match="light-1w"):
        find_scene("light-9w")


def test_a_run_that_cannot_be_played_live_is_refused():
    spec = find_scene("light-1w").describe(VERSIONS[0], MHZ)
    with pytest.raises(UserError, match="services"):
        check_live(replace(spec, services=(RandomMoves("chain", 1),)), scene_cluster(MHZ))
    with pytest.raises(UserError, match="differs from the one described"):
        check_live(spec, scene_cluster(2 * MHZ))


def _with_source(spec: EmulationSpec, **changes: object) -> EmulationSpec:
    (plan,) = spec.topologies
    source = replace(plan.sources["spout"], **changes)  # type: ignore[arg-type]
    return replace(spec, topologies=(replace(plan, sources={"spout": source}),))


def _with_topologies(spec: EmulationSpec, *names: str) -> EmulationSpec:
    (plan,) = spec.topologies
    plans = tuple(replace(plan, topology=replace(plan.topology, id=name)) for name in names)
    return replace(spec, topologies=plans, placement=None)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda spec: _with_source(spec, fetch_lines=9), "fetch_lines = 9"),
        (
            lambda spec: _with_source(spec, kind=SourceKind.CLOSED_LOOP, calls=2, first_result=True),
            "first_result = True: spout 'spout' has callers that take the first result",
        ),
        (
            lambda spec: replace(
                spec,
                topologies=tuple(
                    replace(plan, topology=replace(plan.topology, message_timeout_s=1.5))
                    for plan in spec.topologies
                ),
            ),
            "message_timeout_s = 1.5",
        ),
        (lambda spec: replace(spec, migration=NStorm()), "migration = 'NStorm'"),
        (lambda spec: replace(spec, unreached=Unreached.KEEP), "unreached = 'KEEP'"),
        (
            lambda spec: replace(spec, settings={"nimbus.task.timeout.secs": 5}),
            "settings = 'nimbus.task.timeout.secs': real Storm reads this setting when the cluster is",
        ),
        (lambda spec: _with_topologies(spec, "a.b", "a:b"), "would give it the name of topology 'a.b'"),
    ],
)
def test_what_real_storm_would_play_otherwise_is_refused_before_a_cluster_is_started(changed, words: str):
    spec = find_scene("chain-acked").describe(VERSIONS[0], MHZ)
    with pytest.raises(UserError, match=re.escape(words)):
        check_live(changed(spec), scene_cluster(MHZ))


def test_a_cluster_may_have_defaults_of_topologies():
    spec = find_scene("light-1w").describe(VERSIONS[0], MHZ)
    check_live(replace(spec, settings={"topology.debug": True}), scene_cluster(MHZ))


@pytest.mark.slow
def test_the_emulator_plays_a_scene(tmp_path):
    from storm_lab.emulator.emulation import Emulation
    from storm_lab.tuplelog import RunIdentity, RunWriter, open_run

    scene = find_scene("light-2n")
    spec = scene.describe(VERSIONS[0], MHZ)
    identity = RunIdentity("live", scene.name, {}, 1, str(spec.version), "c", "l", {})
    with RunWriter(tmp_path / "run", identity) as log:
        outcome = Emulation(spec).run(log)
        log.finish(duration_ns=outcome.duration_ns)
    rows = open_run(tmp_path / "run").table("roots", ["emit_ns", "outcome"]).to_pylist()
    for rate, start_s in ((2000, 35.0), (500, 50.0), (50, 65.0)):
        inside = [row for row in rows if start_s <= row["emit_ns"] / 1e9 < start_s + 10.0]
        assert abs(len(inside) - rate * 10.0) <= 2
