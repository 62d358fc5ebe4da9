"""The suite: sittings that both runtimes can play, and scenes whose half follows from their name."""

from collections import Counter

import pytest

from storm_lab.emulator.control.faults.commands import KillTopology
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec, check_spec
from storm_lab.live.play import check_live, scaled
from storm_lab.live.releases import Release, find_release
from storm_lab.live.suite.build import as_played
from storm_lab.live.suite.scene import Half, Measure, Scene, Sitting, half_of
from storm_lab.live.suite.sittings import CALIBRATION, SITTINGS, find_sitting, releases_of
from storm_lab.runs.live_play import plays

MHZ = 2600.0
PLAYS = [(sitting, release) for sitting in SITTINGS.values() for release in releases_of(sitting)]
NAMES = [f"{sitting.name}-{release.label}" for sitting, release in PLAYS]


Played = tuple[tuple[Scene, ...], EmulationSpec]


@pytest.fixture(scope="module", params=PLAYS, ids=NAMES)
def played(request: pytest.FixtureRequest) -> Played:
    """The scenes of each sitting on each of its versions, and its description."""
    sitting, release = request.param
    return sitting.scenes(release.storm), sitting.describe(release.storm, MHZ)


def all_scenes(*, in_suite: bool = False) -> dict[str, tuple[Sitting, Release, Scene]]:
    """Return all scenes by full name, ``NAME@GENERATION``; with ``in_suite`` only those of the suite."""
    return {
        f"{scene.name}@{release.label}": (sitting, release, scene)
        for sitting, release in PLAYS
        if sitting.in_suite or not in_suite
        for scene in sitting.scenes(release.storm)
    }


def test_the_suite_has_at_least_forty_scenes_over_three_generations():
    scenes = all_scenes(in_suite=True)
    assert len(scenes) >= 40
    generations = Counter(name.rpartition("@")[2] for name in scenes)
    assert set(generations) == {"0.9", "0.9.7", "1.2", "2.8"}
    assert min(generations["0.9"], generations["2.8"]) >= 20


def test_the_suite_plays_forty_scenes_of_two_generations_in_35_minutes():
    chosen = plays(None, None, 1)
    scenes = [scene for play in chosen for scene in play.sitting.scenes(play.release.storm)]
    seconds = sum(play.sitting.describe(play.release.storm, MHZ).duration_s for play in chosen)
    starts_s = 30.0 * len(
        {
            (play.release.version, play.sitting.limit_cpu, play.sitting.pinned, play.sitting.c1_only)
            for play in chosen
        }
    )
    assert len({scene.name for scene in scenes}) == len(scenes) >= 40
    assert {play.release.label for play in chosen} == {"0.9", "2.8"}
    assert seconds + starts_s < 35 * 60


def test_the_calibration_sitting_is_short_and_measures_scenes_of_the_suite():
    sitting = find_sitting(CALIBRATION)
    others = {scene.name: scene for _, _, scene in all_scenes(in_suite=True).values()}
    for release in releases_of(sitting):
        assert sitting.describe(release.storm, MHZ).duration_s < 200
        for scene in sitting.scenes(release.storm):
            assert half_of(scene.name) is Half.CALIBRATES
            assert scene.measures == others[scene.name].measures


def test_both_runtimes_can_play_every_sitting(played: Played):
    _, spec = played
    check_spec(spec)
    check_live(spec, spec.cluster)


def test_a_scaled_run_keeps_the_times_at_which_topologies_are_submitted():
    spec = find_sitting("flood").describe(find_release("0.9.2").storm, MHZ)
    shorter = scaled(spec, load=0.5, longest_s=60.0)
    assert shorter.duration_s == 60.0
    submitted = [plan.submit_s for plan in spec.topologies]
    assert [plan.submit_s for plan in shorter.topologies] == submitted
    assert max(submitted) > 0


def test_scenes_fit_within_their_sitting_and_name_its_topologies(played: Played):
    scenes, spec = played
    topologies = {plan.topology.id for plan in spec.topologies}
    assert len({scene.name for scene in scenes}) == len(scenes)
    for scene in scenes:
        assert set(scene.topologies) <= topologies
        assert 0 <= scene.from_s < scene.to_s <= spec.duration_s
        # The emulator counts executed tuples without acks in windows of ten seconds.
        plan = next(plan for plan in spec.topologies if plan.topology.id == scene.topology)
        if Measure.THROUGHPUT in scene.measures and not all(s.anchored for s in plan.sources.values()):
            assert scene.from_s % 10 == 0
            assert scene.to_s - scene.from_s == 10


