"""Files that name the same packages, Pythons or versions agree; pyproject.toml is the reference."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import lock
import yaml
from interpreter import FIRST, LAST
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import storm_lab
from storm_lab.machine.doctor import OLDEST_PYTHON
from storm_lab.machine.java import NEWEST_TRIED_JAVA, OLDEST_JAVA

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = [f"{FIRST[0]}.{minor}" for minor in range(FIRST[1], LAST[1] + 1)]
"""The versions of Python that the project runs on, oldest first."""

CONDA_NAMES = {"ortools-python": "ortools", "python-duckdb": "duckdb"}
"""Packages that have another name on conda-forge."""

NOT_LOCKED = {"docs", "publish"}
"""Extras that only ``make docs`` and ``make dist`` install."""

NOT_PYTHON_PACKAGES = {"python", "pip", "openjdk"}

Ranges = dict[str, SpecifierSet]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pyproject() -> dict[str, Any]:
    return tomllib.loads(text_of("pyproject.toml"))


def project() -> dict[str, Any]:
    table: dict[str, Any] = pyproject()["project"]
    return table


def wanted_ranges() -> Ranges:
    table = project()
    lines = list(table["dependencies"])
    for name, extra in table["optional-dependencies"].items():
        lines += extra if name not in NOT_LOCKED else []
    return {canonicalize_name(found.name): found.specifier for found in map(Requirement, lines)}


def locked_versions(text: str) -> dict[str, list[str]]:
    """Every version of every package in a lock; more than one where they differ between machines."""
    versions: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, version = re.fullmatch(r"([\w.-]+)==([\w.!+]+)(?: ; .+)?", line).groups()  # type: ignore[union-attr]
            versions.setdefault(canonicalize_name(name), []).append(version)
    return versions


def environment() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text_of("environment.yml"))
    return found


def environment_ranges(found: dict[str, Any]) -> tuple[Ranges, list[str]]:
    """The ranges of an environment file under pip's names, and the lines of its pip section."""
    ranges: Ranges = {}
    pip: list[str] = []
    for line in found["dependencies"]:
        if isinstance(line, dict):
            pip += line["pip"]
        else:
            requirement = Requirement(line)
            ranges[CONDA_NAMES.get(requirement.name, requirement.name)] = requirement.specifier
    for line in pip:
        if not line.startswith("-"):
            requirement = Requirement(line)
            ranges[requirement.name] = requirement.specifier
    return {canonicalize_name(name): ranges[name] for name in ranges}, pip


def test_the_lock_contains_every_package_in_its_range() -> None:
    locked = locked_versions(text_of("requirements.lock"))
    missing = [
        f"{name}{specifier} of pyproject.toml"
        for name, specifier in sorted(wanted_ranges().items())
        if name not in locked or any(version not in specifier for version in locked[name])
    ]
    assert not missing, "not in requirements.lock (run: make lock)"


def test_the_environment_has_the_same_ranges() -> None:
    ranges, _ = environment_ranges(environment())
    assert {name: ranges[name] for name in ranges if name not in NOT_PYTHON_PACKAGES} == wanted_ranges()


def test_the_environment_installs_python_a_jdk_and_the_project() -> None:
    found = environment()
    ranges, pip = environment_ranges(found)
    assert ranges["python"] == SpecifierSet(project()["requires-python"])
    accepted = [major for major in range(5, 40) if str(major) in ranges["openjdk"]]
    assert OLDEST_JAVA <= min(accepted) <= max(accepted) <= NEWEST_TRIED_JAVA
    assert pip[-1] == "-e ."
    assert found["channels"][0] == "conda-forge"


def test_the_range_of_pythons_is_the_same_everywhere() -> None:
    oldest, newest = PYTHONS[0], PYTHONS[-1]
    tools = pyproject()["tool"]
    assert project()["requires-python"] == f">={oldest}"
    language = "Programming Language :: Python :: "
    named = [each.removeprefix(language) for each in project()["classifiers"] if each.startswith(language)]
    assert named == ["3", *PYTHONS]
    assert tools["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"
    assert tools["mypy"]["python_version"] == oldest
    assert OLDEST_PYTHON == FIRST
    assert f"for Python {oldest} to {newest}," in text_of("requirements.lock")
    assert re.findall(r"python(3\.\d+)", text_of("Makefile")) == PYTHONS[::-1]
    for name in ("README.md", ".ci/run"):
        assert f"Python {oldest} or newer" in text_of(name)


def test_containers_have_the_same_python() -> None:
    files = ("Dockerfile", ".binder/runtime.txt", ".devcontainer/devcontainer.json")
    found = {re.findall(r"python[:-](3\.\d+)", text_of(name))[0] for name in files}
    assert len(found) == 1 and found <= set(PYTHONS)


def test_every_extra_is_locked_or_left_out_on_purpose() -> None:
    assert {*lock.EXTRAS, *NOT_LOCKED} == project()["optional-dependencies"].keys()


def test_python_packages_have_one_version_for_all_pythons() -> None:
    locked = locked_versions(text_of("requirements.lock"))
    several = {name: versions for name, versions in locked.items() if len(versions) > 1}
    assert not several, f"a run would depend on the Python it is made with: {several}"


def test_the_lock_does_not_say_where_packages_came_from() -> None:
    for line in text_of("requirements.lock").splitlines():
        assert not re.search(r"://|^-|@|/[a-z]+/", line), f"requirements.lock holds a place: {line}"


def test_the_version_of_the_project_is_the_same_everywhere() -> None:
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["version"] == storm_lab.__version__
    assert f"## {storm_lab.__version__}" in text_of("CHANGELOG.md")
