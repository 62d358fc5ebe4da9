"""Topologies of streamparse before version 3, in its Clojure language.

A function returns two maps: component names to ``python-spout-spec`` calls, and component names to
``python-bolt-spec`` calls. Values that Clojure code computes are not evaluated, but noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from storm_lab.workloads.importers.documents import Notes, Place
from storm_lab.workloads.multilang.plan import ComponentSpec, InputSpec, tick_of

_SPOUTS = ("python-spout-spec", "shell-spout-spec", "spout-spec", "clojure-spout-spec")
_BOLTS = ("python-bolt-spec", "shell-bolt-spec", "bolt-spec", "clojure-bolt-spec")
_GROUPINGS = ("shuffle", "all", "global", "none", "direct", "local-or-shuffle")
_MOST_TOKENS = 100_000
_DEEPEST = 64
_TOKEN = re.compile(
    r""" "(?:[^"\\]|\\.)*"     # a text, which may have several lines
    | ;[^\n]*                 # a comment
    | \\(?:\w+|.)             # a character
    | \#?\{ | [()\[\]}] | '   # a bracket, or a quote
    | [^\s,()\[\]{}"';]+      # a word
    """,
    re.DOTALL | re.VERBOSE,
)
_CLOSERS = {"(": ")", "[": "]", "{": "}", "#{": "}"}


def read_clojure(text: str, file: str, notes: Notes) -> list[ComponentSpec]:
    """Return the components that a Clojure topology declares."""
    try:
        forms = _parse_forms(text)
    except _NotClojureError as error:
        notes.missing(Place(file), "the topology", f"it is not Clojure: {error}")
        return []
    found = [_spec(name.text, call, Place(file, name.line, name.text), notes) for name, call in _specs(forms)]
    if not found:
        notes.missing(Place(file), "the components", "there is no python-spout-spec or python-bolt-spec")
    return found


def _specs(forms: list[Form | Atom]) -> Iterator[tuple[Atom, Form]]:
    """Yield names with the calls that specify them, from all maps, in the order of the file."""
    for form in forms:
        if isinstance(form, Form):
            for pair in form.pairs() if form.kind == "{" else ():
                match pair:
                    case (Atom(is_text=True) as name, Form() as call) if call.called in (*_SPOUTS, *_BOLTS):
                        yield name, call
            yield from _specs(form.items)


def _spec(name: str, call: Form, place: Place, notes: Notes) -> ComponentSpec:
    head = call.called
    spec = ComponentSpec(name, is_spout=head in _SPOUTS)
    arguments = list(call.items[1:])
    options = _taken_options(arguments)
    python = head.startswith("python")
    if python and arguments and isinstance(arguments[0], Atom) and not arguments[0].is_text:
        # This argument holds the options that the function was called with.
        del arguments[0]
    if not spec.is_spout:
        spec.inputs = _inputs(arguments.pop(0) if arguments else None, place, notes)
    if python:
        _put_python(arguments, spec, place, notes)
    else:
        spec.java = head
        spec.outputs_known = False
        notes.cannot_use(place, f"{name}, a {head}", "only its place in the topology is read, not its code")
    par = options.get(":p") or options.get(":par")
    if isinstance(par, Atom) and par.text.isascii() and par.text.isdigit() and len(par.text) < 7:
        spec.par = int(par.text)
    elif par is not None:
        notes.assume(name, "parallelism", "1", "Clojure code computes it; give executors")
    conf = options.get(":conf")
    for key, value in conf.pairs() if isinstance(conf, Form) else ():
        if isinstance(key, Atom) and isinstance(value, Atom):
            spec.config[key.text] = _number(value)
    spec.tick_s = tick_of(spec.config)
    return spec


def _put_python(arguments: list[Form | Atom], spec: ComponentSpec, place: Place, notes: Notes) -> None:
    """Read the last arguments of a component in Python: its class and its outputs."""
    match arguments[0] if arguments else None:
        case Atom(text=text, is_text=True) if "." in text:
            module, _, cls = text.rpartition(".")
            spec.code = {"module": module, "class": cls}
        case _:
            why = "it is not a text with a module and a class"
            notes.cannot_use(place, f"the class of {spec.name}", why)
    if len(arguments) > 1:
        spec.outputs = _outputs(arguments[1])


def _taken_options(arguments: list[Form | Atom]) -> dict[str, Form | Atom]:
    """Remove the keyword arguments at the end of a call from its arguments, and return them."""
    options: dict[str, Form | Atom] = {}
    while len(arguments) >= 2:
        key, value = arguments[-2:]
        if not isinstance(key, Atom) or key.is_text or not key.text.startswith(":") or key.text in options:
            break
        options[key.text] = value
        del arguments[-2:]
    return options


def _inputs(form: Form | Atom | None, place: Place, notes: Notes) -> list[InputSpec]:
    found: list[InputSpec] = []
    for key, value in form.pairs() if isinstance(form, Form) and form.kind == "{" else ():
        names = _texts(key) if isinstance(key, Form) else [key.text]
        if not names:
            continue
        stream = names[1] if len(names) > 1 else "default"
        if isinstance(value, Form):
            fields = [item.text for item in value.items if isinstance(item, Atom) and item.is_text]
            found.append(InputSpec(names[0], stream, "fields", fields))
        elif value.text.startswith(":") and value.text[1:] in _GROUPINGS:
            found.append(InputSpec(names[0], stream, value.text[1:]))
        else:
            found.append(InputSpec(names[0], stream, "fields" if value.is_text else value.text, [value.text]))
    if not found:
        notes.cannot_use(place, f"the inputs of {place.key}", "they are no map of components to groupings")
    return found


def _outputs(form: Form | Atom) -> dict[str, list[str]]:
    if not isinstance(form, Form):
        return {}
    if form.kind == "{":
        pairs = form.pairs()
        return {k.text: _texts(v) for k, v in pairs if isinstance(k, Atom) and isinstance(v, Form)}
    fields = _texts(form)
    return {"default": fields} if fields else {}


def _texts(form: Form) -> list[str]:
    return [item.text for item in form.items if isinstance(item, Atom)]


def _number(atom: Atom) -> str | int | float | bool:
    if atom.text in ("true", "false"):
        return atom.text == "true"
    if not atom.is_text:
        for kind in (int, float):
            with suppress(ValueError):
                return kind(atom.text)
    return atom.text


@dataclass(slots=True)
class Form:
    """A list, vector, map or set; ``kind`` is its opening bracket."""

    kind: str
    line: int
    items: list[Form | Atom] = field(default_factory=list)

    def pairs(self) -> list[tuple[Form | Atom, Form | Atom]]:
        """Return the entries of a map."""
        return list(zip(self.items[::2], self.items[1::2], strict=False))

    @property
    def called(self) -> str:
        """The function that a list calls, without its namespace; empty if it calls none by name."""
        head = self.items[0] if self.kind == "(" and self.items else None
        return head.text.rpartition("/")[2] if isinstance(head, Atom) else ""


@dataclass(frozen=True, slots=True)
class Atom:
    """A text, number, keyword or symbol."""

    text: str
    line: int
    is_text: bool = False


class _NotClojureError(Exception):
    """Brackets do not match, or the text is too long or too deep; the message says where."""


def _parse_forms(text: str) -> list[Form | Atom]:
    """Return the top-level forms; `_NotClojureError` if brackets do not match, or it is too long or deep."""
    top = Form("top", 1)
    stack = [top]
    line, end = 1, 0
    for count, match in enumerate(_TOKEN.finditer(text), start=1):
        line += text.count("\n", end, match.start())
        end, token = match.start(), match[0]
        if count > _MOST_TOKENS or len(stack) > _DEEPEST:
            raise _NotClojureError(f"line {line}: there is too much of it")
        if token in _CLOSERS:
            form = Form(token, line)
            stack[-1].items.append(form)
            stack.append(form)
        elif token in (")", "]", "}"):
            if len(stack) == 1 or _CLOSERS[stack[-1].kind] != token:
                raise _NotClojureError(f"line {line}: a {token} without its beginning")
            stack.pop()
        elif token.startswith('"'):
            unescaped = re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL)
            stack[-1].items.append(Atom(unescaped, line, is_text=True))
        elif token != "'" and not token.startswith(";"):
            stack[-1].items.append(Atom(token, line))
    if len(stack) > 1:
        raise _NotClojureError(f"line {stack[-1].line}: a {stack[-1].kind} without its end")
    return top.items
