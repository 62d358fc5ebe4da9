"""Registries: classes of one kind, such as migration methods, that are found by name.

Each class is in a module of its own in the registry's package.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from storm_lab.errors import UserError, check_known

T = TypeVar("T")
C = TypeVar("C", bound=type)


class Registry(Generic[T]):
    """Classes by their ``name``; the modules of ``package`` are imported at first use.

    ``noun`` names the kind in messages.
    """

    def __init__(self, noun: str, package: str) -> None:
        self._noun = noun
        self._package = package
        self._members: dict[str, type[T]] = {}
        self._loaded = False

    def register(self, member: C) -> C:
        """Add a frozen dataclass (class decorator); `ValueError` if another class has its ``name``."""
        name: str = member.name  # type: ignore[attr-defined]
        known = self._members.setdefault(name, member)
        if known is not member and known.__qualname__ != member.__qualname__:
            raise ValueError(
                f"two kinds of {self._noun} are named {name!r}: {known.__qualname__}, {member.__qualname__}"
            )
        self._members[name] = member
        return member

    def _load(self) -> None:
        if not self._loaded:
            self._loaded = True
            package = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self._package}.{module.name}")

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        self._load()
        return tuple(sorted(self._members))

    def build(self, name: str, parameters: Mapping[str, Any], *, field: str) -> T:
        """Create a member with these parameters; ``field`` names the field that holds its name.

        Raises `UserError` for an unknown name, or an unknown or missing parameter.
        """
        self._load()
        check_known(self._noun, name, self._members, "the emulator", field=field)
        kind: Any = self._members[name]
        items = dataclasses.fields(kind)
        known = {item.name for item in items}
        for parameter in parameters:
            where = f"{field}.{parameter}"
            check_known("parameter", parameter, known, f"{self._noun} {name!r}", field=where)
        for item in items:
            required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
            if required and item.name not in parameters:
                raise UserError(
                    f"{self._noun} {name!r} needs this parameter",
                    field=f"{field}.{item.name}",
                    remedy="give a value",
                )
        member: T = kind(**parameters)
        return member
