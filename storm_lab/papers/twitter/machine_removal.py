"""Machine removal (section 3.4, figures 9 and 10): three of sixteen machines fail every 15 minutes.

One reading assumes that spouts fetch from Kafka. Storm's own Kafka spout of that time (storm-kafka of
storm-contrib) fetches in nextTuple, so acks wait for the fetch and their latency includes it. Fetches of tens
of milliseconds then cannot give a latency of 7.8 ms. The spout that Twitter released with Heron in 2016
fetches in a separate thread into a bounded queue (``SingleThreadIOExecutorService``, ``TransferCollector``).
If a fetch is under way and the last one is used up, nextTuple finds nothing, but the spout still receives
acks. The reading assumes that Twitter ran this spout in 2014.

A fetch begins when the last event of the previous one has been taken, so its start depends on the pending
limit: with two windows per fetch, it begins when the first window's acks are back. A spout then completes the
events of one fetch per fetch time plus latency, and the printed rows nearly obey this law.
"""

from __future__ import annotations

from itertools import pairwise

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Describe, Experiment, RunSpec, Settling
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, ParameterValue, seed_parameter
from storm_lab.experiments.readings import Tables
from storm_lab.experiments.trial import Trial, explained, variant_of
from storm_lab.papers.twitter import event_counting, testbed
from storm_lab.papers.twitter import machine_removal_measures as measures

SLUG = "twitter-machine-removal"

FETCH_READING = "fetches from Kafka by a thread of the spouts' client"
SIXTEEN_MACHINE_CLAIMS = ("twitter-thr-16m", "twitter-lat-16m")
"""The printed row of sixteen machines, throughput and latency."""
CHOSEN_ON = (*SIXTEEN_MACHINE_CLAIMS, *event_counting.FOUR_MACHINE_CLAIMS)
"""The claims on which this reading's numbers are chosen, and with them the window of all readings."""
WINDOWS = 2
"""Windows of pending tuples that a fetch brings: the smallest number with which a fetch waits for acks."""

PARAMETERS: tuple[Parameter, ...] = (
    seed_parameter("one emulation per seed; stable levels differ by about a per cent. The paper has one run"),
    Parameter("stage_s", 900.0, "time from one removal to the next (section 3.4)", within=(180, 3600, "s")),
    Parameter(
        "bundle",
        600,
        "tuples played as one; a latency times the bundle must stay below the message timeout. 1 is the full "
        "scale with 4 x 10^8 root tuples and takes hours for each seed",
        within=(1, 1000),
    ),
    Parameter(
        "pending_tried",
        (5, 7),
        "other limits of pending tuples, played with the first seed on machines none of which has failed",
        within=(5, 20),
    ),
    Parameter("ackers_tried", (30, 40), "other numbers of ackers, as above", within=(20, 50)),
    Parameter(
        "supply_million_a_min",
        4.5,
        "million events per minute that arrive in a run whose log is not always full: less than 13 machines "
        "can process. Three of its 16 machines fail; first seed only",
        within=(1, 20),
    ),
    Parameter(
        "slot_order",
        testbed.IN_TURN,
        "the Storm version whose slot order is used: up to 0.9.2 new workers fill machines in turn, from "
        "0.9.3 on those with most free slots first, so that workers are spread evenly after a removal. Not "
        "printed; the other order is played as a reading",
        choices=testbed.SLOT_ORDERS,
    ),
    Parameter(
        "fetch_ms",
        23.0,
        "reading with Kafka's fetches: how long a fetch of two windows of pending tuples takes. Chosen on "
        "the row of 16 machines",
        within=(1, 1000, "ms"),
        chosen_on=SIXTEEN_MACHINE_CLAIMS,
    ),
    Parameter(
        "fetch_bolt_us",
        180.0,
        "reading with Kafka's fetches: CPU of a call of a bolt, in place of distribute_us and count_us. "
        "Chosen on the row of 4 machines, whose processors are full",
        within=(5, 1000, "us"),
        chosen_on=event_counting.FOUR_MACHINE_CLAIMS,
    ),
    Parameter("reading_seeds", 3, "number of seeds for the other order of slots", within=(1, 30)),
    *event_counting.TOPOLOGY_PARAMETERS,
)
TRIED_MACHINES = (16, 4)
TRIED_S = 90.0
"""Length of the full load in the short runs; the last two thirds count."""
SUPPLIED_BUNDLE = 300
SUPPLIED_TIMEOUT_S = 30.0
"""With few tuples in flight, latencies are short enough for Storm's own message timeout."""


