"""Exceptions of the project, with messages that say what is wrong and how to put it right.

Every subpackage may import this module. The command line turns a `StormLabError` into one line on stderr and
the exit status that the error carries. Errors of the system are one line, too; any other exception is a
defect of the project and keeps its traceback.
"""

from __future__ import annotations

import difflib
import errno
import sysconfig
import traceback
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import ClassVar


class StormLabError(Exception):
    """Base of all errors that the project raises on purpose."""

    exit_code: ClassVar[int] = 1
    """Exit status of the process if the error is not handled."""

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows in a notebook: the message without a traceback."""
        return [f"{type(self).__name__}: {self}"]


class UserError(StormLabError):
    """Some input is wrong, and the person who gave it can put it right.

    `str(error)` is one line: `field = value: message; remedy`, with the parts that are known. Line breaks in
    any part become blanks, and the middle of a long value is left out.

    Args:
        message: what is wrong, without a full stop.
        field: name of the parameter, option, column or file that is wrong.
        value: what was given; shown with `repr`.
        remedy: what to do about it.
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self, message: str, *, field: str | None = None, value: object = None, remedy: str | None = None
    ) -> None:
        self.message = _one_line(message)
        self.field = field
        self.value = value
        self.remedy = None if remedy is None else _one_line(remedy)
        shown_value = None if value is None else shown(value)
        subject = " = ".join(part for part in (field, shown_value) if part is not None)
        line = f"{subject}: {self.message}" if subject else self.message
        super().__init__(_one_line(f"{line}; {remedy}" if self.remedy else line))

    def __reduce__(self) -> tuple[object, ...]:
        # Runs happen in worker processes, and default pickling would drop the keyword arguments.
        return partial(type(self), self.message, field=self.field, value=self.value, remedy=self.remedy), ()


def explained(error: Exception) -> StormLabError | None:
    """Return an error of one line: this one, or the limit of the machine that it is due to; else None."""
    if isinstance(error, StormLabError):
        return error
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EFBIG:
        message = "a file would become larger than this process may write"
        remedy = "raise the limit of this shell (ulimit -f unlimited)"
    elif (
        isinstance(error, MemoryError)
        or number == errno.ENOMEM
        or any(sign in str(error) for sign in _NO_MEMORY)
    ):
        message = "this process may not have as much memory as it needs"
        remedy = "raise the limit of this shell (ulimit -v unlimited), or give fewer --jobs"
    else:
        return None
    return StormLabError(f"{message} ({exception_summary(error)}); {remedy}")


_NO_MEMORY = ("can't start new thread", "failed to map segment from shared object")
"""Messages of other errors than `MemoryError` that are due to a lack of memory."""


@contextmanager
def refused_by_system(
    message: str, *, field: str, value: str | None = None, remedy: str | None = None
) -> Iterator[None]:
    """Turn an `OSError` raised in this block into a `UserError` that states the reason."""
    try:
        yield
    except OSError as error:
        reason = f"{message} ({error.strerror or error})"
        raise UserError(reason, field=field, value=value, remedy=remedy) from error


_NOT_USER_CODE = tuple(
    Path(folder).resolve()
    for folder in (str(Path(__file__).parent), *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))
)
"""Folders whose code is not the user's own."""

_LONGEST_TEXT = 200


def exception_summary(error: BaseException) -> str:
    """Return the message of an exception and the last line of the user's own code that led to it.

    For example ``ZeroDivisionError: division by zero (my_idea.py, line 12)``.
    """
    text = _one_line(traceback.format_exception_only(error)[-1])
    if len(text) > _LONGEST_TEXT:
        text = f"{text[: _LONGEST_TEXT - 3]}..."
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if not frames:
        return text
    own = [
        (path, line)
        for path, line in frames
        if not any(path.resolve().is_relative_to(folder) for folder in _NOT_USER_CODE)
    ]
    path, line = (own or frames)[-1]
    return f"{text} ({path.name}, line {line})"


def is_own_code(kind: type) -> bool:
    """Whether a class belongs to the project; classes of other authors may raise anything."""
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


_MOST_NAMES = 60


def unknown_name(
    noun: str, name: object, known: Iterable[object], owner: str, *, field: str | None = None
) -> UserError:
    """Return the error for a name that ``owner`` does not have; suggests a similar name and lists all.

    ``field`` says where the name was given; it defaults to the ``noun``.
    """
    names = sorted(map(str, known))
    close = difflib.get_close_matches(str(name), names, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    listed = ", ".join([*names[:_MOST_NAMES], *["..."] * (len(names) > _MOST_NAMES)]) or "none"
    remedy = f"{guess}there are: {listed}"
    return UserError(f"{owner} has no such {noun}", field=field or noun, value=name, remedy=remedy)


def check_known(
    noun: str, name: object, known: Collection[object], owner: str, *, field: str | None = None
) -> None:
    """Raise `unknown_name` unless ``name`` is among the known names."""
    if name not in known:
        raise unknown_name(noun, name, known, owner, field=field)


_LONGEST_VALUE = 160


def shown(value: object) -> str:
    """Return a value as messages show it: its `repr`, without the middle if it is long."""
    try:
        text = repr(value)
    except Exception as error:  # A user's class may raise anything, and this is only for a message.
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    if len(text) <= _LONGEST_VALUE:
        return text
    # The middle is cut because the end of a path says most.
    kept = (_LONGEST_VALUE - 3) // 2
    return f"{text[:kept]}...{text[-kept:]}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
