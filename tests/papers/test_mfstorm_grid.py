"""MF-Storm's grid as declared: cluster, inputs, topologies, refused cells and shared runs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow.parquet import read_table

from storm_lab.errors import UserError
from storm_lab.experiments.experiment import RunSpec
from storm_lab.papers.mfstorm.grid import cells, plan, traffic_log, variant
from storm_lab.papers.mfstorm.placement import (
    DEFAULT,
    ISOLATION,
    MF_STORM,
    RAS,
    comparable,
    refusal,
    representative_scenario,
    scheduling_result,
    slots_taken,
)
from storm_lab.papers.mfstorm.starter import KINDS, sentences, starter_words, trace, tweet_words, tweets
from storm_lab.papers.mfstorm.testbed import SCENARIOS
from storm_lab.papers.registry import experiment
from storm_lab.runs.digest import identity_of
from storm_lab.runs.execute import PlannedRun, play

SLUGS = tuple(
    f"mfstorm-{name}" for name in ("wordcount", "exclamation", "tweet-wordcount", "tweet-exclamation")
)


def specs_of(slug: str, **given: object) -> tuple[RunSpec, ...]:
    return experiment(slug).runs(experiment(slug).checked(given))


def of_the_grid(specs: Iterable[RunSpec]) -> list[RunSpec]:
    return [spec for spec in specs if not spec.variant.endswith("-late")]


def test_the_sentences_are_as_long_as_storm_starters() -> None:
    made = sentences("generated")
    assert [len(line.split()) for line in made.lines] == [6, 8, 6, 6, 6]
    assert made == sentences("generated")


def test_a_readers_own_file_is_streamed_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("one two\n\nthree\ntwo\n")
    assert sentences(str(file)).lines == tweets(str(file)).lines == ("one two", "three", "two")
    assert starter_words(str(file)).lines == ("one", "two", "three")
    assert tweet_words(str(file)).lines == ("one", "two", "three", "two")


def test_generated_tweets_and_words_have_the_printed_counts_and_lengths() -> None:
    made = tweets("generated")
    assert len(made.lines) == 5000
    assert max(map(len, made.lines)) <= 140
    assert min(map(len, made.lines)) >= 20
    assert len(tweet_words("generated").lines) == 2500
    assert len(starter_words("generated").lines) == 5


@pytest.mark.parametrize(
    ("kind", "shape"), [("word-count", (5, 8, 12)), ("exclamation", (10, 3, 2)), ("diamond", (4, 4, 4, 4))]
)
def test_topologies_have_storm_starters_shapes(kind: str, shape: tuple[int, ...]) -> None:
    assert tuple(component.executors for component in KINDS[kind].components) == shape


def test_every_word_of_every_emitted_sentence_is_counted_once() -> None:
    made = trace("word-count", "generated", 1000.0, 1)
    picks = len(made.sources["spout"])
    lines = Counter(
        made.records["emissions"][
            made.emissions["first_record"][made.records["first_emission"][made.sources["spout"]]]
        ]
    )
    words = sum(size * count for size, count in lines.items())
    assert picks == 5000
    assert set(lines) == {6, 8}, "six words or eight"
    assert len(made.records) == picks + picks + words


def test_resource_aware_takes_five_slots_for_word_counts_and_three_for_exclamations() -> None:
    for kind in ("word-count", "tweet-word-count"):
        assert [slots_taken(RAS, kind, name) for name in SCENARIOS] == [0, 0, 0, 5, 5, 5]
        assert [bool(refusal(RAS, kind, name)) for name in SCENARIOS] == [True] * 3 + [False] * 3
        assert not any(comparable(RAS, kind, name) for name in SCENARIOS)
    for kind in ("exclamation", "tweet-exclamation"):
        assert [slots_taken(RAS, kind, name) for name in SCENARIOS] == [3] * 6
        assert [name for name in SCENARIOS if comparable(RAS, kind, name)] == ["S3", "S5", "S6"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_other_schedulers_take_the_requested_slots_in_every_scenario(kind: str) -> None:
    for scheduler in (DEFAULT, ISOLATION, MF_STORM):
        assert all(comparable(scheduler, kind, name) for name in SCENARIOS)


def test_isolation_uses_one_machine_per_requested_slot() -> None:
    placed = (scheduling_result(ISOLATION, "word-count", each).assignment for each in SCENARIOS.values())
    nodes = [len(assignment.nodes_used()) for assignment in placed]
    assert nodes == [1, 2, 3, 2, 3, 3]


@pytest.mark.parametrize("slug", SLUGS)
def test_a_cell_has_a_run_per_seed_unless_its_scheduler_refuses(slug: str) -> None:
    specs = [spec for spec in of_the_grid(specs_of(slug, seeds=[4, 5, 4])) if spec.experiment == slug]
    refused = 3 if "wordcount" in slug else 0
    shared = 2 * 3
    assert len(specs) == 2 * (24 - refused - shared)
    assert {spec.seed for spec in specs} == {4, 5}


def test_word_count_is_also_played_with_late_jvms_in_runs_of_their_own() -> None:
    specs = [spec for spec in specs_of("mfstorm-wordcount") if spec.experiment == "mfstorm-wordcount"]
    late = [spec for spec in specs if spec.variant.endswith("-late")]
    assert len(late) == len(specs) / 2
    for spec in specs:
        found = spec.describe(spec).times.jvm_start_s if "S1-default" in spec.variant else None
        assert found in (None, 10.0 if spec in late else 0.0)
        assert ("jvm_start_s" in spec.parameters) == (spec in late)


def test_a_given_jvm_start_time_replaces_the_default_in_every_run_but_the_late_ones() -> None:
    specs = [spec for spec in specs_of("mfstorm-wordcount", jvm_start_s=5, seeds=[1]) if "S1" in spec.variant]
    assert {spec.describe(spec).times.jvm_start_s for spec in specs} == {5.0, 10.0}


@pytest.mark.parametrize("kind", KINDS)
def test_default_and_isolation_never_use_a_nodes_second_slot(kind: str) -> None:
    for scheduler in (DEFAULT, ISOLATION):
        for name in SCENARIOS:
            for seed in range(3):
                own, played = (
                    scheduling_result(scheduler, kind, SCENARIOS[scenario], seed=seed).assignment
                    for scenario in (name, representative_scenario(name, scheduler))
                )
                assert own.slots == played.slots


def test_every_cell_of_the_schedulers_that_fill_further_slots_is_played() -> None:
    for scheduler in (RAS, MF_STORM):
        assert all(representative_scenario(name, scheduler) == name for name in SCENARIOS)
    assert variant("S5", DEFAULT) == variant("S6", DEFAULT) == "S3-default"
    assert variant("S4", ISOLATION) == "S2-isolation"
    assert variant("S4", MF_STORM) == "S4-mf-storm"


def test_further_slots_change_nothing_in_a_run_under_default(tmp_path: Path) -> None:
    found = experiment("mfstorm-exclamation")
    (spec,) = cells(
        "x",
        "exclamation",
        found.checked({"seeds": [3], "duration_s": 60.0}),
        scenarios=("S3",),
        schedulers=(DEFAULT,),
    )
    tables = []
    for name in ("S3", "S6"):
        other = replace(spec, parameters=spec.parameters.changed(scenario=name))
        folder = play(PlannedRun.of(other, tmp_path))
        tables.append(read_table(folder / "executions.parquet").drop(["run"]))
    assert tables[0].num_rows > 0
    assert tables[0].equals(tables[1])


def test_only_mf_storms_runs_depend_on_a_previous_run() -> None:
    specs = specs_of("mfstorm-exclamation", seeds=[1])
    dependent = {spec.variant for spec in specs if "previous_s" in spec.parameters}
    assert dependent == {variant(name, MF_STORM) for name in SCENARIOS}


def test_the_summary_plays_no_cell_of_a_grid_again() -> None:
    specs = [spec for spec in specs_of("mfstorm-summary") if spec.experiment != "mfstorm-summary"]
    had = {identity_of(spec).run for slug in SLUGS for spec in of_the_grid(specs_of(slug))}
    assert {identity_of(spec).run for spec in specs} == had


def test_word_count_reads_the_tweet_word_counts_own_run_for_its_slots() -> None:
    tweet = "mfstorm-tweet-wordcount"
    shared = [spec for spec in specs_of("mfstorm-wordcount") if spec.experiment == tweet]
    own = {identity_of(spec).run for spec in specs_of(tweet)}
    assert {spec.variant for spec in shared} == {variant("S6", RAS)}
    assert {identity_of(spec).run for spec in shared} <= own


def test_spouts_sleep_before_every_emit_and_do_not_anchor() -> None:
    for slug, sleep_ns in zip(SLUGS, (100_000_000, 100_000_000, 50_000_000, 50_000_000), strict=True):
        made = plan(specs_of(slug, seeds=[1])[0])
        (source,) = made.sources.values()
        assert (source.sleep_ns, source.anchored) == (sleep_ns, False)


def test_beyond_has_awake_spouts_and_claims_nothing() -> None:
    specs = specs_of("mfstorm-beyond", seeds=[1])
    assert experiment("mfstorm-beyond").claims == ()
    kinds = {spec.parameters.text("topology") for spec in specs}
    assert kinds == {"word-count", "exclamation", "diamond", "star"}
    (source, *_) = plan(specs[0]).sources.values()
    assert source.sleep_ns == 0


def test_beyond_plays_all_seeds_where_hosts_are_random_and_fewer_elsewhere() -> None:
    specs = specs_of("mfstorm-beyond", seeds=[1, 2, 3], fixed_seeds=2)
    drawn = {spec.seed for spec in specs if spec.parameters.text("scheduler") == ISOLATION}
    fixed = {spec.seed for spec in specs if spec.parameters.text("scheduler") != ISOLATION}
    assert (drawn, fixed) == ({1, 2, 3}, {1, 2})


def test_two_spouts_of_a_star_have_a_source_each() -> None:
    specs = specs_of("mfstorm-beyond", seeds=[1])
    star = next(spec for spec in specs if spec.parameters.text("topology") == "star")
    assert set(plan(star).sources) == {"word-a", "word-b"}


def test_the_previous_run_measures_the_traffic_that_the_spouts_emit() -> None:
    spec = specs_of("mfstorm-exclamation", seeds=[1])[0]
    log = traffic_log(replace(spec.describe(spec), duration_s=200.0))
    by_edge: Counter[tuple[str, str]] = Counter()
    for (source, target), rate in log.load.traffic.items():
        by_edge[source.component, target.component] += rate
    # Ten executors, one word each 100 ms; the monitors average over windows, so the start fades away.
    assert by_edge["word", "exclaim1"] == pytest.approx(100, rel=0.02)
    assert by_edge["exclaim1", "exclaim2"] == pytest.approx(100, rel=0.02)
    assert [node for node, mhz in log.load.node_mhz.items() if mhz > 0] == ["A"], (
        "one worker, on the first node"
    )


def test_a_previous_run_shorter_than_a_window_is_refused() -> None:
    spec = specs_of("mfstorm-exclamation", seeds=[1])[0]
    with pytest.raises(UserError, match="previous_s"):
        traffic_log(replace(spec.describe(spec), duration_s=10.0, warm_up_s=0.0))


def test_parameters_out_of_range_are_refused_by_name() -> None:
    for given in ({"duration_s": 10.0}, {"sleep_ms": -1.0}, {"previous_s": 5.0}):
        with pytest.raises(UserError, match=next(iter(given))):
            experiment("mfstorm-wordcount").checked(given)


def test_a_single_cell_can_be_requested() -> None:
    found = experiment("mfstorm-exclamation")
    (spec,) = cells(
        "x",
        "exclamation",
        found.checked({"seeds": [3]}),
        scenarios=("S6",),
        schedulers=(MF_STORM,),
        prefix="p-",
    )
    assert (spec.experiment, spec.variant, spec.seed) == ("x", "p-S6-mf-storm", 3)
