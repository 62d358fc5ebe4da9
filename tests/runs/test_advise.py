"""Advice on a topology whose best setting and limit are known by hand."""

from collections.abc import Iterator

import pytest

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.errors import UserError
from storm_lab.league.reader_site import Site
from storm_lab.model import Cluster, Component, Node, Subscription, Topology
from storm_lab.runs.advise import _first, _highest, advise_site, policies_of
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, Values

WORK_US = 10_000.0
"""CPU of a line in the one executor of the bolt: it can do 100 a second, less what the framework takes."""


class Lines(Spout):
    def records(self) -> Iterator[tuple[object, ...]]:
        yield ("line",)

    def cost(self, record: tuple[object, ...]) -> Cost:
        return Cost(10.0)


class Work(Bolt):
    def execute(self, values: Values, emit: Emit) -> None:
        return

    def cost(self, values: Values) -> Cost:
        return Cost(WORK_US)


def site(source: float | SourcePlan) -> Site:
    topology = Topology(
        "one-bolt",
        (
            Component("lines", 1, outputs={"default": ("line",)}),
            Component("work", 1, inputs=(Subscription("lines"),)),
        ),
        workers=3,
    )
    machines = Cluster(tuple(Node(f"n{number}", cores=4, ports=(6700, 6701)) for number in (1, 2, 3)))
    return Site.of(topology, {"lines": Lines(), "work": Work()}, machines, sources={"lines": source})


@pytest.mark.slow
@pytest.mark.spark
def test_one_worker_on_one_node_is_best_where_nothing_is_gained_by_more(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path))
    found = advise_site(site(30.0), seeds=(1, 2), policies={"default": False})
    # In one process nothing is serialised, and an executor is one thread whatever cores there are.
    assert found.best.workers == 1
    assert (found.nodes, found.nodes_twice) == (1, 1)
    assert found.saturates == "the thread of an executor of work"
    assert 93.0 < found.capacity_per_s.mean < 100.0
    latencies = [measured.latency_ms.mean for share, measured in found.curve if share <= 0.9]
    assert latencies == sorted(latencies)
    assert latencies[0] == pytest.approx(WORK_US / 1000.0, rel=0.1)
    overloaded = dict(found.curve)[1.2]
    assert not overloaded.keeps_up
    (loss,) = found.losses
    # Nimbus hears nothing for its task timeout of 30 s at least, and tuples fail by theirs.
    assert loss.recovers
    assert loss.down_s >= 30.0
    assert loss.failed > 0


def test_a_spout_without_a_rate_has_no_present_load() -> None:
    with pytest.raises(UserError, match="has no rate"):
        advise_site(site(SourcePlan(SourceKind.SATURATED)))


def test_policies_may_run_on_measured_load() -> None:
    assert policies_of(["default", "online:tstorm"]) == {"default": False, "tstorm": True}
    with pytest.raises(UserError, match="nope"):
        policies_of(["nope"])


@pytest.mark.parametrize("least", [1, 2, 3, 7, 8])
def test_the_fewest_that_fit_are_found(least: int) -> None:
    assert _first(lambda count: count >= least, 8) == least
    assert _first(lambda count: False, 8) is None


@pytest.mark.parametrize("guess", [3.0, 90.0, 4000.0])
def test_the_highest_rate_is_found_from_any_guess(guess: float) -> None:
    found = _highest(lambda rate: rate <= 97.0, guess)
    assert 0.97 * 97.0 < found <= 97.0
