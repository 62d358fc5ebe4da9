"""Invalid sources are refused with their spout, field and value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, check_source
from storm_lab.errors import UserError

RATE = SourcePlan(SourceKind.RATE, rate_per_s=10.0)
LOG = replace(RATE, on_fail=FailurePolicy.REPLAY, checkpoint_ns=10)
LOOP = SourcePlan(SourceKind.CLOSED_LOOP, calls=2)
TRACE = SourcePlan(SourceKind.TRACE, arrivals_ns=np.array([0, 5]), arrival_period_ns=10)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (replace(RATE, rate_per_s="100"), "rate_per_s = '100': the source of spout 's' needs a number"),
        (replace(RATE, rate_per_s=None), "rate_per_s: the source of spout 's' needs a number, not None"),
        (replace(RATE, rate_per_s=float("nan")), "rate_per_s = nan"),
        (replace(RATE, rate_per_s=-1.0), "rate_per_s = -1.0"),
        (replace(RATE, rate_per_s=0.0004), "rate_per_s cannot be 0.0004; give 0, or at least 0.001"),
        (replace(RATE, rate_per_s=1e12), "rate_per_s = 1000000000000.0"),
        (replace(RATE, kind="rate"), "kind = 'rate': .* needs a SourceKind; give SourceKind.RATE or"),
        (replace(RATE, on_fail="replay"), "on_fail = 'replay': .*; give .* or FailurePolicy.REPLAY"),
        (replace(RATE, anchored=None), "anchored: .* needs true or false, not None"),
        (replace(RATE, sleep_ns=-5), "sleep_ns = -5"),
        (replace(RATE, fetch_ns=0.5), "fetch_ns = 0.5"),
        (replace(RATE, fetch_ns=-5), "fetch_ns = -5"),
        (replace(RATE, first_result=True), "first_result cannot be True"),
        (replace(RATE, patience_ns=10), "patience_ns cannot be 10.*only callers give up"),
        (replace(LOOP, patience_ns=-1), "patience_ns = -1"),
        (replace(RATE, fetch_lines=0), "fetch_lines = 0"),
        (replace(RATE, fetch_thread=True), "fetch_thread cannot be True"),
        (replace(RATE, checkpoint_ns=10), "checkpoint_ns cannot be 10.*a log replays"),
        (replace(LOG, anchored=False), "checkpoint_ns cannot be 10.*a log replays"),
        (replace(LOG, checkpoint_ns=-1), "checkpoint_ns = -1"),
        (replace(LOOP, checkpoint_ns=10), "checkpoint_ns cannot be 10.*keep no log"),
        (replace(LOOP, calls=0), "calls = 0"),
        (replace(LOOP, anchored=False), "anchored cannot be False"),
        (replace(TRACE, arrivals_ns=None), "arrivals_ns"),
        (replace(TRACE, arrivals_ns=[0, 5]), "give an array"),
        (replace(TRACE, arrivals_ns=np.array([0.5, 1.0])), "give an array of at least one whole number"),
        (replace(TRACE, arrivals_ns=np.array([5, 0])), "not ascending"),
        (replace(TRACE, arrival_period_ns=5), "arrival_period_ns cannot be 5"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_invalid_source_is_refused_in_one_line_with_field_and_spout(
    plan: SourcePlan, message: str
) -> None:
    with pytest.raises(UserError, match=message) as refusal:
        check_source("s", plan)
    assert "\n" not in str(refusal.value)


def test_valid_sources_pass() -> None:
    for plan in (RATE, LOG, LOOP, TRACE):
        check_source("s", plan)
