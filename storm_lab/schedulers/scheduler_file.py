"""Schedulers by name or place: ``default``, ``my_idea.py:MyIdea`` or ``package.module:MyIdea``.

The module also completes such names in shells. Files are completed by the shell itself when it gets an item
of type ``file``.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import fields
from functools import partial
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from click.shell_completion import CompletionItem

from storm_lab.errors import UserError, exception_summary, is_own_code
from storm_lab.machine.options import Option
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.parameters import parse_parameters
from storm_lab.schedulers.registry import scheduler_class, scheduler_names

_refused = partial(UserError, field="scheduler")


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Redirect what a user's code prints to standard error, because standard output is for results."""
    with redirect_stdout(sys.stderr):
        yield


def is_file_or_module(text: str) -> bool:
    """Return whether a text names a file or a module with a class, rather than an installed scheduler."""
    place, colon, name = text.partition(":")
    return place.endswith(".py") or bool(colon and name.isidentifier() and "=" not in name)


def split_reference(text: str) -> tuple[str, str, str]:
    """Split such a text into file or module, class, and parameters; missing ones are empty."""
    place, _, rest = text.partition(":")
    name, _, given = rest.partition(":")
    return (place, "", rest) if "=" in name else (place, name, given)


@stdout_to_stderr()
def scheduler_of(text: str, parameters: Iterable[str] = ()) -> Scheduler[Any]:
    """Make a scheduler from a name, a file or a module.

    The text is ``NAME``, ``FILE.py``, ``FILE.py:CLASS`` or ``MODULE:CLASS``, each optionally followed by
    ``:KEY=VALUE,KEY=VALUE``. Further ``parameters`` are ``KEY=VALUE`` each.

    The folder of the file, or the working folder, is put on the module path. The scheduler may then import
    its neighbours, and processes that play runs can find it. Importing it executes the user's code. Raises
    `UserError` if there is no such file, module, class or scheduler, or it cannot be imported.
    """
    if is_file_or_module(text):
        place, name, given = split_reference(text)
        kind, owner = _class_of(_module_of(place, name, text), name, text), text
    else:
        owner, _, given = text.partition(":")
        kind = _installed_class(owner)
    _check_class(kind, text)
    try:
        values = [piece for piece in given.split(",") if piece.strip()]
        return kind(parse_parameters(kind.Parameters, [*values, *parameters], owner=owner))
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        if is_own_code(kind):
            raise
        raise _refused(f"it cannot be created: {exception_summary(error)}", value=text) from error


def _installed_class(name: str) -> type[Scheduler[Any]]:
    try:
        return scheduler_class(name)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise _not_importable(name, error) from error


def _module_of(place: str, name: str, text: str) -> ModuleType:
    if place.endswith(".py"):
        return _file_module(place)
    _put_on_path(str(Path.cwd()))
    _check_not_a_parameter(place, name, text)
    return _module(place, place)


def _file_module(place: str) -> ModuleType:
    path = Path(place).absolute()
    if not path.is_file():
        raise _refused("there is no such file", value=place, remedy="storm-lab new scheduler NAME writes one")
    if not path.stem.isidentifier():
        message = "the file name is not a valid module name"
        raise _refused(message, value=place, remedy="use letters, digits and _")
    _put_on_path(str(path.parent))
    try:
        known = find_spec(path.stem)
    except ValueError:  # A module without a specification, such as __main__.
        known = ModuleSpec(path.stem, None)
    if known is not None and (known.origin is None or Path(known.origin).resolve() != path.resolve()):
        message = f"another module has the name of the file: {known.origin or 'built in'}"
        raise _refused(message, value=place, remedy="rename the file")
    return _module(path.stem, place)


def _check_not_a_parameter(place: str, name: str, text: str) -> None:
    """Refuse a policy with a parameter that has no value, which has the form of a module with a class."""
    if place not in scheduler_names():
        return
    known = {field.name for field in fields(scheduler_class(place).Parameters)}
    if name in known or find_spec(place) is None:
        raise _refused("the parameter has no value", value=text, remedy=f"write {place}:{name}=VALUE")


def _put_on_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _module(name: str, place: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise _not_importable(place, error) from error


def _not_importable(place: str, error: BaseException) -> UserError:
    if not isinstance(error, SyntaxError):
        return _refused(f"it cannot be imported: {exception_summary(error)}", value=place)
    where = f"{Path(error.filename or place).name}, line {error.lineno}"
    return _refused(f"it is not valid Python: {error.msg} ({where})", value=place)


def _class_of(module: ModuleType, name: str, text: str) -> type[Scheduler[Any]]:
    own: dict[str, type[Scheduler[Any]]] = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, Scheduler)
        and value.__module__ == module.__name__
        and not inspect.isabstract(value)
    }
    if not name and len(own) == 1:
        (name,) = own
    if name in own:
        return own[name]
    what = f"has no scheduler {name}" if name else "does not have exactly one scheduler"
    remedy = "write a subclass of Scheduler with a method schedule"
    if own:
        remedy = f"name one after a colon: {', '.join(own)}"
    raise _refused(f"the module {what}", value=text, remedy=remedy)


def _check_class(kind: type[Scheduler[Any]], text: str) -> None:
    """Refuse a class without a method ``schedule``, a name or a version."""
    if inspect.isabstract(kind):
        remedy = "add schedule(self, view) to the class"
        raise _refused("the class has no method schedule", value=text, remedy=remedy)
    for item in ("name", "version"):
        if not isinstance(getattr(kind, item, None), str):
            raise _refused(f"the class has no {item}", value=text, remedy=f'add {item} = "..." to the class')


def complete_scheduler(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a scheduler; complete files if no name matches."""
    online = "online:" if incomplete.startswith("online:") else ""
    names = [f"{online}{name}" for name in scheduler_names()]
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def complete_policies(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the last of a list of schedulers; those that are already in the list are left out."""
    before, comma, _ = incomplete.rpartition(",")
    there = before.split(",")
    names = [f"{before}{comma}{name}" for name in scheduler_names() if name not in there]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def schedulers_option(what: str, form: str = "FILE.py:CLASS[:K=V,...]") -> Option:
    """Return the option ``--scheduler`` of a command that takes several; its argument is ``schedulers``."""
    return click.option(
        "--scheduler", "schedulers", metavar=form, multiple=True, shell_complete=complete_scheduler, help=what
    )


def policies_option(what: str) -> Option:
    """Return the option ``--policies``, a list of built-in policies, which `names_of` reads."""
    return click.option("--policies", metavar="NAME,NAME", shell_complete=complete_policies, help=what)


def names_of(policies: str, *, others: bool = False) -> list[str]:
    """Return the names in a comma-separated list; `UserError` if it is empty and there are no ``others``."""
    names = [name.strip() for name in policies.split(",") if name.strip()]
    if not names and not others:
        remedy = "give names such as default,tstorm, or leave it out"
        raise UserError("is empty", field="--policies", value=policies, remedy=remedy)
    return names
