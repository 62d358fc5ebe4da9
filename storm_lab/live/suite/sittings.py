"""All sittings of the suite, by name."""

from __future__ import annotations

from functools import partial
from itertools import combinations

from storm_lab.errors import check_known
from storm_lab.live.releases import Release, find_release
from storm_lab.live.suite import chains, rstorm
from storm_lab.live.suite.scene import C1_ONLY, Measure, Sitting

_OLD_FIRST, _NEW_FIRST, _LATER = ("0.9.2", "2.8"), ("2.8", "0.9.2"), ("1.2.4", "0.9.7")
"""The versions of Storm on which sittings are played, in the order of `Sitting.generations`."""

CALIBRATION = "calibration"
"""The sitting for calibration: scenes of other sittings, all of the calibrating half, in the least time."""
LOGGED = "logged"
"""The sitting whose topologies write a debug log."""


def _pairs(measure: Measure, *names: str) -> tuple[tuple[Measure, str, str], ...]:
    """Return all pairs of some scenes, in the order in which they are given."""
    return tuple((measure, one, other) for one, other in combinations(names, 2))


def _own_cores(name: str, title: str, versions: tuple[str, ...], topologies: tuple[str, ...]) -> Sitting:
    """Return a sitting of topologies on hosts with a core each, in one worker a host and in two."""
    return Sitting(
        name,
        title,
        partial(rstorm.own_cores, prefix=name, topologies=topologies, debug=name == LOGGED),
        versions,
        tuple(
            (Measure.THROUGHPUT, f"{name}-{topology}-two-workers", f"{name}-{topology}-one-worker")
            for topology in topologies
        ),
        pinned=True,
        c1_only=True,
        in_suite=name == LOGGED,
    )


SITTINGS: dict[str, Sitting] = {
    sitting.name: sitting
    for sitting in (
        Sitting(
            "light",
            "Light load by distance, and cold code",
            chains.light,
            (*_OLD_FIRST, *_LATER),
            tuple(
                (Measure.P50, f"light-{rate}-one-worker", f"light-{rate}-{far}")
                for rate in (2000, 50)
                for far in ("two-workers", "two-nodes")
            ),
        ),
        Sitting(
            "flood",
            "Capacity by distance, with and without acks; two topologies on one core",
            chains.flood,
            (*_OLD_FIRST, *_LATER),
            _pairs(Measure.THROUGHPUT, "capacity-one-worker", "capacity-two-workers", "capacity-two-nodes"),
            limit_cpu=True,
        ),
        Sitting(
            "waiting",
            "Few pending root tuples, near and far",
            chains.waiting,
            (*_NEW_FIRST, *_LATER),
            _pairs(Measure.THROUGHPUT, "pending-1-one-worker", "pending-1-two-nodes"),
        ),
        Sitting(
            "load",
            "A bolt at 50 to 120 % load, and bursts",
            chains.load,
            (*_NEW_FIRST, *_LATER),
            _pairs(Measure.P50, "burst-one-worker", "burst-two-workers"),
        ),
        Sitting(
            "packing",
            "Equal load in one, two and four workers, first compiler alone",
            chains.packing,
            _OLD_FIRST,
            (
                (Measure.CPU, "workers-1", "workers-2"),
                (Measure.CPU, "workers-2", "workers-4"),
                (Measure.CPU, "crowd-one-worker", "crowd-four-workers"),
            ),
            c1_only=True,
        ),
        Sitting(
            "control",
            "Start, crash, rebalance, loss of a node",
            chains.control,
            (*_NEW_FIRST, *_LATER),
        ),
        *(
            Sitting(
                topology,
                f"R-Storm's {topology} under three placements, first compiler alone",
                partial(rstorm.placements, topology=topology),
                _OLD_FIRST,
                _pairs(Measure.THROUGHPUT, *(f"{topology}-{placement}" for placement in rstorm.PLACEMENTS)),
                limit_cpu=True,
                c1_only=True,
            )
            for topology in rstorm.TOPOLOGIES
        ),
        _own_cores("own-core", "R-Storm's topologies on hosts of one core", _OLD_FIRST, rstorm.TOPOLOGIES),
        _own_cores(LOGGED, "R-Storm's topologies with their debug logs", ("0.9.2",), rstorm.LOGGED),
        Sitting(
            "batches",
            "Queues that are filled in batches, near and far",
            chains.batches,
            ("2.8",),
            in_suite=False,
        ),
        *(
            Sitting(
                f"{topology}{rstorm.EVEN_SHUFFLE}",
                f"The same for {topology}, with an even shuffle instead of the load-aware one",
                partial(rstorm.placements, topology=f"{topology}{rstorm.EVEN_SHUFFLE}"),
                ("2.8",),
                _pairs(
                    Measure.THROUGHPUT,
                    *(f"{topology}{rstorm.EVEN_SHUFFLE}-{placement}" for placement in rstorm.PLACEMENTS),
                ),
                limit_cpu=True,
                c1_only=True,
                in_suite=False,
            )
            for topology in rstorm.TOPOLOGIES[1:]
        ),
        Sitting(
            "bare",
            "Saturated chains in one worker whose bolts do nothing",
            chains.bare,
            (*_OLD_FIRST, _LATER[0]),
            limit_cpu=True,
            in_suite=False,
        ),
        Sitting(
            "calls",
            "Saturated chains in one worker whose bolts have calls of 5 and of 60 us",
            chains.calls,
            (*_OLD_FIRST, _LATER[0]),
            limit_cpu=True,
            in_suite=False,
        ),
        Sitting(
            "bare-c1",
            "The same, first compiler alone",
            partial(chains.bare, suffix=C1_ONLY),
            _OLD_FIRST,
            limit_cpu=True,
            c1_only=True,
            in_suite=False,
        ),
        Sitting(
            CALIBRATION,
            "Calibration of a machine with light load, in three minutes",
            chains.calibration,
            (*_NEW_FIRST, _LATER[0]),
            in_suite=False,
        ),
    )
}
"""Sittings by name, in the order in which they are played: those of the suite, then those for calibration."""


def find_sitting(name: str) -> Sitting:
    """Return the sitting of that name; `UserError` if there is none."""
    check_known("sitting", name, SITTINGS, "the suite")
    return SITTINGS[name]


def releases_of(sitting: Sitting) -> tuple[Release, ...]:
    """Return the versions on which a sitting is played."""
    return tuple(find_release(text) for text in sitting.generations)
