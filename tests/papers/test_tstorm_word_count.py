"""T-Storm's Word Count as declared: what the paper prints, and what each run depends on."""

from storm_lab.model.executor import executors_of
from storm_lab.model.topology import Grouping
from storm_lab.papers.registry import experiment
from storm_lab.papers.tstorm.testbed import STORM, VERSION, section_v
from storm_lab.papers.tstorm.word_count import SLUG, costs, plan, topology

WORD_COUNT = experiment(SLUG)
DEFAULTS = WORD_COUNT.checked()


def test_the_topology_is_the_printed_one() -> None:
    declared = topology(DEFAULTS)
    assert {c.id: c.executors for c in declared.components} == {
        "reader": 2,
        "split": 5,
        "count": 5,
        "mongo": 5,
    }
    (by_word,) = declared.component("count").inputs
    assert (by_word.grouping, by_word.fields) == (Grouping.FIELDS, ("word",))
    assert declared.workers == 20
    assert len(executors_of(declared, VERSION)) == 19, "two ackers: 19 executors give 7 and 5 nodes"


def test_the_testbed_has_forty_slots_on_ten_nodes() -> None:
    cluster = section_v()
    assert (len(cluster.nodes), len(list(cluster.slots()))) == (10, 40)
    assert {node.capacity_mhz for node in cluster.nodes} == {8000.0}, "four cores of 2.0 GHz"
    assert {node.capacity_mhz for node in section_v(cores=2).nodes} == {4000.0}


def test_storm_runs_once_per_seed_and_tstorm_once_per_gamma_too() -> None:
    given = {"gammas": [1.0, 1.8], "seeds": [4, 5], "store_us_tried": [1000.0]}
    specs = WORD_COUNT.runs(WORD_COUNT.checked(given))
    assert [(spec.variant, spec.seed) for spec in specs[-2:]] == [
        ("storm-default-s1000", 4),
        ("tstorm-g1-s1000", 4),
    ]
    specs = specs[:-2]
    assert [(spec.variant, spec.seed) for spec in specs] == [
        (variant, seed) for variant in (STORM, "tstorm-g1", "tstorm-g1.8") for seed in (4, 5)
    ]
    assert "gamma" not in specs[0].parameters
    assert specs[-1].parameters.number("gamma") == 1.8


def test_a_line_of_eight_words_costs_what_the_parameter_says() -> None:
    prices = costs(DEFAULTS)
    assert round(prices.split_line_us + 8 * prices.split_word_us, 6) == DEFAULTS.number("split_us")
    assert round(prices.store_cpu_us + prices.store_server_us, 6) == DEFAULTS.number("store_us")


def test_the_plan_streams_every_line_to_both_readers() -> None:
    spec = WORD_COUNT.runs(DEFAULTS)[0]
    made = plan(spec)
    assert len(made.trace.sources["reader"]) == 3600
    assert made.sources["reader"].rate_per_s == 2 * DEFAULTS.number("lines_per_s")
    # Every word is counted once and stored once.
    words = (made.trace.emissions["stream"] == made.trace.streams.index(("split", "default"))).sum()
    assert len(made.trace.records) == 3600 + 3600 + 2 * words
