"""The generations of Storm that the live runtime plays, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """What starting one version of Storm takes."""

    version: str
    """As Maven Central knows it: ``2.8.4``, ``0.9.2-incubating``."""
    package: str
    """Root of its Java packages: ``org.apache.storm``, or ``backtype.storm`` before 1.0."""
