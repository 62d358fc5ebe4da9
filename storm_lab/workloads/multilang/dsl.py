"""streamparse's language for topologies: specs, groupings, streams, and the class that holds them.

It is lenient where streamparse is strict: `declared` returns, for the report, what streamparse would refuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from storm_lab.model.topology import DEFAULT_STREAM
from storm_lab.workloads.multilang.plan import ComponentSpec, InputSpec, tick_of


@dataclass(eq=False)
class Stream:
    """An output stream with its fields."""

    fields: Any = None
    name: Any = DEFAULT_STREAM
    direct: bool = False


@dataclass(frozen=True, slots=True)
class GroupingSpec:
    """A grouping: its name in the model, and its fields."""

    kind: str
    fields: tuple[str, ...] = ()


class Grouping:
    """The groupings."""

    SHUFFLE = GroupingSpec("shuffle")
    GLOBAL = GroupingSpec("global")
    DIRECT = GroupingSpec("direct")
    ALL = GroupingSpec("all")
    NONE = GroupingSpec("none")
    LOCAL_OR_SHUFFLE = GroupingSpec("local-or-shuffle")

    @classmethod
    def fields(cls, *fields: Any) -> GroupingSpec:
        """Group by fields."""
        names = fields[0] if len(fields) == 1 and isinstance(fields[0], list | tuple) else fields
        if not names:
            raise ValueError("a fields grouping needs a field")
        return GroupingSpec("fields", tuple(map(str, names)))

    @classmethod
    def custom_object(cls, *args: Any, **kwargs: Any) -> GroupingSpec:
        """Group by a Java class, given by its name or a serialised object."""
        return GroupingSpec("custom")

    custom_serialized = custom_object


@dataclass(eq=False)
class GlobalStreamId:
    """A stream of a component; the component is given by its spec or its name."""

    componentId: Any = None
    streamId: str = DEFAULT_STREAM


class Spec:
    """A component as a topology declares it; what is not ``given`` is an attribute of its class."""

    def __init__(self, cls: type, *, is_spout: bool, **given: Any) -> None:
        def stated(key: str, otherwise: object = None) -> Any:
            return given[key] if given.get(key) is not None else getattr(cls, key, None) or otherwise

        self.cls = cls
        self.is_spout = is_spout
        self.name: str | None = given.get("name")
        if not isinstance(self.name, str | None):
            raise TypeError(f"the name of a component must be a text, not {self.name!r}")
        self.par: Any = stated("par", 1)
        self.config: Any = stated("config", {})
        self.outputs: Any = stated("outputs")
        self.inputs: Any = given.get("inputs")
        self.java: str = given.get("java", "")
        self.outputs_known = True
        self.line: int | None = None

    def __getitem__(self, stream: str) -> GlobalStreamId:
        return GlobalStreamId(self, stream)


class JavaBolt:
    """A component in another language: of the JVM, or an external program."""

    is_spout = False

    @classmethod
    def spec(cls, name: str | None = None, **given: Any) -> Spec:
        """Declare it in a topology."""
        command = " ".join(str(given.get(key) or "") for key in ("command", "script")).strip()
        what = given.get("full_class_name") or command or "serialised Java"
        kept = {key: given.get(key) for key in ("inputs", "par", "config", "outputs")}
        return Spec(cls, is_spout=cls.is_spout, name=name, java=str(what), **kept)


class JavaSpout(JavaBolt):
    """A spout in another language."""

    is_spout = True


ShellBolt, ShellSpout = JavaBolt, JavaSpout


class Topology:
    """A topology; its attributes are the components, collected in ``specs`` with those of its bases."""

    config: Any = None
    specs: ClassVar[list[Spec]] = []

    def __init_subclass__(cls) -> None:
        cls.specs = [spec for base in cls.__bases__ for spec in getattr(base, "specs", [])]
        for name, value in vars(cls).items():
            if isinstance(value, Spec):
                value.name = value.name or name
                cls.specs.append(value)


def declared(specs: Iterable[Spec]) -> tuple[list[ComponentSpec], list[str]]:
    """Return the components that a topology's specs declare, and what streamparse would refuse about them."""
    faults: list[str] = []
    by_name: dict[str, Spec] = {}
    for spec in specs:
        if spec.name in by_name:
            faults.append(f"two components have the name {spec.name!r}: the first counts")
        by_name.setdefault(str(spec.name), spec)
    components = [_component(name, spec, faults) for name, spec in by_name.items()]
    return components, faults


