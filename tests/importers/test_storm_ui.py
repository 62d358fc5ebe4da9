"""Pages of Storm's UI: counts become rates, latencies become costs, and inputs become subscriptions."""

import copy
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from storm_lab.errors import UserError
from storm_lab.model import Grouping
from storm_lab.model.topology import Resources
from storm_lab.workloads.importers import ui_pages
from storm_lab.workloads.importers.figures import Spread
from storm_lab.workloads.importers.imported import Imported
from storm_lab.workloads.importers.importing import import_topology
from tests.importers.reading import assumptions, executions, ready, unusable_text
from tests.importers.ui_pages import COUNT, GRAPH, LINES, METRICS, PAGES, SPLIT, TOPOLOGY


def imported(folder: Path, pages: dict[str, Any]) -> Imported:
    """Write pages to a folder and import them."""
    for name, page in pages.items():
        (folder / name).write_text(json.dumps(page))
    return import_topology(*(folder / name for name in pages))


def rate(folder: Path, **values: Any) -> float | None:
    """Return the spout's records per second if the topology's page has these values."""
    pages = {**PAGES, "topology.json": {**TOPOLOGY, **values}}
    return ready(imported(folder, pages)).sources["lines"].rate_per_s


def test_counts_and_latencies_become_rates_and_costs(tmp_path: Path) -> None:
    found = imported(tmp_path, PAGES)
    playable = ready(found)
    assert (found.format, playable.topology.id, str(playable.version)) == ("Storm UI", "wc", "1.2.4")
    assert "rates are counts of 600 s" in found.read
    # 66,000 tuples of two streams in ten minutes.
    assert playable.sources["lines"].rate_per_s == 110.0
    assert playable.sources["lines"].anchored
    assert playable.figures["lines"].emits["default"].per_call == pytest.approx(60 / 66)
    assert playable.figures["split"].emits["default"].per_call == 8.0
    assert playable.figures["split"].cost_us == Spread(250.0)
    assert playable.figures["count"].input_cost_us == {
        ("split", "default"): Spread(90.0),
        ("lines", "errors"): Spread(900.0),
    }
    counts = executions(playable)
    assert counts["count"] == pytest.approx(counts["lines"] * 486 / 66, rel=0.01)


def test_a_latency_of_what_was_not_executed_is_no_cost(tmp_path: Path) -> None:
    idle = {"executed": 0, "executeLatency": "0.000"}
    bolts = [{**bolt, **idle} if bolt["boltId"] == "split" else bolt for bolt in TOPOLOGY["bolts"]]
    split = {**SPLIT, "inputStats": [{**SPLIT["inputStats"][0], **idle}]}
    count = {**COUNT, "inputStats": [{**COUNT["inputStats"][0], **idle}, COUNT["inputStats"][1]]}
    pages = {"topology.json": {**TOPOLOGY, "bolts": bolts}, "split.json": split, "count.json": count}
    found = imported(tmp_path, {**PAGES, **pages})
    figures = ready(found).figures
    assert figures["split"].cost_us == Spread(100.0)
    assert ("split", "cost of a call") in assumptions(found)
    # The average over all inputs counts for the one that is idle.
    assert figures["count"].cost_us == Spread(100.0)
    assert figures["count"].input_cost_us == {("lines", "errors"): Spread(900.0)}


def test_subscriptions_are_those_of_the_graph(tmp_path: Path) -> None:
    topology = ready(imported(tmp_path, PAGES)).topology
    assert [(i.source, i.stream, i.grouping, i.fields) for i in topology.component("count").inputs] == [
        ("split", "default", Grouping.FIELDS, ("key",)),
        ("lines", "errors", Grouping.ALL, ()),
    ]
    assert topology.component("split").inputs[0].grouping is Grouping.LOCAL_OR_SHUFFLE
    assert (topology.component("lines").executors, topology.component("lines").task_count) == (2, 4)
    assert (topology.workers, topology.message_timeout_s, topology.ackers) == (2, 45.0, None)


def test_values_that_no_page_gives_are_reported(tmp_path: Path) -> None:
    found = imported(tmp_path, PAGES)
    assert {
        ("count from split.default", "fields of the grouping"),
        ("lines", "cost of a call"),
        ("lines.default", "size of a tuple"),
        ("wc", "CPU of a call"),
    } <= assumptions(found)
    assert "settings storm.zookeeper.port, topology.kryo.register" in unusable_text(found)


def test_supervisors_become_machines(tmp_path: Path) -> None:
    found = imported(tmp_path, PAGES)
    assert found.machines is not None
    nodes = found.machines.cluster.nodes
    assert [(n.id, n.host, n.cores, n.memory_mb, len(n.ports)) for n in nodes] == [
        ("s-1", "h1", 8, 16384.0, 4),
        ("s-2", "h2", 4, 4096.0, 4),
    ]
    assert "supervisor s-3: it has no slots" in unusable_text(found)


@pytest.mark.parametrize("key", ["totalCpu", "totalMem"])
def test_a_negative_offer_of_a_supervisor_is_noted(tmp_path: Path, key: str) -> None:
    page = {"supervisors": [{"id": "s-1", "host": "h1", "slotsTotal": 4, key: -1.0}]}
    found = imported(tmp_path, {**PAGES, "supervisors.json": page})
    assert f"{key} of supervisor s-1: it is negative" in unusable_text(found)
    assert found.machines is not None
    assert found.machines.cluster.nodes[0].offer == Resources(400.0, 8192.0)


def test_a_folder_of_pages_is_one_topology(tmp_path: Path) -> None:
    imported(tmp_path, PAGES)
    assert ready(import_topology(tmp_path)).topology.id == "wc"