def test_the_emulator_adds_the_cost_of_the_players_clock():
    release = find_release("2.8")
    described = find_sitting("flood").describe(release.storm, MHZ)
    for plan, played in zip(described.topologies, as_played(described, CostModel()).topologies, strict=True):
        before, after = plan.trace.records["cpu_ns"], played.trace.records["cpu_ns"]
        # Calls take 0, 20 or 200 us; the player reads its clock in those of at least 20 us.
        assert set(before) <= {0, 20_000, 200_000}
        assert set(after - before) == {0, 2_200}
        assert (after[before == 0] == 0).all()
        assert played.trace.digest == plan.trace.digest


def test_the_emulator_submits_one_topology_after_another_as_the_player_does():
    described = find_sitting("flood").describe(find_release("2.8").storm, MHZ)
    times = [plan.submit_s for plan in as_played(described, CostModel()).topologies]
    assert [plan.submit_s for plan in described.topologies][:4] == [0.0, 0.0, 40.0, 40.0]
    assert times[:4] == [0.0, 0.84, 40.0, 40.84]


@pytest.mark.parametrize(
    ("sitting", "cores"),
    [
        ("control", 1.76),
        ("light", 1.76),
        ("flood", 2.0),
        ("linear", 2.0),
        ("logged", None),
        ("own-core", None),
    ],
)
def test_nodes_share_the_cores_of_the_machine_unless_each_has_its_own_core(sitting: str, cores: float | None):
    """Nodes without quotas share what a cluster may use; nodes with quotas compete for all cores."""
    described = find_sitting(sitting).describe(find_release("0.9").storm, 2500.0)
    assert described.cluster.shared_cores == cores


def test_another_worker_on_a_host_does_not_raise_costs(played: Played):
    _, spec = played
    assert {spec.cost.cache_sharing_factor(node, 5) for node in spec.cluster.nodes} == {1.0}


def test_no_two_topologies_share_a_slot(played: Played):
    _, spec = played
    owners = {}
    for executor, slot in spec.placement.slots.items():
        assert owners.setdefault(slot, executor.topology) == executor.topology


def test_no_saturated_topology_runs_while_others_are_measured(played: Played):
    # Saturated topologies are killed at the end of their scene.
    scenes, spec = played
    killed = {fault.topology: fault.at_s for fault in spec.faults.faults if isinstance(fault, KillTopology)}
    for scene in scenes:
        for plan in spec.topologies:
            end_s = killed.get(plan.topology.id)
            saturated = any(source.kind.name == "SATURATED" for source in plan.sources.values())
            if not saturated or plan.topology.id in scene.topologies:
                continue
            assert end_s is not None
            beside = {scene.to_s} == {end_s}  # measured side by side, each on its own nodes
            assert beside or end_s <= scene.from_s or plan.submit_s >= scene.to_s


def test_orderings_name_scenes_of_their_sitting():
    for sitting, release in PLAYS:
        scenes = {scene.name: scene for scene in sitting.scenes(release.storm)}
        for measure, one, other in sitting.orderings:
            assert measure in scenes[one].measures
            assert measure in scenes[other].measures


def test_a_scenes_half_follows_from_its_name_alone():
    # SHA-256 of the names begins with 0x91 and 0xe6 (sha256sum): odd and even.
    assert half_of("light-2000-one-worker") is Half.PREDICTED
    assert half_of("capacity-two-nodes") is Half.CALIBRATES
    found = Counter(half_of(scene.name) for _, _, scene in all_scenes(in_suite=True).values())
    assert found[Half.PREDICTED] >= 20
    assert found[Half.CALIBRATES] >= 20


def test_placements_of_the_linear_sitting_have_the_expected_workers():
    spec = find_sitting("linear").describe(releases_of(find_sitting("linear"))[0].storm, MHZ)
    workers = {
        plan.topology.id: spec.placement.of_topology(plan.topology.id).workers() for plan in spec.topologies
    }
    assert len(workers["linear-even-12"]) == 12
    assert len(workers["linear-even-6"]) == 6
    assert len(workers["linear-r-storm"]) <= 6
    for name, slots in workers.items():
        nodes = Counter(slot.node for slot in slots)
        assert max(nodes.values()) == (2 if name == "linear-even-12" else 1)


def test_describing_a_sitting_twice_gives_the_same_description():
    for sitting, release in PLAYS[:2]:
        one, other = (sitting.describe(release.storm, MHZ) for _ in range(2))
        assert (one.placement, one.faults, one.cluster) == (other.placement, other.faults, other.cluster)
        assert [p.trace.digest for p in one.topologies] == [p.trace.digest for p in other.topologies]
