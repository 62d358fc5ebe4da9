"""When clients try to connect again, beside waits computed by hand from the clients of each version."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from storm_lab.emulator.attempts import Attempts, BackOff
from storm_lab.errors import UserError
from storm_lab.model import StormVersion
from storm_lab.model.settings import check_cluster_settings, check_settings_version
from storm_lab.model.version import V0_8_2, V0_9_7, V0_10_0, V2_8_8

V0_9_0, V0_9_2, V0_9_3, V0_9_5 = (StormVersion((0, 9, patch)) for patch in (0, 2, 3, 5))
RETRIES = "storm.messaging.netty.max_retries"
LEAST, MOST = (f"storm.messaging.netty.{end}_wait_ms" for end in ("min", "max"))
MS = 1_000_000


class Least(random.Random):
    """Draws the smallest number."""

    def randrange(self, stop: int) -> int:  # type: ignore[override]
        return 0


class Greatest(random.Random):
    """Draws the greatest number."""

    def randrange(self, stop: int) -> int:  # type: ignore[override]
        return stop - 1


@pytest.mark.parametrize(
    ("version", "rng", "first", "number"),
    [
        # 100 ms times the greater of 1 and a number below 2 ** retry, at most 1000 ms; from retry 1 or 0 on.
        (V0_9_0, Least(), [100, 100, 100], 30 + 1),
        # 100 x (2 ** 25 - 1) is negative as a Java int, which ends the attempts.
        (V0_9_0, Greatest(), [100, 300, 700, 1000, 1000], 24),
        (V0_9_2, Least(), [100, 100, 100], 31),
        (V0_9_2, Greatest(), [100, 100, 300, 700, 1000, 1000], 31),
        # 100 + 2 ** retry + a number below that, up to retry 7; from 8 on 356 and 2 ms more each time.
        (V0_9_3, Least(), [101, 102, 104, 108, 116, 132, 164, 228, 356, 358], 301),
        (V0_9_3, Greatest(), [101, 103, 107, 115, 131, 163, 227, 355, 357, 359], 301),
        (V0_9_5, Least(), [102, 104, 108, 116, 132, 164, 228, 356, 358], 300 + 1),
        # The first tick of 100 ms after that.
        (V0_9_7, Least(), [200, 200, 200, 200, 200, 200, 300, 400, 400], 302),
        (V0_9_7, Greatest(), [200, 200, 200, 200, 200, 300, 400, 400, 400], 302),
        (V0_10_0, Least(), [200, 200, 200, 200, 200, 200, 300, 400, 400], None),
        (V2_8_8, Greatest(), [200, 200, 200, 200, 200, 300, 400, 400, 400], None),
    ],
)
def test_waits_are_those_of_the_version(
    version: StormVersion, rng: random.Random, first: list[int], number: int | None
) -> None:
    waits = list(islice(BackOff.of(version, {}).waits_ms(rng), 1000))
    assert waits[: len(first)] == first
    assert len(waits) == (1000 if number is None else number)


def test_waits_grow_to_the_end() -> None:
    """0.9.3: 356 + 2 x 292 ms at retry 300. 2.x: 1 ms more each time, on ticks; 1000 ms from retry 652 on."""
    assert list(BackOff.of(V0_9_3, {}).waits_ms(Least()))[-1] == 940
    waits = list(islice(BackOff.of(V2_8_8, {}).waits_ms(Least()), 700))
    assert waits[50:52] == [400, 500]
    assert waits[650:652] == [1000, 1100]


def test_connections_of_0_8_wait_equally_long_each_time() -> None:
    waits = set(islice(BackOff.of(V0_8_2, {}).waits_ms(random.Random("1")), 100))
    assert len(waits) == 1
    assert 100 <= waits.pop() < 200


def test_31_waits_of_0_9_2_take_27_s_in_the_mean() -> None:
    """Real 0.9.2, three plays: senders died 26 to 28 s after their peer."""
    back_off = BackOff.of(V0_9_2, {})
    sums = [sum(back_off.waits_ms(random.Random(seed))) for seed in range(1000)]
    assert sum(sums) / len(sums) == pytest.approx(27_060, abs=60)


def test_settings_change_the_waits() -> None:
    changed = {RETRIES: 2, LEAST: 10, MOST: 60}
    assert list(BackOff.of(V0_9_2, changed).waits_ms(Greatest())) == [10, 10, 30]
    assert list(BackOff.of(V0_9_2, {RETRIES: 50}).waits_ms(Least())) == [100] * 31, "at most 30"
    # Exponential up to retry 4, as 2 ** 5 > (60 - 10) / 2.
    assert list(BackOff.of(V0_9_3, {**changed, RETRIES: 6}).waits_ms(Least())) == [11, 12, 14, 18, 26, 48, 60]


def test_2_x_has_no_limit_to_set() -> None:
    check_cluster_settings({RETRIES: 2})
    with pytest.raises(UserError, match=r"Storm 2\.8\.8 does not have"):
        check_settings_version("the cluster", {RETRIES: 2}, V2_8_8)


def test_attempts_come_at_the_sums_of_the_waits_until_the_client_gives_up() -> None:
    """0.9.2: attempts at 5000, 5100, 5200 and some of 5100 to 5500 ms, and a wait after the last."""
    attempts = Attempts(BackOff.of(V0_9_2, {RETRIES: 2}), 5000 * MS, "1")
    assert attempts.due_ns(5000 * MS) == 5000 * MS
    assert attempts.due_ns(5000 * MS + 1) == 5100 * MS
    assert attempts.due_ns(5150 * MS) == 5200 * MS
    assert attempts.made == 3
    assert attempts.give_up_ns() in {5200 * MS + 100 * times * MS for times in (1, 2, 3)}
    assert attempts.due_ns(5200 * MS + 1) is None


def test_a_client_of_0_9_1_mostly_gets_stuck_before_it_gives_up() -> None:
    back_off = BackOff.of(StormVersion((0, 9, 1)), {})
    ends = [Attempts(back_off, 0, str(seed)).give_up_ns() for seed in range(200)]
    assert 0 < sum(end is not None for end in ends) < 40
    assert Attempts(back_off, 0, "1").due_ns(31_000 * MS) is None


def test_from_0_9_6_on_earlier_attempts_of_a_client_count() -> None:
    attempts = Attempts(BackOff.of(V0_9_7, {}), 0, "1", before=7)
    assert attempts.due_ns(1) == 400 * MS
    assert attempts.made == 9
    assert Attempts(BackOff.of(V0_9_7, {}), 0, "1", before=301).due_ns(401 * MS) is None
    assert Attempts(BackOff.of(V0_9_5, {}), 0, "1", before=7).due_ns(1) < 110 * MS  # type: ignore[operator]
    assert Attempts(BackOff.of(V2_8_8, {}), 0, "1").give_up_ns() is None