def test_the_metrics_page_can_replace_the_pages_of_components(tmp_path: Path) -> None:
    found = ready(imported(tmp_path, {"t.json": TOPOLOGY, "m.json": METRICS, "g.json": GRAPH}))
    other = ready(imported(tmp_path, PAGES))
    assert found.topology == other.topology
    assert found.figures == other.figures


def test_without_the_graph_groupings_are_assumed(tmp_path: Path) -> None:
    pages = {"t.json": TOPOLOGY, "l.json": LINES, "s.json": SPLIT, "c.json": COUNT}
    found = imported(tmp_path, pages)
    assert {i.grouping for c in ready(found).topology.bolts for i in c.inputs} == {Grouping.SHUFFLE}
    assert ("count from split.default", "grouping") in assumptions(found)


def test_without_components_and_graph_the_inputs_are_missing(tmp_path: Path) -> None:
    found = imported(tmp_path, {"t.json": TOPOLOGY})
    assert found.playable is None
    assert "the inputs of bolt 'split': save /api/v1/topology/ID/component/split" in str(found.missing[0])


def test_with_only_the_graph_tuples_are_divided_equally_among_streams(tmp_path: Path) -> None:
    found = imported(tmp_path, {"t.json": TOPOLOGY, "g.json": GRAPH})
    emits = ready(found).figures["lines"].emits
    assert emits["default"].per_call == emits["errors"].per_call == 0.5
    assert ("lines", "tuples by stream") in assumptions(found)


def test_a_missing_topology_page_is_reported(tmp_path: Path) -> None:
    found = imported(tmp_path, {"l.json": LINES, "s.json": SPLIT})
    assert "the topology's page: save /api/v1/topology/ID" in str(found.missing[0])


def test_rates_of_a_topology_younger_than_its_window_are_based_on_its_age(tmp_path: Path) -> None:
    assert rate(tmp_path, uptimeSeconds=60) == 1100.0
    assert rate(tmp_path, uptimeSeconds=None, uptime="5m 0s") == 220.0
    assert rate(tmp_path, window=":all-time", windowHint="All time") == 66000 / 7200


def test_a_spout_that_gets_no_acks_is_taken_as_unanchored(tmp_path: Path) -> None:
    page = copy.deepcopy(TOPOLOGY)
    page["spouts"][0].update(acked=0, failed=0)
    assert ready(imported(tmp_path, {**PAGES, "topology.json": page})).sources["lines"].anchored is False


def test_duplicate_and_unrelated_pages_are_reported(tmp_path: Path) -> None:
    pages = {**PAGES, "z.json": LINES, "y.json": TOPOLOGY, "x.json": {"topologies": []}}
    found = imported(tmp_path, pages)
    assert ready(found)
    for text in ("a second page of lines", "a second topology page", "it has nothing about the topology"):
        assert text in unusable_text(found)


def test_files_that_are_not_pages_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="several files are one topology only if they are pages"):
        imported(tmp_path, {"a.json": {"a": 1}, "b.json": LINES})
    with pytest.raises(UserError, match="of none of the formats"):
        imported(tmp_path, {"a.json": {"a": 1}})


class FakeUi(BaseHTTPRequestHandler):
    """Answers as Storm's UI does."""

    def do_GET(self) -> None:
        base = "/ui/api/v1"
        known = {
            f"{base}/topology/summary": {"topologies": self.server.topologies},  # type: ignore[attr-defined]
            f"{base}/topology/wc-1": TOPOLOGY,
            f"{base}/topology/wc-1/component/lines": LINES,
            f"{base}/topology/wc-1/component/split": SPLIT,
            f"{base}/topology/wc-1/component/count": COUNT,
            f"{base}/topology/wc-1/visualization": GRAPH,
            f"{base}/cluster/summary": PAGES["cluster.json"],
        }
        page = known.get(self.path)
        self.send_response(200 if page is not None else 404)
        self.end_headers()
        self.wfile.write(json.dumps(page).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def ui() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeUi)
    server.topologies = [{"id": "wc-1", "name": "wc"}]  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_url_is_fetched_with_all_its_pages(ui: ThreadingHTTPServer, tmp_path: Path) -> None:
    base = f"http://127.0.0.1:{ui.server_port}/ui"
    for url in (base, f"{base}/api/v1/topology/wc-1", f"{base}/api/v1/topology/summary"):
        found = import_topology(url)
        assert ready(found).figures == ready(imported(tmp_path, PAGES)).figures
        # A missing page is reported, but not needed.
        assert "supervisor/summary: this page: the page cannot be fetched (Not Found)" in unusable_text(found)


def test_the_graph_is_fetched_even_if_there_are_too_many_components(
    ui: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui_pages, "MOST_PAGES", 3)
    topology = ready(import_topology(f"http://127.0.0.1:{ui.server_port}/ui")).topology
    assert [item.grouping for item in topology.component("count").inputs] == [Grouping.FIELDS, Grouping.ALL]


def test_a_ui_with_several_topologies_asks_for_one(ui: ThreadingHTTPServer) -> None:
    ui.topologies = [{"id": "a"}, {"id": "b"}]  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="the UI has 2 topologies; add /topology/ID, with one of: a, b"):
        import_topology(f"http://127.0.0.1:{ui.server_port}/ui")


def test_a_url_that_cannot_be_fetched_is_refused(ui: ThreadingHTTPServer) -> None:
    for url in (
        f"http://127.0.0.1:{ui.server_port}/ui/api/v1/topology/nothere",
        "http://127.0.0.1:1/",
        "http://[oops/",
        "https://",
    ):
        with pytest.raises(UserError, match="cannot be fetched"):
            import_topology(url)
