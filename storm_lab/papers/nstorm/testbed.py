"""N-Storm's cluster, topology and source, and the parameters that its experiments share (section V-A)."""

from __future__ import annotations

from functools import lru_cache

from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, TopologyPlan
from storm_lab.errors import UserError
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.model.cluster import Cluster
from storm_lab.model.machines import TESTBEDS
from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.model.version import V0_9_7
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.text import BOOK, GENERATED, Text, load_text
from storm_lab.workloads.usercode import Bolt, Spout
from storm_lab.workloads.word_count import CountWords, ReadLines, SplitSentence, WordCountCosts
from storm_lab.workloads.workload_trace import WorkloadTrace

VERSION = V0_9_7
TOPOLOGY = "drpc-word-count"
MOVABLE = ("split", "count")
"""Bolts whose executors may be moved: 36 in all."""
WORKERS = 8
"""The printed "topology parallelism 8", understood as workers: two nodes of four slots, all in use."""
HEAP_MB = 1024.0
"""Heap of a worker (section V-A)."""

MESSAGES_DROPPED = "drop"
MESSAGES_KEPT = "wait"
"""What happens to messages to an executor that has moved but has not started yet."""

FIRST_RESULT = "first"
ALL_RESULTS = "all"
"""Which results answer a call."""

SUPERVISORS_INDEPENDENT = "alone"
SUPERVISORS_IN_TURN = "in turn"
"""How the supervisors were started: independently, or one after the other by a script."""
MIN_WORDS = 5
"""Smallest number of words in a sentence."""

WARM_UP_S = 30.0
"""Throughput is compared from here on, when every worker has been up for at least ten seconds."""
WINDOW_S = 60.0
"""Window of traffic and CPU in the log; no scheduler uses it here."""
FIRST_S = 50.0
PERIOD_S = 60.0
"""The first re-assignment is at 50 s, the next ones every 60 s (figure 6)."""


def servers() -> Cluster:
    """Two worker nodes with two eight-core Xeon E5-2620 v4 and 128 GB each; Nimbus has a third machine."""
    return TESTBEDS["nstorm"].cluster


CALLS = Parameter("calls", 2, "concurrent DRPC calls, not printed", within=(1, 256))
PATIENCE = Parameter(
    "patience_s",
    30.0,
    "how long a caller waits for an answer before it calls again: the topology's message timeout, Storm's "
    "default of which is 30 s, and the caller's own time-out when its spout has died; not printed",
    within=(1, 600, "s"),
)
POLL = Parameter(
    "poll_ms",
    10.0,
    "CPU of a worker's poll of its node's store; with every method, a refresh of its connections stops "
    "sending for the same time",
    within=(2, 30, "ms"),
)
COMMON: tuple[Parameter, ...] = (
    seed_parameter(
        "one emulation of every setting per seed, each with its own random phases of the supervisors, which "
        "have a large effect; the paper averages ten runs",
        tuple(range(1, 6)),
    ),
    Parameter("duration_s", 600.0, "virtual length of a run (section V-A)", within=(120, 7200, "s")),
    Parameter(
        "text",
        GENERATED,
        "text whose lines of 5 words or more are the calls' sentences; the paper says English sentences",
        choices=(GENERATED, BOOK),
        is_file=True,
    ),
    Parameter("words", 8, "longest sentence, in words; not printed", within=(MIN_WORDS, 15)),
    CALLS,
    Parameter(
        "think_ms",
        0.0,
        "pause of a caller between an answer and its next call; not printed",
        within=(0, 10000, "ms"),
    ),
    PATIENCE,
    Parameter(
        "messages",
        MESSAGES_DROPPED,
        "what happens to messages to an executor that has not started yet: dropped, as by 0.9.7, or kept by "
        "their senders (wait); the paper does not say it of its modified Storm",
        choices=(MESSAGES_DROPPED, MESSAGES_KEPT),
    ),
    Parameter(
        "answers",
        FIRST_RESULT,
        "what answers the call for a sentence: its first counted word, or all its words. Storm's DRPC server "
        "takes the first result that it receives, and the paper names no bolt that collects them",
        choices=(FIRST_RESULT, ALL_RESULTS),
    ),
    Parameter(
        "supervisors",
        SUPERVISORS_INDEPENDENT,
        "how the supervisors were started: independently, so that each polls at its own random time in each "
        "run, or in turn, so that they poll supervisors_apart_s apart in all runs; not printed",
        choices=(SUPERVISORS_INDEPENDENT, SUPERVISORS_IN_TURN),
    ),
    Parameter(
        "supervisors_apart_s",
        1.0,
        "with supervisors started in turn: time between their polls, up to the cycle of 10 s; not printed",
        within=(0, 10, "s"),
    ),
    Parameter(
        "readings",
        True,
        "also play other sets of values for what is not printed: callers that pause, and kept messages",
    ),
    Parameter(
        "round_trip_ms",
        2.0,
        "round trip of DRPC client and server: half before a call reaches the spout, half after its answer",
        within=(0.5, 2.0, "ms"),
    ),
    Parameter("split_us", 500.0, "CPU to split a sentence of 8 words; not printed", within=(50, 500, "us")),
    Parameter("count_us", 100.0, "CPU to count a word; not printed", within=(10, 100, "us")),
    Parameter(
        "jvm_start_s",
        5.0,
        "time from the start of a worker process until it listens; not printed",
        within=(5, 10, "s"),
    ),
    Parameter(
        "executor_start_ms", 150.0, "time to start a thread in a running worker", within=(50, 500, "ms")
    ),
    Parameter(
        "sync_ms",
        50.0,
        "N-Storm: CPU of a supervisor's sync, during which it does nothing else",
        within=(10, 100, "ms"),
    ),
    POLL,
)
"""Parameters that no figure prints. Absolute throughput is not printed either, so only ratios and times are
compared.
"""


