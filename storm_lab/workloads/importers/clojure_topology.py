"""Topologies of streamparse before version 3, in its Clojure language.

A function returns two maps: component names to ``python-spout-spec`` calls, and to ``python-bolt-spec``
calls. What Clojure code computes is not computed here, and noted.
"""

from __future__ import annotations

from collections.abc import Iterator

from storm_lab.workloads.importers.place import Notes, Place
from storm_lab.workloads.importers.s_expressions import Atom, Form, NotClojureError, parse_forms
from storm_lab.workloads.multilang.plan import ComponentSpec, InputSpec

_SPOUTS = ("python-spout-spec", "shell-spout-spec", "spout-spec", "clojure-spout-spec")
_BOLTS = ("python-bolt-spec", "shell-bolt-spec", "bolt-spec", "clojure-bolt-spec")
_GROUPINGS = {
    ":shuffle": "shuffle",
    ":all": "all",
    ":global": "global",
    ":none": "none",
    ":direct": "direct",
    ":local-or-shuffle": "local-or-shuffle",
}


def read_clojure(text: str, file: str, notes: Notes) -> list[ComponentSpec]:
    """The components that a Clojure topology declares."""
    try:
        forms = parse_forms(text)
    except NotClojureError as error:
        notes.missing(Place(file), "the topology", f"it is not Clojure: {error}")
        return []
    found: list[ComponentSpec] = []
    for name, call in _specs(forms):
        place = Place(file, name.line, name.text)
        head = call.items[0]
        assert isinstance(head, Atom)
        spec = _spec(name.text, call, head.text.rpartition("/")[2], place, notes)
        if spec is not None:
            found.append(spec)
    if not found:
        notes.missing(Place(file), "the components", "there is no python-spout-spec or python-bolt-spec")
    return found


def _specs(forms: list[Form | Atom]) -> Iterator[tuple[Atom, Form]]:
    """Names with the calls that specify them, wherever a map holds them, in the order of the file."""
    waiting = list(reversed(forms))
    while waiting:
        form = waiting.pop()
        if not isinstance(form, Form):
            continue
        if form.kind == "{":
            for key, value in form.pairs():
                if isinstance(key, Atom) and key.is_text and _is_spec(value):
                    assert isinstance(value, Form)
                    yield key, value
        waiting += reversed(form.items)


def _is_spec(form: Form | Atom) -> bool:
    if not isinstance(form, Form) or form.kind != "(" or not form.items:
        return False
    head = form.items[0]
    return isinstance(head, Atom) and head.text.rpartition("/")[2] in (*_SPOUTS, *_BOLTS)


def _spec(name: str, call: Form, head: str, place: Place, notes: Notes) -> ComponentSpec | None:
    is_spout = head in _SPOUTS
    python = head.startswith("python")
    arguments = list(call.items[1:])
    options = _options(arguments)
    plain = arguments[: len(arguments) - 2 * len(options)]
    if python and plain and isinstance(plain[0], Atom) and not plain[0].is_text:
        # The options that the function was called with.
        plain = plain[1:]
    spec = ComponentSpec(name, is_spout)
    if not is_spout:
        inputs = plain.pop(0) if plain else None
        spec.inputs = _inputs(inputs, place, notes)
    if python:
        code = plain.pop(0) if plain else None
        if isinstance(code, Atom) and code.is_text and "." in code.text:
            module, _, cls = code.text.rpartition(".")
            spec.code = {"module": module, "class": cls}
        else:
            notes.cannot_use(place, f"the class of {name}", "it is no text with a module and a class")
        if plain:
            spec.outputs = _outputs(plain[0])
    else:
        spec.java = head
        spec.outputs_known = False
        notes.cannot_use(place, f"{name}, a {head}", "only its place in the topology is read, not its code")
    par = options.get(":p") or options.get(":par")
    if par is not None:
        if isinstance(par, Atom) and par.text.isascii() and par.text.isdigit() and len(par.text) < 7:
            spec.par = int(par.text)
        else:
            notes.assume(name, "parallelism", "1", "Clojure code computes it; give executors")
    conf = options.get(":conf")
    for key, value in conf.pairs() if isinstance(conf, Form) else ():
        if isinstance(key, Atom) and isinstance(value, Atom):
            spec.config[key.text] = _number(value)
    tick = spec.config.get("topology.tick.tuple.freq.secs")
    spec.tick_s = float(tick) if isinstance(tick, int | float) and tick > 0 else None
    return spec


def _options(arguments: list[Form | Atom]) -> dict[str, Form | Atom]:
    """The keyword arguments at the end of a call."""
    options: dict[str, Form | Atom] = {}
    while len(arguments) >= 2 * len(options) + 2:
        key = arguments[-2 * len(options) - 2]
        if not isinstance(key, Atom) or key.is_text or not key.text.startswith(":"):
            break
        if key.text in options:
            break
        options[key.text] = arguments[-2 * len(options) - 1]
    return options


def _inputs(form: Form | Atom | None, place: Place, notes: Notes) -> list[InputSpec]:
    found: list[InputSpec] = []
    for key, value in form.pairs() if isinstance(form, Form) and form.kind == "{" else ():
        names = (
            [item.text for item in key.items if isinstance(item, Atom)]
            if isinstance(key, Form)
            else [key.text]
        )
        if not names:
            continue
        stream = names[1] if len(names) > 1 else "default"
        if isinstance(value, Form):
            fields = [item.text for item in value.items if isinstance(item, Atom) and item.is_text]
            found.append(InputSpec(names[0], stream, "fields", fields))
        elif value.text in _GROUPINGS:
            found.append(InputSpec(names[0], stream, _GROUPINGS[value.text]))
        else:
            found.append(InputSpec(names[0], stream, "fields" if value.is_text else value.text, [value.text]))
    if not found:
        notes.cannot_use(place, f"the inputs of {place.key}", "they are no map of components to groupings")
    return found


def _outputs(form: Form | Atom) -> dict[str, list[str]]:
    if isinstance(form, Form) and form.kind == "{":
        return {
            key.text: [item.text for item in value.items if isinstance(item, Atom)]
            for key, value in form.pairs()
            if isinstance(key, Atom) and isinstance(value, Form)
        }
    if isinstance(form, Form):
        fields = [item.text for item in form.items if isinstance(item, Atom)]
        return {"default": fields} if fields else {}
    return {}


def _number(atom: Atom) -> str | int | float | bool:
    if atom.text in ("true", "false"):
        return atom.text == "true"
    if not atom.is_text:
        for kind in (int, float):
            try:
                return kind(atom.text)
            except ValueError:
                continue
    return atom.text
