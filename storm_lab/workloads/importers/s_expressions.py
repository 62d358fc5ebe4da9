"""Reading Clojure data: enough of it for the topologies of streamparse before version 3."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MOST_TOKENS = 100_000
DEEPEST = 64

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()\[\]{}]|#\{|\'|[^\s,()\[\]{}"\';]+')
_CLOSERS = {"(": ")", "[": "]", "{": "}", "#{": "}"}


@dataclass(slots=True)
class Form:
    """A list, vector, map or set: ``kind`` is its opening bracket."""

    kind: str
    line: int
    items: list[Form | Atom] = field(default_factory=list)

    def pairs(self) -> list[tuple[Form | Atom, Form | Atom]]:
        """The entries of a map."""
        return list(zip(self.items[::2], self.items[1::2], strict=False))


@dataclass(frozen=True, slots=True)
class Atom:
    """A text, number, keyword or symbol."""

    text: str
    line: int
    is_text: bool = False


class NotClojureError(Exception):
    """Brackets do not match, or there is too much of it; the text says where."""


def parse_forms(text: str) -> list[Form | Atom]:
    """The top-level forms of a text.

    Raises:
        NotClojureError: brackets do not match, or it is too long or too deep.
    """
    top = Form("top", 1)
    stack = [top]
    count = 0
    for number, line in enumerate(_without_comments(text), start=1):
        for match in _TOKEN.finditer(line):
            token = match[0]
            count += 1
            if count > MOST_TOKENS or len(stack) > DEEPEST:
                raise NotClojureError(f"line {number}: there is too much of it")
            if token in _CLOSERS:
                form = Form(token, number)
                stack[-1].items.append(form)
                stack.append(form)
            elif token in (")", "]", "}"):
                if len(stack) == 1 or _CLOSERS[stack[-1].kind] != token:
                    raise NotClojureError(f"line {number}: a {token} without its beginning")
                stack.pop()
            elif token.startswith('"'):
                stack[-1].items.append(Atom(_unescaped(token[1:-1]), number, is_text=True))
            elif token != "'":
                stack[-1].items.append(Atom(token, number))
    if len(stack) > 1:
        raise NotClojureError(f"line {stack[-1].line}: a {stack[-1].kind} without its end")
    return top.items


def _without_comments(text: str) -> list[str]:
    lines = []
    for line in text.split("\n"):
        # A semicolon inside a text is none.
        quotes = 0
        for place, sign in enumerate(line):
            if sign == '"' and (place == 0 or line[place - 1] != "\\"):
                quotes += 1
            elif sign == ";" and quotes % 2 == 0:
                line = line[:place]
                break
        lines.append(line)
    return lines


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
