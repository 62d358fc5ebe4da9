"""What is handed to a real Storm from outside: a topology's program, and a scheduler for Nimbus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Submission:
    """A program that submits one topology.

    ``main`` of ``jar`` is run in the host of Nimbus with ``arguments``, on the class path of the cluster's
    release, with the cluster's ``storm.yaml`` and ``-Dstorm.jar=jar``. Status 0 means that the topology
    ``name`` is submitted; else the last line of its stderr says why not.
    """

    name: str
    jar: Path
    main: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SchedulerPlug:
    """A scheduler for Nimbus: ``storm.scheduler`` and what it needs.

    ``jar`` joins Nimbus's class path only; ``settings`` join its ``storm.yaml``. ``socket_key`` is what
    names the Unix socket that it asks: where it is not among the settings, it is one in the cluster's own
    folder (`LiveStorm.scheduler_socket`), which goes when the cluster goes.
    """

    class_name: str
    jar: Path
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    socket_key: str | None = None