def readings(parameters: Parameters) -> tuple[tuple[Trial, tuple[int, ...]], ...]:
    """Other readings of what is not printed, with their seeds: the order of slots, and Kafka's fetches.

    All seeds play the fetches, to distinguish the rows of the table.
    """
    order = next(name for name in testbed.SLOT_ORDERS if name != parameters.text("slot_order"))
    few = parameters.seeds[: parameters.integer("reading_seeds")]
    slots = Trial("slots", f"machines filled as by Storm {order}", {"slot_order": order}, reading=True)
    fetches: dict[str, ParameterValue] = {
        "fetch_ms": parameters.number("fetch_ms"),
        "fetch_lines": WINDOWS * parameters.integer("max_spout_pending"),
        "fetch_thread": True,
        "distribute_us": parameters.number("fetch_bolt_us"),
        "count_us": parameters.number("fetch_bolt_us"),
    }
    fetching = Trial("fetch", FETCH_READING, fetches, reading=True, chosen_on=CHOSEN_ON)
    return (slots, few), (fetching, parameters.seeds)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """One run of all stages per seed, runs for each reading, and additional short ones.

    The short ones have other windows, other numbers of ackers, or a log that is not always full.
    """
    first = parameters.seeds[:1]
    stages = parameters.only(("stage_s", "bundle", "slot_order", *event_counting.TOPOLOGY_NAMES))
    settings: list[tuple[str, Parameters, Describe, tuple[int, ...]]] = [
        (measures.VARIANT, stages, describe, parameters.seeds)
    ]
    for reading, seeds in readings(parameters):
        values = stages.changed(**reading.changes)
        settings.append((variant_of(measures.VARIANT, reading), values, describe, seeds))
    pending, ackers = parameters.integer("max_spout_pending"), parameters.integer("ackers")
    tried = [(pending, ackers)]
    tried += [(limit, ackers) for limit in parameters.integers("pending_tried")]
    tried += [(pending, number) for number in parameters.integers("ackers_tried")]
    fresh = parameters.only(("bundle", *event_counting.TOPOLOGY_NAMES))
    for limit, number in dict.fromkeys(tried):
        for count in TRIED_MACHINES:
            values = fresh.changed(machines=count, max_spout_pending=limit, ackers=number)
            settings.append((measures.fresh_variant(count, limit, number), values, describe_fresh, first))
    supplied = parameters.only(("supply_million_a_min", *event_counting.TOPOLOGY_NAMES)).changed(
        bundle=SUPPLIED_BUNDLE, message_timeout_s=SUPPLIED_TIMEOUT_S
    )
    settings.append((measures.SUPPLIED, supplied, describe_supplied, first))
    return tuple(
        RunSpec(SLUG, variant, seed, values, described, testbed.VERSION, sample_every=500)
        for variant, values, described, seeds in settings
        for seed in seeds
    )


def removals(stage_s: float) -> list[dict[str, object]]:
    """Rows of a fault plan: after each stage but the last, the last machines fail for good."""
    return [
        row
        for stage, (before, after) in enumerate(pairwise(testbed.MACHINES), start=1)
        for row in testbed.machine_failures(stage * stage_s, before, after)
    ]


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    stage_s = spec.parameters.number("stage_s")
    return event_counting.counting(
        spec,
        removals(stage_s),
        duration_s=stage_s * len(testbed.MACHINES),
        warm_up_s=measures.settled_from_s(stage_s, 0),
        window_s=stage_s,
    )


def describe_fresh(spec: RunSpec) -> EmulationSpec:
    """Describe a short run at full load on machines none of which has failed."""
    return event_counting.counting(
        spec,
        event_counting.load_ramp(),
        count=spec.parameters.integer("machines"),
        duration_s=event_counting.FULL_FROM_S + TRIED_S,
        warm_up_s=event_counting.FULL_FROM_S + TRIED_S / 3,
        ramped=True,
    )


def describe_supplied(spec: RunSpec) -> EmulationSpec:
    """Describe a run on 16 machines, three of which fail; its log fills slower than 13 machines can read."""
    arriving = spec.parameters.number("supply_million_a_min") * 1e6 / 60
    failures = testbed.machine_failures(measures.SUPPLIED_AT_S, *testbed.MACHINES[:2])
    return event_counting.counting(
        spec,
        [*event_counting.load_ramp(arriving), *failures],
        duration_s=measures.SUPPLIED_S,
        warm_up_s=measures.SUPPLIED_AT_S,
        ramped=True,
    )


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of section 3.4, in the setting itself and under the readings."""
    found = measures.measure_stages(tables, parameters)
    for reading, seeds in readings(parameters):
        found += explained(measures.measure_stages, tables, parameters.changed(seeds=seeds), (reading,))
    return found


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="Storm@Twitter",
    title="Machines are taken away from a running topology",
    figure="Figures 9 and 10",
    parameters=PARAMETERS,
    notebook="twitter/machine_removal.ipynb",
    metrics=(
        "latency_10s",
        "latency_60s",
        "steady_latency",
        "throughput_10s",
        "throughput_60s",
        "failures_60s",
        "stays",
        "node_cpu_60s",
    ),
    runs=runs,
    measure=measure,
    # In one run out of six Nimbus sees a removal in two rounds. From then on workers are spread less evenly.
    settling=(
        Settling(
            (
                *(
                    f"twitter-{value}-{count}m"
                    for count in testbed.MACHINES[1:-1]
                    for value in ("thr", "lat")
                ),
                "twitter-spike-size",
            ),
            variants=(f"{measures.VARIANT}-fetch",),
            reading=FETCH_READING,
            metrics=("latency_60s", "throughput_60s"),
        ),
        Settling(
            ("twitter-thr-10m", "twitter-lat-10m", "twitter-lat-7m", "twitter-spike-size"),
            variants=(measures.VARIANT,),
            metrics=("latency_60s", "throughput_60s"),
        ),
    ),
)
