"""Turn a draft into a topology that can be played: checks, defaults for what is not stated, and user code.

What Storm would refuse is noted as missing; what it would ignore is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from storm_lab.errors import UserError
from storm_lab.model.checks import ID_RULE, is_id
from storm_lab.model.topology import DEFAULT_DEMAND, Component, Grouping, Resources, Subscription, Topology
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput
from storm_lab.workloads.importers.figures import Defaults, Emits, Figures, Keys, Spread
from storm_lab.workloads.importers.imported import Playable, Source
from storm_lab.workloads.importers.scalars import MOST_EXECUTORS, RESOURCES, drop_foreign_settings

TRACE_CALLS = 20_000
"""Calls of user code in a trace made from figures; enough for every key of the default distribution."""
MOST_SOURCE_CALLS = 2048
LEAST_SOURCE_CALLS = 16
MOST_PER_RECORD = 200_000.0  # most calls that one record of a spout may cause
_ROUNDS = 500

MOST_COMPONENTS = 2000
MOST_ALL_EXECUTORS = 50_000


def finish(draft: Draft, defaults: Defaults) -> Playable | None:
    """Return the playable topology, or None if something is missing; note in the draft what was assumed."""
    for component in draft.components.values():
        if component.records and component.id not in draft.calls.components:
            draft.fit_rows(component)
    _check_topology(draft)
    if any(item.missing for item in draft.notes.unusable):
        return None
    drop_foreign_settings(draft)
    if draft.version_assumed:
        draft.notes.assume(draft.name, "Storm's version", str(draft.version), draft.version_assumed)
    if draft.workers is None:
        draft.notes.assume(draft.name, "number of workers", "1", "Storm's default; give workers")
    topology = _topology(draft)
    figures = {c.id: _figures(c, draft, defaults) for c in draft.components.values()}
    per_record = _calls_per_record(topology, figures, draft)
    if per_record is None:
        return None
    playable = Playable(
        topology=topology,
        version=draft.version,
        sources={c.id: _source(c, draft, defaults) for c in draft.components.values() if c.is_spout},
        figures=figures,
        source_calls=int(min(MOST_SOURCE_CALLS, max(LEAST_SOURCE_CALLS, TRACE_CALLS // per_record))),
        given={c.id: c.given for c in draft.components.values() if c.given},
        calls=draft.calls,
    )
    try:
        playable.trace()
    except UserError as error:
        draft.notes.missing(draft.place, "a workload trace", str(error))
        return None
    return playable


def _check_topology(draft: Draft) -> None:
    """Check components, subscriptions and streams, and declare the streams that subscriptions need."""
    if not is_id(draft.name):
        draft.notes.missing(draft.place, "the topology's name", f"{draft.name!r} is not {ID_RULE}")
    _leave_out_idle(draft)
    if len(draft.components) > MOST_COMPONENTS:
        draft.notes.missing(draft.place, "the components", f"there are more than {MOST_COMPONENTS}")
        return
    if not any(component.is_spout for component in draft.components.values()):
        draft.notes.missing(draft.place, "a spout", "there is none, so no tuples are emitted")
    for component in draft.components.values():
        _check_subscriptions(component, draft)
        _check_keys(component, draft)
        _check_size(component, draft)
    total = sum(component.executors or 1 for component in draft.components.values())
    if total > MOST_ALL_EXECUTORS:
        why = f"{total} executors are more than {MOST_ALL_EXECUTORS}"
        draft.notes.missing(draft.place, "the parallelism", why)


def _leave_out_idle(draft: Draft) -> None:
    """Leave out bolts that never get a tuple: those without input, and those that read only from such."""
    idle = {c.id: c for c in draft.components.values() if not c.is_spout and not c.inputs}
    why = "it has no input"
    while idle:
        for component in idle.values():
            del draft.components[component.id]
            reason = f"{why}, so that it would never get a tuple: left out, and its executors with it"
            draft.notes.cannot_use(component.place, f"bolt {component.id!r}", reason)
        behind: dict[str, DraftComponent] = {}
        for component in draft.components.values():
            left = [item for item in component.inputs if item.source in idle]
            if component.is_spout or not left:
                continue
            component.inputs = [item for item in component.inputs if item.source not in idle]
            if not component.inputs:
                behind[component.id] = component
                continue
            for item in left:
                what = f"{component.id}'s subscription to {item.source}.{item.stream}"
                draft.notes.cannot_use(item.place, what, "that bolt is left out: no tuple would come of it")
        idle, why = behind, "it reads only from bolts that are left out"


def _check_subscriptions(component: DraftComponent, draft: Draft) -> None:
    seen: dict[tuple[str, str], DraftInput] = {}
    for item in component.inputs:
        what = f"{component.id}'s subscription to {item.source}.{item.stream}"
        if component.is_spout:
            draft.notes.missing(item.place, what, "a spout has no inputs")
            continue
        if item.source not in draft.components:
            known = ", ".join(sorted(draft.components)[:12])
            draft.notes.missing(item.place, what, f"there is no such component; there are: {known}")
            continue
        if (item.source, item.stream) in seen:
            draft.notes.cannot_use(item.place, what, "it is given twice: the last one counts")
        # It replaces the earlier one and takes its position, as in Storm's map of inputs.
        seen[item.source, item.stream] = item
        _declare(item, draft, what)
    component.inputs = list(seen.values()) if not component.is_spout else []


def _declare(item: DraftInput, draft: Draft, what: str) -> None:
    source = draft.components[item.source]
    if item.stream not in source.streams and source.declared:
        known = ", ".join(source.streams) or "none"
        draft.notes.missing(item.place, what, f"the stream is not declared; declared are: {known}")
        return
    stream = source.stream(item.stream)
    if item.grouping is Grouping.FIELDS and not item.fields:
        why = "a fields grouping without fields: Storm plays it as a global grouping, and so is it here"
        draft.notes.cannot_use(item.place, what, why)
        item.grouping = Grouping.GLOBAL
    if stream.fields is None:
        return
    lacking = [name for name in item.fields if name not in stream.fields]
    if lacking:
        draft.notes.missing(item.place, what, _no_field(lacking[0], stream.fields))


def _no_field(name: str, fields: tuple[str, ...]) -> str:
    return f"the stream has no field {name!r}; its fields are: {', '.join(fields) or 'none'}"


def _check_keys(component: DraftComponent, draft: Draft) -> None:
    """Note keys of a field that the stream does not declare, which would otherwise have no effect."""
    for name, stream in component.streams.items():
        lacking = [] if stream.fields is None else [key for key in stream.keys if key not in stream.fields]
        if lacking:
            what = f"keys of {component.id}.{name}"
            draft.notes.missing(component.place, what, _no_field(lacking[0], stream.fields or ()))


def _check_size(component: DraftComponent, draft: Draft) -> None:
    for what, value in (("executors", component.executors), ("tasks", component.tasks)):
        if value is not None and not 1 <= value <= MOST_EXECUTORS:
            what = f"{component.id}: {value} {what}"
            draft.notes.missing(component.place, what, f"give 1 to {MOST_EXECUTORS}")


def _topology(draft: Draft) -> Topology:
    said = {name: getattr(draft, name) for name in ("workers", "priority", "message_timeout_s")}
    return Topology(
        id=draft.name,
        name=draft.name,
        components=tuple(_component(c, draft) for c in draft.components.values()),
        ackers=draft.ackers,
        owner=draft.owner,
        max_spout_pending=draft.max_spout_pending,
        settings=dict(draft.settings),
        **{name: value for name, value in said.items() if value is not None},
    )


def _component(component: DraftComponent, draft: Draft) -> Component:
    executors = component.executors or 1
    tasks = component.tasks
    if draft.max_task_parallelism is not None:
        # Storm caps tasks, and with them executors (section "Tasks and executors" of its documentation).
        tasks = min(executors if tasks is None else tasks, draft.max_task_parallelism)
    if tasks is not None:
        executors = min(executors, tasks)
    return Component(
        id=component.id,
        executors=executors,
        tasks=None if tasks == executors else tasks,
        inputs=tuple(
            Subscription(item.source, item.stream, item.grouping, item.fields) for item in component.inputs
        ),
        outputs={stream: draft.fields_of(component, stream) for stream in component.streams},
        resources=_resources(component, draft),
        tick_seconds=None if component.is_spout else component.tick_s,
    )


def _resources(component: DraftComponent, draft: Draft) -> Resources | None:
    own = {name: getattr(component, name) for name in RESOURCES.values()}
    if all(amount is None for amount in own.values()):
        return None
    usual = {name: draft.settings.get(key, getattr(DEFAULT_DEMAND, name)) for key, name in RESOURCES.items()}
    return Resources(**{name: float(usual[name] if own[name] is None else own[name]) for name in own})


def _figures(component: DraftComponent, draft: Draft, defaults: Defaults) -> Figures:
    notes, name = draft.notes, component.id
    cost = component.cost_us
    by_input = {(i.source, i.stream): i.cost_us for i in component.inputs if i.cost_us is not None}
    if cost is None:
        cost = Spread(defaults.cost_us)
        if len(by_input) < max(1, len(component.inputs)):
            notes.assume(name, "cost of a call", f"{defaults.cost_us:g} us", "a default; give cost_us")
    recorded = name in draft.calls.components
    if component.tick_s is not None and recorded and name not in draft.calls.ticks:
        notes.assume(name, "tick tuples", "emit nothing", "its code was run without them; run it again")
    elif component.tick_s is not None and component.tick_cost_us is None and not recorded:
        notes.assume(name, "cost of a tick tuple", f"{cost.mean:g} us, and it emits nothing", "give tick")
    return Figures(
        cost_us=cost,
        emits={stream: _emits(component, stream, draft, defaults) for stream in component.streams},
        input_cost_us=by_input,
        server=component.server,
        server_us=component.server_us,
        tick_cost_us=cost.mean if component.tick_cost_us is None else component.tick_cost_us,
        tick_emits={
            stream: item.per_tick for stream, item in component.streams.items() if item.per_tick is not None
        },
    )


def _emits(component: DraftComponent, name: str, draft: Draft, defaults: Defaults) -> Emits:
    stream, notes = component.streams[name], draft.notes
    heard = draft.subscriptions(component.id, name)
    where = f"{component.id}.{name}"
    per_call, size = stream.per_call, stream.bytes
    given = bool(component.given) and name == next(iter(component.streams))
    if given or component.id in draft.calls.components or not heard:
        return Emits(per_call or 0.0, defaults.bytes if size is None else size)
    if per_call is None:
        per_call = defaults.per_call
        notes.assume(where, "tuples a call", f"{per_call:g}", "a default; give emits")
    if size is None:
        size = defaults.bytes
        notes.assume(where, "size of a tuple", f"{size} bytes", "a default; give bytes")
    keys: dict[str, Keys] = {}
    for item in heard:
        names = item.fields
        if item.grouping is Grouping.PARTIAL_KEY and not names:
            names = draft.fields_of(component, name)[:1]
        for field in names if item.grouping in (Grouping.FIELDS, Grouping.PARTIAL_KEY) else ():
            if field in keys:
                continue
            keys[field] = stream.keys.get(field) or defaults.keys
            if field not in stream.keys:
                spread = f"{defaults.keys.distinct} keys, {defaults.keys.shape.value}"
                notes.assume(f"{where}.{field}", "spread of the key", spread, "a default; give keys")
    return Emits(per_call, size, keys)


def _source(component: DraftComponent, draft: Draft, defaults: Defaults) -> Source:
    notes, name = draft.notes, component.id
    rate = component.rate_per_s
    if rate is None:
        rate = defaults.rate_per_s
        notes.assume(name, "rate of all its executors", f"{rate:g} records/s", "a default; give rate_per_s")
    if component.anchored is None:
        notes.assume(name, "reliability", "emits with message ids", "a default; give anchored")
    rate_per_s = None if isinstance(rate, str) else rate
    return Source(rate_per_s, anchored=component.anchored is not False, replays=component.replays)


def _calls_per_record(topology: Topology, figures: Mapping[str, Figures], draft: Draft) -> float | None:
    """Return the calls of user code that one record of every spout causes; None if they never end."""
    present = {spout.id: 1.0 for spout in topology.spouts}
    total = float(len(present))
    for _ in range(_ROUNDS):
        following: dict[str, float] = {}
        for component in topology.bolts:
            for item in component.inputs:
                calls = present.get(item.source, 0.0) * figures[item.source].emits[item.stream].per_call
                if calls > 1e-12:
                    following[component.id] = following.get(component.id, 0.0) + calls
        if not following:
            return total
        total += sum(following.values())
        present = following
        if total > MOST_PER_RECORD:
            break
    loop = max(present, key=lambda name: present[name])
    why = f"one record leads to more than {MOST_PER_RECORD:g} calls: say in an overlay what share goes on"
    draft.notes.missing(draft.components[loop].place, f"emits of {loop!r} and of what it goes through", why)
    return None
