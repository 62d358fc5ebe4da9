"""A large cluster's records are fetched before their events' turn; what happens does not change."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from storm_lab.bench._kernel_model import Model, start
from storm_lab.emulator.far_events import _LARGE

MS = 1_000_000
MANY = Model(spouts=1, bolts=4, ackers=1, nodes=2, rate_per_s=60.0, copies=80, lines=101)
LARGE = replace(MANY, copies=600)
COUNTED = ("rng", "execute", "emitted", "transferred", "executed", "acked", "failed")


def counts_after(model: Model, stop_ms: int) -> tuple[int, list[list[int]]]:
    """Events in buckets, and what the tasks of the first topologies have done."""
    plane, _ = start(model)
    plane.run_until(stop_ms * MS)
    task = plane.kernel.task[: MANY.executors]
    return int(plane.kernel.s[0].far_n), [task[name].tolist() for name in COUNTED]


def test_topologies_do_the_same_among_more_of_them() -> None:
    far, looking_ahead = counts_after(LARGE, 300)
    few, plain = counts_after(MANY, 300)
    assert far >= _LARGE > few > 0
    assert sum(plain[COUNTED.index("executed")]) > 5000
    assert looking_ahead == plain


def test_every_index_on_the_way_exists() -> None:
    # Without the compiler an index out of bounds is an error.
    code = (
        "from storm_lab.emulator import far_events; far_events._LARGE = 1\n"
        f"import {__name__} as t; print(t.counts_after(t.MANY, 200))"
    )
    checked = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "STORM_LAB_JIT": "0",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2])]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.strip() == str(counts_after(MANY, 200))
