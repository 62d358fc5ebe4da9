"""Exported topologies, checked by hand."""

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.live.trace_export import export_plan, set_rate, spout_path, storm_name, topology_settings
from storm_lab.model import Cluster, Component, Grouping, Node, StormVersion, Subscription, Topology
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.java_values import payload_bytes
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, Values

V2 = StormVersion((2, 8, 3))
ORIGIN = 1_000_000_000_000


class _Words(Spout):
    def records(self):
        yield from [("a b",), ("c",)]

    def cost(self, record):
        return Cost(10.0)


class _Split(Bolt):
    def execute(self, values: Values, emit: Emit) -> None:
        for word in str(values[0]).split():
            emit(word)

    def cost(self, values):
        return Cost(4.0, server="db", server_us=7.0)


class _Sink(Bolt):
    def execute(self, values: Values, emit: Emit) -> None:
        pass

    def cost(self, values):
        return Cost(1.0)


def _topology(grouping: Grouping = Grouping.FIELDS, **settings) -> Topology:
    return Topology(
        "word.count",
        (
            Component("lines", executors=2, outputs={"default": ("line",)}),
            Component("split", inputs=(Subscription("lines"),), outputs={"default": ("word",)}),
            Component(
                "count", executors=3, inputs=(Subscription("split", grouping=grouping, fields=("word",)),)
            ),
            Component("tap", inputs=(Subscription("split"),)),
        ),
        workers=2,
        max_spout_pending=50,
        settings=settings,
    )


def _plan(topology: Topology, source: SourcePlan) -> TopologyPlan:
    code = {"lines": _Words(), "split": _Split(), "count": _Sink(), "tap": _Sink()}
    return TopologyPlan(topology, build_trace(topology, code, V2), {"lines": source})


RATE = SourcePlan(SourceKind.RATE, rate_per_s=1000.0)


def _exported(plan: TopologyPlan, tmp_path: Path, mhz: float = 2000.0) -> Path:
    spec = EmulationSpec(Cluster((Node("n1"),)), V2, (plan,), DefaultScheduler(), 10.0, sample_every=5)
    return export_plan(plan, spec, tmp_path / "plan", records=tmp_path / "records", origin_ns=ORIGIN, mhz=mhz)


def _export(
    tmp_path: Path, topology: Topology | None = None, source: SourcePlan = RATE, submit_s: float = 0.0
):
    plan = replace(_plan(topology or _topology(), source), submit_s=submit_s)
    folder = _exported(plan, tmp_path, mhz=4000.0)
    return plan, folder, json.loads((folder / "plan.json").read_text())


