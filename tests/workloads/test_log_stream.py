"""User code of Log Stream Processing: on generated and real logs, and by hand on single lines."""

import json
from collections import Counter
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.workloads.access_line import Access
from storm_lab.workloads.access_log import (
    APACHE,
    DAMAGED_ONE_IN,
    IIS,
    REAL_LOGS,
    RECORDS,
    W3C_FIELDS,
    generated_lines,
    load_log,
    ship,
)
from storm_lab.workloads.log_stream import (
    MALFORMED,
    ApplyRules,
    CountHits,
    IndexEntries,
    LogStreamCosts,
    StoreValues,
    tags_of,
    terms_of,
)
from storm_lab.workloads.text import Text
from storm_lab.workloads.usercode import Values

COSTS = LogStreamCosts(10, 3000, 6000, 100, 300, 700)


class Emitted:
    """An emit call that keeps the emitted values by stream."""

    def __init__(self) -> None:
        self.streams: dict[str, list[tuple[object, ...]]] = {}

    def __call__(
        self, *values: object, stream: str = "default", size: int | None = None, task: int | None = None
    ) -> None:
        self.streams.setdefault(stream, []).append(values)


def run_rules(log: Text) -> tuple[ApplyRules, Emitted]:
    rules, emitted = ApplyRules(COSTS), Emitted()
    for event in log.lines:
        rules.execute(Values((event,)), emitted)
    return rules, emitted


def test_the_generated_log_has_three_formats_and_a_damaged_line_in_two_hundred() -> None:
    log = load_log("generated")
    formats = Counter(json.loads(event)["format"] for event in log.lines)
    assert len(log.lines) == RECORDS
    assert all(formats[form] > RECORDS / 4 for form in ("common", "combined", "w3c"))
    rules, emitted = run_rules(log)
    assert 0 < sum(rules.malformed.values()) <= RECORDS // DAMAGED_ONE_IN
    assert len(emitted.streams["default"]) == RECORDS - sum(rules.malformed.values()) - rules.dropped
    assert len(emitted.streams[MALFORMED]) == sum(rules.malformed.values())


def test_generated_requests_are_as_skewed_as_real_ones() -> None:
    _, emitted = run_rules(load_log("generated"))
    hits = [n for _, n in Counter(str(v[0]) for v in emitted.streams["default"]).most_common()]
    assert 0.05 <= hits[0] / sum(hits) <= 0.1, "the real log's first path has a twelfth"
    assert 800 <= len(hits) <= 1500


def test_the_generated_log_is_the_same_on_every_machine() -> None:
    assert list(generated_lines()) == list(generated_lines())
    assert load_log("generated").digest == "c0faed9bf59012da817081c303a1eeeb0f02d2f7eb66f7661a0235f829713a31"


def test_w3c_events_carry_their_columns_and_directives_are_not_events() -> None:
    lines = ["#Version: 1.0", "#Fields: date time", "", "2015-01-13 00:32:17", "#Fields: time date", "a b"]
    events = [json.loads(event) for event in ship(lines)]
    assert [(e["fields"], e["message"]) for e in events] == [
        ("date time", "2015-01-13 00:32:17"),
        ("time date", "a b"),
    ]


@pytest.mark.parametrize(
    ("change", "tags"),
    [
        ({}, ()),
        ({"status": 503, "method": "POST"}, ("server-error", "write")),
        ({"status": 404, "path": "/wp-login.php"}, ("client-error", "probe")),
        ({"agent": "ExampleBot/2.1", "path": "/logo.PNG"}, ("robot", "static")),
        ({"status": 304, "size": 1_000_000}, ("unchanged", "large")),
        ({"path": "/healthcheck", "status": 500}, None),
    ],
)
def test_rules_tag_requests_and_drop_health_checks(
    change: dict[str, object], tags: tuple[str, ...] | None
) -> None:
    usual = {"client": "192.0.2.1", "time_s": 0, "method": "GET", "path": "/", "query": "", "status": 200}
    assert tags_of(Access(**{**usual, "size": 5, **change})) == tags  # type: ignore[arg-type]


def test_a_valid_line_is_indexed_and_counted_and_a_damaged_one_is_only_counted() -> None:
    good = '192.0.2.7 - - [10/Oct/2013:13:55:36 +0000] "GET /blog/storm.html HTTP/1.1" 200 9'
    rules, emitted = run_rules(Text("two", tuple(ship([good, good[:25], good]))))
    assert rules.malformed == {"wrong columns": 1}
    index, hits, out = IndexEntries(COSTS), CountHits(COSTS), Emitted()
    for values in emitted.streams["default"]:
        index.execute(Values(values), out)
    for values in emitted.streams["default"] + emitted.streams[MALFORMED]:
        hits.execute(Values(values), out)
    assert index.postings == {"blog": [0, 1], "get": [0, 1], "html": [0, 1], "storm": [0, 1]}
    assert hits.hits == {"/blog/storm.html": 2, "malformed: wrong columns": 1}
    assert out.streams["default"][-1] == ("malformed: wrong columns", 1)


def test_costs_grow_with_bytes_and_terms_and_inserts_wait_for_the_server() -> None:
    rules, index = ApplyRules(COSTS), IndexEntries(COSTS)
    assert rules.cost(Values(("x" * 200,))).cpu_us == pytest.approx(3000)
    assert rules.cost(Values(("x" * 400,))).cpu_us == pytest.approx(5000)
    entry = json.dumps(
        {"query": "", "referrer": "", "agent": "aa bb cc dd ee", "method": "GET", "tags": ["x1"]}
    )
    assert terms_of("/a1/b2", entry) == ["a1", "aa", "b2", "bb", "cc", "dd", "ee", "get", "x1"]
    assert index.cost(Values(("/a1/b2", entry))).cpu_us == pytest.approx(6000 * (1 + 2 * 9 / 12) / 3)
    insert = StoreValues(COSTS).cost(Values(("k", 1)))
    assert (insert.cpu_us, insert.server, insert.server_us) == (300, "mongo", 700)


@pytest.mark.shared
@pytest.mark.parametrize(("name", "events", "malformed"), [(APACHE, 10_000, 1), (IIS, 210, 0)])
def test_real_logs_are_processed(name: str, events: int, malformed: int) -> None:
    if not REAL_LOGS[name].is_file():
        pytest.skip("no real log beside the checkout")
    log = load_log(name)
    rules, emitted = run_rules(log)
    assert (len(log.lines), sum(rules.malformed.values())) == (events, malformed)
    assert len(emitted.streams["default"]) == events - malformed - rules.dropped


def test_a_file_without_records_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty.log"
    file.write_text(f"#Version: 1.0\n#Fields: {W3C_FIELDS}\n")
    with pytest.raises(UserError, match="holds no event"):
        load_log(str(file))
    with pytest.raises(UserError, match="no such file"):
        load_log(str(tmp_path / "missing.log"))