def _component(name: str, spec: Spec, faults: list[str]) -> ComponentSpec:
    par = spec.par
    if isinstance(par, bool) or not isinstance(par, int) or par < 1:
        faults.append(f"{name}: parallelism must be a whole number from 1, not {par!r}: played as 1")
        par = 1
    config = spec.config if isinstance(spec.config, Mapping) else {}
    if not isinstance(spec.config, Mapping):
        faults.append(f"{name}: config must be a dictionary: left out")
    return ComponentSpec(
        name=name,
        is_spout=spec.is_spout,
        par=par,
        inputs=[] if spec.is_spout else _inputs(name, spec.inputs, faults),
        outputs=_outputs(name, spec.outputs, faults),
        config={str(key): value for key, value in config.items()},
        code={} if spec.java else {"module": spec.cls.__module__, "class": spec.cls.__qualname__},
        java=spec.java,
        outputs_known=spec.outputs_known and isinstance(spec.outputs, str | list | tuple | set | None),
        line=spec.line,
        tick_s=tick_of(config),
    )


def _outputs(name: str, given: Any, faults: list[str]) -> dict[str, list[str]]:
    streams: dict[str, list[str]] = {}
    for item in _members(f"{name}: outputs", given, faults):
        if not isinstance(item, Stream):
            streams.setdefault(DEFAULT_STREAM, []).append(str(item))
        elif isinstance(item.name, str):
            fields = _members(f"{name}: fields of stream {item.name!r}", item.fields, faults)
            streams[item.name] = list(map(str, fields))
        else:
            faults.append(f"{name}: the name of a stream must be a text, not {item.name!r}: left out")
    return streams


def _members(what: str, given: Any, faults: list[str]) -> list[Any]:
    """Return the members of a list; a text counts as one member, and any other value as none."""
    if given is None:
        return []
    if isinstance(given, str):
        faults.append(f"{what} must be a list, not the text {given!r}: read as one field")
        return [given]
    if not isinstance(given, list | tuple | set):
        faults.append(f"{what} must be a list, not {given!r}: left out")
        return []
    return list(given)


def _inputs(name: str, given: Any, faults: list[str]) -> list[InputSpec]:
    if given is None:
        return []
    members = given if isinstance(given, list | tuple | set) else [given]
    pairs = list(given.items()) if isinstance(given, Mapping) else [(item, None) for item in members]
    found = []
    for source, grouping in pairs:
        stream = source if isinstance(source, GlobalStreamId) else GlobalStreamId(source)
        owner = stream.componentId
        component = owner.name if isinstance(owner, Spec) else owner
        if not isinstance(component, str):
            kind = type(source).__name__
            faults.append(f"{name}: an input must be a component or its stream, not a {kind}: left out")
            continue
        if grouping is None:
            outputs = _members("", owner.outputs, []) if isinstance(owner, Spec) else []
            direct = [item.name for item in outputs if isinstance(item, Stream) and item.direct]
            grouping = Grouping.DIRECT if stream.streamId in direct else Grouping.SHUFFLE
        if not isinstance(grouping, GroupingSpec):
            faults.append(f"{name}: {grouping!r} is not a grouping: played as a shuffle")
            grouping = Grouping.SHUFFLE
        found.append(InputSpec(component, stream.streamId, grouping.kind, list(grouping.fields)))
    return found