def test_costs_are_scaled_to_the_machines_clock(tmp_path: Path):
    plan, folder, _ = _export(tmp_path)
    rows = np.frombuffer((folder / "records.bin").read_bytes(), "<i8").reshape(-1, 5)
    # The trace's clock is 2,000 MHz and the machine's 4,000: half the time.
    assert rows[:, 0].tolist() == (plan.trace.records["cpu_ns"] // 2).tolist()
    assert rows[0, 0] == 5_000
    # The time that a server takes does not depend on the machine.
    split = plan.trace.emissions["first_record"][0]
    assert rows[split, 1] == 7_000


def test_records_and_emissions_are_written_in_the_layout_of_the_player(tmp_path: Path):
    plan, folder, _ = _export(tmp_path)
    content = (folder / "records.bin").read_bytes()
    assert len(content) == 40 * len(plan.trace.records)
    third = struct.unpack_from("<qqiiiiii", content, 40 * 2)
    record = plan.trace.records[2]
    assert third[2:] == tuple(
        record[name] for name in ("server", "key", "key2", "first_emission", "emissions", "resets")
    )
    emissions = np.frombuffer((folder / "emissions.bin").read_bytes(), "<i4").reshape(-1, 4)
    assert emissions[:, 0].tolist() == plan.trace.emissions["first_record"].tolist()
    assert emissions[:, 2].tolist() == plan.trace.emissions["bytes"].tolist()


@pytest.mark.parametrize("size", [20, 40, 63, 64, 80, 100, 200, 5000])
def test_a_tuple_is_padded_with_text_to_its_recorded_size(tmp_path: Path, size: int):
    class Sized(_Words):
        def next_tuple(self, record, emit):
            emit(*record, size=size)

    topology = _topology()
    code = {"lines": Sized(), "split": _Split(), "count": _Sink(), "tap": _Sink()}
    plan = TopologyPlan(topology, build_trace(topology, code, V2), {"lines": RATE})
    folder = _exported(plan, tmp_path)
    first = np.frombuffer((folder / "emissions.bin").read_bytes(), "<i4")[:4]
    # On the wire: the record, the root's number (a long whose high bits are used) and the text.
    wire = payload_bytes([int(first[0]), 1 << 50, "x" * int(first[3])])
    assert abs(wire - size) <= 2


def test_a_stream_carries_a_key_for_each_subscription_that_groups_by_a_key(tmp_path: Path):
    _, _, fields = _export(tmp_path)
    split = next(c for c in fields["components"] if c["id"] == "split")
    assert split["outputs"][0]["keys"] == [{"position": 0, "two": False}]
    count = next(c for c in fields["components"] if c["id"] == "count")
    tap = next(c for c in fields["components"] if c["id"] == "tap")
    assert count["inputs"] == [{"source": "split", "stream": "default", "grouping": "fields", "position": 0}]
    # The tap's records follow those of the count bolt.
    assert tap["inputs"][0]["position"] == 1


def test_a_partial_key_has_two_candidates_after_the_three_fixed_values(tmp_path: Path):
    _, _, fields = _export(tmp_path, _topology(Grouping.PARTIAL_KEY))
    split = next(c for c in fields["components"] if c["id"] == "split")
    assert split["outputs"][0]["keys"] == [{"position": 0, "two": True}]
    count = next(c for c in fields["components"] if c["id"] == "count")
    assert count["inputs"][0]["place"] == 3


def test_settings_use_keys_of_storm_and_integers(tmp_path: Path):
    settings = topology_settings(_topology(**{"topology.executor.receive.buffer.size": 1024.0}), V2)
    assert settings == {
        "topology.workers": 2,
        "topology.acker.executors": 2,
        "topology.message.timeout.secs": 30,
        "topology.max.spout.pending": 50,
        "topology.executor.receive.buffer.size": 1024,
    }
    assert isinstance(settings["topology.executor.receive.buffer.size"], int)


def test_characters_that_storm_refuses_in_names_are_replaced():
    assert storm_name(_topology()) == "word_count"
    # In keys of blobs, 1.x and 2.x take letters, digits, spaces and "._-" (`Utils.isValidKey`).
    assert storm_name(replace(_topology(), id="über-alles (1+1)")) == "über-alles__1_1_"


def test_files_of_a_spout_stay_in_the_folder_whatever_its_id(tmp_path: Path):
    spout = ".. %2F:*"
    topology = Topology("t", (Component(spout, outputs={"default": ("line",)}),))
    source = SourcePlan(SourceKind.TRACE, arrivals_ns=np.array([0, 5]), arrival_period_ns=10)
    plan = TopologyPlan(topology, build_trace(topology, {spout: _Words()}, V2), {spout: source})
    folder = _exported(plan, tmp_path)
    (fields,) = json.loads((folder / "plan.json").read_text())["components"]
    files = {fields["source"][name] for name in ("records", "queue", "arrivals")}
    assert files == {path.name for path in folder.iterdir()} - {"plan.json", "records.bin", "emissions.bin"}


def test_a_bolt_that_reads_a_stream_twice_is_refused(tmp_path: Path):
    twice = (Subscription("lines"), Subscription("lines", grouping=Grouping.ALL))
    topology = Topology(
        "t", (Component("lines", outputs={"default": ("line",)}), Component("count", inputs=twice))
    )
    code = {"lines": _Words(), "count": _Sink()}
    plan = TopologyPlan(topology, build_trace(topology, code, V2), {"lines": RATE})
    with pytest.raises(
        UserError, match=r"inputs of count = 'lines.default': a bolt cannot read a stream twice"
    ):
        _exported(plan, tmp_path)


def test_the_number_of_tasks_includes_ackers(tmp_path: Path):
    _, _, fields = _export(tmp_path)
    # 2 ackers, 3 count, 2 lines, 1 split, 1 tap.
    assert fields["tasks"] == 9


def _due(queue: Path, line: int) -> int:
    """Return when a line becomes available, by the rule of LineSource.java."""
    content = queue.read_bytes()
    (steps,) = struct.unpack_from("<q", content, 64)
    rows = [struct.unpack_from("<qqq", content, 128 + 24 * i) for i in range(steps)]
    start, lines, gap = [row for row in rows if row[1] <= line][-1]
    if gap == 0:
        return 2**63 - 1
    ahead = line - lines + 1
    return start + ahead * (gap >> 10) + ((ahead * (gap & 1023)) >> 10)


def test_lines_arrive_at_their_rate_from_the_start(tmp_path: Path):
    _, folder, _ = _export(tmp_path)
    queue = spout_path(folder, "queue", "lines")
    assert [_due(queue, n) - ORIGIN for n in (0, 1, 2500)] == [0, 1_000_000, 2_500_000_000]


def test_lines_of_a_topology_that_is_submitted_later_arrive_from_then_on(tmp_path: Path):
    _, folder, _ = _export(tmp_path, submit_s=60.0)
    queue = spout_path(folder, "queue", "lines")
    submitted = ORIGIN + 60_000_000_000
    assert [_due(queue, n) - submitted for n in (0, 1)] == [0, 1_000_000]
    # A rate that is set before takes effect then.
    set_rate(queue, ORIGIN + 1_000_000_000, 10.0)
    assert [_due(queue, n) - submitted for n in (0, 1)] == [0, 100_000_000]
    set_rate(queue, submitted + 250_000_000, 100.0)
    assert [_due(queue, n) - submitted for n in (2, 3)] == [200_000_000, 260_000_000]


def test_recorded_arrivals_count_from_the_submission(tmp_path: Path):
    source = SourcePlan(SourceKind.TRACE, arrivals_ns=np.array([0, 5, 7]), arrival_period_ns=10)
    _, folder, _ = _export(tmp_path, source=source, submit_s=2.0)
    arrivals = np.frombuffer((folder / "arrivals-lines.bin").read_bytes(), "<i8")
    assert (arrivals - 2_000_000_000).tolist() == [0, 5, 7]


def test_an_interval_that_is_not_a_whole_number_of_nanoseconds_does_not_drift(tmp_path: Path):
    _, folder, _ = _export(tmp_path, source=SourcePlan(SourceKind.RATE, rate_per_s=300_000.0))
    # Lines are 3,333.33... ns apart; 1024ths of a nanosecond are kept.
    assert abs(_due(spout_path(folder, "queue", "lines"), 3_000_000) - ORIGIN - 10_000_000_000) < 1_000_000


def test_a_change_of_rate_keeps_the_waiting_lines(tmp_path: Path):
    _, folder, _ = _export(tmp_path)
    queue = spout_path(folder, "queue", "lines")
    change = ORIGIN + 2_000_000_000
    set_rate(queue, change, 10.0)
    # 2,001 lines had arrived (one at the start); the next comes a tenth of a second after the change.
    assert _due(queue, 2000) == ORIGIN + 2_000_000_000
    assert _due(queue, 2001) == change + 100_000_000
    set_rate(queue, change + 1_000_000_000, 0.0)
    assert _due(queue, 2010) == change + 1_000_000_000
    assert _due(queue, 2011) == 2**63 - 1
    set_rate(queue, change + 5_000_000_000, 1000.0)
    assert _due(queue, 2011) == change + 5_001_000_000


def test_a_log_with_stored_offsets_is_refused(tmp_path: Path):
    from storm_lab.emulator.source import FailurePolicy

    source = SourcePlan(
        SourceKind.RATE, rate_per_s=1.0, on_fail=FailurePolicy.REPLAY, checkpoint_ns=1_000_000_000
    )
    with pytest.raises(UserError, match="checkpoint_ns"):
        _export(tmp_path, source=source)


def test_times_that_storm_counts_in_seconds_must_be_whole_seconds(tmp_path: Path):
    topology = Topology("t", _topology().components, message_timeout_s=1.5)
    with pytest.raises(UserError, match="whole seconds"):
        topology_settings(topology, V2)
