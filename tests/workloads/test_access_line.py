"""Lines of access logs: each format checked by hand, and every kind of damage named."""

import pytest

from storm_lab.workloads.access_line import Access, LogFormat, MalformedLineError, format_of, parse_line

COMMON = '192.0.2.7 - frank [10/Oct/2013:13:55:36 -0700] "GET /pb.gif?x=1 HTTP/1.0" 200 2326'
COMBINED = f'{COMMON} "http://www.example.com/start" "Mozilla/4.08 \\"quoted\\" [en]"'
COLUMNS = "date time s-ip cs-method cs-uri-stem cs-uri-query c-ip cs(User-Agent) cs(Referer) sc-status"
FIELDS = COLUMNS.split()
W3C = "2015-01-13 00:32:17 192.0.2.1 GET /robots.txt - 203.0.113.9 Example+bot/1.0 - 404"


def test_a_common_line_is_read_with_its_time_in_utc() -> None:
    access = parse_line(COMMON, LogFormat.COMMON)
    # 13:55:36 seven hours behind UTC is 20:55:36, 1381438536 s after 1970.
    assert access == Access("192.0.2.7", 1381438536, "GET", "/pb.gif", "x=1", 200, 2326)


def test_a_combined_line_has_referrer_and_agent_too() -> None:
    access = parse_line(COMBINED, LogFormat.COMBINED)
    assert (access.referrer, access.agent) == (
        "http://www.example.com/start",
        'Mozilla/4.08 \\"quoted\\" [en]',
    )
    assert parse_line(COMMON.replace("2326", "-"), LogFormat.COMMON).size == 0


def test_a_w3c_line_is_read_by_the_names_of_its_columns() -> None:
    access = parse_line(W3C, LogFormat.W3C, FIELDS)
    assert access == Access(
        "203.0.113.9", 1421109137, "GET", "/robots.txt", "", 404, 0, "", "Example bot/1.0"
    )
    swapped = FIELDS[::-1]
    assert parse_line(" ".join(W3C.split()[::-1]), LogFormat.W3C, swapped) == access


@pytest.mark.parametrize(
    ("line", "fields", "form"),
    [
        (COMMON, [], LogFormat.COMMON),
        (COMBINED, FIELDS, LogFormat.COMBINED),
        (W3C, FIELDS, LogFormat.W3C),
        (W3C, [], LogFormat.UNKNOWN),
        ("Jan 3 kernel: out of memory", [], LogFormat.UNKNOWN),
    ],
)
def test_the_format_is_recognised_from_the_line(line: str, fields: list[str], form: LogFormat) -> None:
    assert format_of(line, fields) is form


@pytest.mark.parametrize(
    ("line", "form", "reason"),
    [
        (COMMON[:30], LogFormat.COMMON, "wrong columns"),
        (COMMON.replace("GET /pb.gif?x=1 HTTP/1.0", "-"), LogFormat.COMMON, "bad request"),
        (COMMON.replace("Oct", "Foo"), LogFormat.COMMON, "bad time"),
        (COMMON.replace("10/Oct", "31/Nov"), LogFormat.COMMON, "bad time"),
        (COMMON.replace(" 200 ", " 2oo "), LogFormat.COMMON, "bad status"),
        (COMMON.replace("2326", "many"), LogFormat.COMMON, "bad size"),
        (W3C + " extra", LogFormat.W3C, "wrong columns"),
        (W3C.replace("404", "-"), LogFormat.W3C, "missing column"),
        (W3C.replace("00:32:17", "24:99:00"), LogFormat.W3C, "bad time"),
        (W3C, LogFormat.UNKNOWN, "unknown format"),
    ],
)
def test_a_damaged_line_is_refused_with_the_reason(line: str, form: LogFormat, reason: str) -> None:
    with pytest.raises(MalformedLineError, match=reason):
        parse_line(line, form, FIELDS)
