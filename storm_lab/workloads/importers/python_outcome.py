"""What running Python components came to, put into a draft: calls, costs, rates, ticks, and what to tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from storm_lab.workloads.importers.calls import RecordedCall, RecordedCalls, RecordedEmit
from storm_lab.workloads.importers.draft import Draft, DraftComponent
from storm_lab.workloads.importers.figures import Spread

Tree = Sequence[Sequence[Any]]


def put_outcome(outcome: Mapping[str, Any], draft: Draft, given: frozenset[str]) -> None:
    """Put an outcome into the draft; ``given`` are the spouts whose records were given.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is not an outcome.
    """
    notes = draft.notes
    for name in outcome.get("absent", ()):
        package = name.rpartition(".")[0]
        why = f"{package} has no such module" if package else "it is not installed here: install it to use it"
        notes.cannot_use(draft.place, f"the Python module {name}", why)
    for name, reason in outcome.get("broken", {}).items():
        place = draft.components[name].place
        notes.cannot_use(place, f"running {name}", f"{reason}: played by its figures")
    recorded = [name for name in outcome.get("recorded", ()) if name in draft.components]
    for name in draft.components:
        if name not in recorded and name not in outcome.get("broken", {}):
            why = "what it reads could not be run, so that it has no input: played by its figures"
            notes.cannot_use(draft.components[name].place, f"running {name}", why)
    if not recorded:
        notes.read.append("none of its Python could be run")
        return
    spouts = [name for name in recorded if draft.components[name].is_spout]
    bolts = [name for name in draft.components if name in recorded and name not in spouts]
    for name in recorded:
        _put_costs(draft.components[name], outcome)
    ticking = [name for name in bolts if draft.components[name].tick_s is not None]
    ticks = {name: outcome["ticks"][name]["tree"] for name in ticking if name in outcome["ticks"]}
    trees = _in_turns([outcome["trees"][name] for name in spouts])
    draft.calls = _flattened(spouts, bolts, trees, [(name, ticks[name]) for name in ticking if name in ticks])
    for name in spouts:
        if name not in given:
            _put_source(draft.components[name], outcome, draft)
    for name in ticks:
        _put_tick(draft.components[name], outcome["ticks"][name], draft)
    total = sum(len(outcome["trees"][name]) for name in spouts)
    notes.read.append(f"ran {', '.join(recorded)} over {total} records")
    _tell(outcome, recorded, draft)
    draft.measured = "the CPU time of Python here"
    draft.measured_here = True


def _in_turns(queues: Sequence[Sequence[Tree]]) -> Iterator[Tree]:
    """The spouts' trees in the order in which a trace takes their records."""
    longest = max((len(queue) for queue in queues), default=0)
    for number in range(longest):
        for queue in queues:
            if number < len(queue):
                yield queue[number]


def _flattened(
    spouts: Sequence[str], bolts: Sequence[str], trees: Iterator[Tree], ticks: Sequence[tuple[str, Tree]]
) -> RecordedCalls:
    calls: dict[str, list[RecordedCall]] = {name: [] for name in (*spouts, *bolts)}
    for tree in trees:
        for row in tree:
            calls[str(row[0])].append(_call(row))
    first: dict[str, RecordedCall] = {}
    for name, tree in ticks:
        first[name] = _call(tree[0])
        for row in tree[1:]:
            calls[str(row[0])].append(_call(row))
    return RecordedCalls(
        spouts={name: tuple(calls[name]) for name in spouts},
        bolts={name: tuple(calls[name]) for name in bolts},
        ticks=first,
    )


def _call(row: Sequence[Any]) -> RecordedCall:
    _, source, failed, emits = row
    return RecordedCall(
        emits=tuple(
            RecordedEmit(str(stream), tuple(values), int(size), None if task is None else int(task))
            for stream, values, size, task in emits
        ),
        source=None if source is None else (str(source[0]), str(source[1])),
        failed=bool(failed),
    )


def _put_costs(component: DraftComponent, outcome: Mapping[str, Any]) -> None:
    spent = outcome["cost_ns"].get(component.id)
    if spent and spent[1]:
        component.cost_us = _mean_us(spent[0], spent[1])
    if len(component.inputs) > 1:
        by_input = {tuple(row[1:3]): row[3:] for row in outcome["input_ns"] if row[0] == component.id}
        for item in component.inputs:
            found = by_input.get((item.source, item.stream))
            if found and found[1]:
                item.cost_us = _mean_us(found[0], found[1])
    ticks = outcome["tick_ns"].get(component.id)
    if ticks and ticks[1]:
        component.tick_cost_us = _mean_us(ticks[0], ticks[1]).mean


def _mean_us(total_ns: float, count: float) -> Spread:
    # To a tenth of a microsecond: the clock tells no more, and the figure is for people, too.
    return Spread(round(total_ns / count / 1000, 1))


def _put_source(component: DraftComponent, outcome: Mapping[str, Any], draft: Draft) -> None:
    name = component.id
    component.anchored = name in outcome["anchored"]
    component.replays = name in outcome["replays"]
    slept, elapsed = outcome["slept_s"].get(name, 0.0), outcome["elapsed_s"].get(name, 0.0)
    if component.rate_per_s is None and slept > 0 and elapsed > 0:
        component.rate_per_s = round(len(outcome["trees"][name]) / elapsed, 3)
        draft.notes.read.append(f"rate of {name} from what it sleeps: {component.rate_per_s:g} records/s")


def _put_tick(component: DraftComponent, tick: Mapping[str, Any], draft: Draft) -> None:
    every, emitting = tick["all"], tick["emitting"]
    if component.tick_s is None or not 0 < emitting < every:
        return
    component.tick_s *= every / emitting
    draft.notes.cannot_use(
        component.place,
        f"ticks of {component.id} that emit nothing",
        f"{emitting} of {every} emit: played as a tick every {component.tick_s:.4g} s that does",
    )


def _tell(outcome: Mapping[str, Any], recorded: Sequence[str], draft: Draft) -> None:
    for name in recorded:
        place = draft.components[name].place
        failed, calls = outcome["failures"].get(name, (0, 0))
        for text in outcome["notes"].get(name, ()):
            draft.notes.cannot_use(place, f"what {name} does", str(text))
        if failed:
            what = f"{failed} of {calls} calls of {name}"
            why = "they failed their tuples; after an exception Storm would also start the process again"
            draft.notes.cannot_use(place, what, why)