def topology(patience_s: float = 30.0) -> Topology:
    """DRPC spout 8, split 12, count 24 grouped by word; eight workers with one acker each."""
    by_word = Subscription("split", grouping=Grouping.FIELDS, fields=("word",))
    components = (
        Component("drpc-spout", 8, outputs={"default": ("sentence",)}),
        Component("split", 12, inputs=(Subscription("drpc-spout"),), outputs={"default": ("word",)}),
        Component("count", 24, inputs=(by_word,), outputs={"default": ("word", "count")}),
    )
    return Topology(
        TOPOLOGY, components, workers=WORKERS, ackers=WORKERS, name=TOPOLOGY, message_timeout_s=patience_s
    )


def sentences(choice: str, words: int) -> Text:
    """Lines of a text with 5 to ``words`` words; `UserError` if it cannot be read or has no such line."""
    text = load_text(choice)
    chosen = tuple(line for line in text.lines if MIN_WORDS <= len(line.split()) <= words)
    if not chosen:
        message, remedy = f"has no line of {MIN_WORDS} to {words} words", "increase the parameter words"
        raise UserError(message, field="text", value=choice, remedy=remedy)
    return Text(text.name, chosen)


@lru_cache(maxsize=4)
def _trace(choice: str, words: int, split_us: float, count_us: float) -> WorkloadTrace:
    """Cached, so that the user code runs only once over the input that a process's runs share."""
    costs = WordCountCosts.of(split_us, read_us=50.0, count_us=count_us)
    code: dict[str, Spout | Bolt] = {
        "drpc-spout": ReadLines(sentences(choice, words), costs),
        "split": SplitSentence(costs),
        "count": CountWords(costs),
    }
    return build_trace(topology(), code, VERSION)


def plan(parameters: Parameters, text: str) -> TopologyPlan:
    """Topology, trace and closed-loop source of a run over the text that ``text`` names."""
    half_ns = round(parameters.number("round_trip_ms") * 1e6 / 2)
    think_ns = round(parameters.number("think_ms") * 1e6)
    patience_s = parameters.number("patience_s")
    trace = _trace(
        text, parameters.integer("words"), parameters.number("split_us"), parameters.number("count_us")
    )
    source = SourcePlan(
        SourceKind.CLOSED_LOOP,
        calls=parameters.integer("calls"),
        answer_ns=half_ns + think_ns,
        patience_ns=round(patience_s * 1e9),
        fetch_ns=half_ns,
        # A caller that wants an answer repeats its call when the tuple tree times out.
        on_fail=FailurePolicy.REPLAY,
        first_result=parameters.text("answers") == FIRST_RESULT,
    )
    return TopologyPlan(topology(patience_s), trace, {"drpc-spout": source})
