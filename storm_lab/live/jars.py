"""Jars by coordinates: fetched once, when first needed, and checked at every use.

A *lock*, ``locks/<name>.csv``, lists the coordinates (``group:artifact:version``), SHA-256 and bytes of all
jars that belong together. Maven fetches them if it is installed, so that the user's settings, mirrors and
local repository apply; otherwise Ivy, which comes with PySpark and for which the settings are read here.
"""

from __future__ import annotations

import csv
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from storm_lab.errors import StormLabError, UserError, refused_by_system
from storm_lab.live.processes import run_program
from storm_lab.machine.java import find_java
from storm_lab.machine.places import user_cache

SUMS_NAME = "SHA256SUMS"
"""File of checksums beside the jars, in the format of the program sha256sum."""

SPARK_VARIABLE = "DEFAULT_ARTIFACT_REPOSITORY"
"""Environment variable with which Spark's own resolver replaces Maven Central."""

_ENVIRONMENT = re.compile(r"\$\{env\.(\w+)\}")

_DRAFT = ".draft-"
_FETCH_SECONDS = 1800
_TELLING = ("could not", "unresolved", "access error", "not found")
_NO_ACCESS = "check the connection, or the mirror in ~/.m2/settings.xml, and try again"


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar of a lock."""

    group: str
    artifact: str
    version: str
    sha256: str
    bytes: int

    @property
    def file_name(self) -> str:
        """Name of the file, as in Maven."""
        return f"{self.artifact}-{self.version}.jar"


def jars_of(lock: str) -> tuple[Jar, ...]:
    """Return the jars that a lock lists, in its order."""
    text = (resources.files("storm_lab.live") / "locks" / f"{lock}.csv").read_text(encoding="utf-8")
    found = []
    for row in csv.DictReader(text.splitlines()):
        group, artifact, version = row["coordinates"].split(":")
        found.append(Jar(group, artifact, version, row["sha256"], int(row["bytes"])))
    return tuple(found)


def cache_folder() -> Path:
    """Return the folder of fetched and compiled jars: ``storm_lab/live`` in the user's cache."""
    return user_cache() / "live"


def is_fetched(lock: str) -> bool:
    """Return whether the jars of a lock are in the cache; does not verify their checksums."""
    return (cache_folder() / lock / SUMS_NAME).is_file()


def size_mb(lock: str) -> float:
    """Return the size of all jars of a lock, in MB of 10^6 bytes."""
    return sum(jar.bytes for jar in jars_of(lock)) / 1e6


def ready_jars(lock: str) -> tuple[Path, ...]:
    """Return the cached jars of a lock, checksums verified; `UserError` if one is missing or differs."""
    folder = cache_folder() / lock
    jars = jars_of(lock)
    _check(folder, jars)
    return tuple(folder / jar.file_name for jar in jars)


def fetch_jars(lock: str) -> tuple[Path, ...]:
    """Return the jars of a lock; fetch them first if they are not in the cache, which a line on stderr says.

    Raises `UserError` if a jar is not available, or differs from the lock.
    """
    if is_fetched(lock):
        return ready_jars(lock)
    remedy = "free some space, or set XDG_CACHE_HOME to a folder of your own"
    with (
        refused_by_system("cannot be written", field="cache", value=str(cache_folder()), remedy=remedy),
        drafting(lock) as draft,
    ):
        if not is_fetched(lock):
            _fetch(lock, draft)
    return ready_jars(lock)


def maven_program() -> str | None:
    """Return the path of Maven; None if it is not on PATH, so that Ivy fetches."""
    return shutil.which("mvn")


def ivy_jar() -> Path | None:
    """Return the jar of Ivy that comes with PySpark; None if there is none."""
    found = sorted(Path(str(resources.files("pyspark") / "jars")).glob("ivy-*.jar"))
    return found[-1] if found else None


@contextmanager
def drafting(name: str) -> Iterator[Path]:
    """Provide a working folder in the cache, removed at the end of the block.

    Only one process at a time has such a folder. Leftovers of interrupted processes are removed first.
    """
    with _alone(cache_folder()) as root:
        draft = Path(tempfile.mkdtemp(prefix=f"{_DRAFT}{name}-", dir=root))
        try:
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def remove_drafts() -> None:
    """Remove leftovers of interrupted processes, unless a process is at work."""
    root = cache_folder()
    if any(root.glob(f"{_DRAFT}*")):
        with suppress(BlockingIOError), _alone(root, wait=False):
            pass


@contextmanager
def _alone(root: Path, *, wait: bool = True) -> Iterator[Path]:
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        for left in root.glob(f"{_DRAFT}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield root


def _fetch(lock: str, draft: Path) -> None:
    jars = jars_of(lock)
    target = cache_folder() / lock
    with_what, run = ("Maven", _run_maven) if maven_program() else ("Ivy", _run_ivy)
    _tell(f"fetching {len(jars)} jars of {lock}, {size_mb(lock):.0f} MB, with {with_what} into {target}")
    folder = draft / lock
    folder.mkdir()
    run(jars, folder)
    _check(folder, jars)
    for other in {path.name for path in folder.iterdir()} - {jar.file_name for jar in jars}:
        (folder / other).unlink()
    sums = "".join(f"{jar.sha256}  {jar.file_name}\n" for jar in jars)
    (folder / SUMS_NAME).write_text(sums, encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    folder.rename(target)


def _tell(line: str) -> None:
    print(f"storm-lab: {line}", file=sys.stderr, flush=True)


def _check(folder: Path, jars: tuple[Jar, ...]) -> None:
    for jar in jars:
        path = folder / jar.file_name
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            found = "no such file"
        if found != jar.sha256:
            message = f"not the expected jar (SHA-256 {found[:12]}, expected {jar.sha256[:12]})"
            remedy = f"remove the folder {folder} and fetch again"
            raise UserError(message, field="jar", value=str(path), remedy=remedy)


def _run_maven(jars: tuple[Jar, ...], folder: Path) -> None:
    items = "".join(
        f"<artifactItem><groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId>"
        f"<version>{jar.version}</version></artifactItem>"
        for jar in jars
    )
    # The goal `copy` resolves each jar alone, without its project file, which may name old repositories.
    pom = (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>storm-lab</groupId><artifactId>jars</artifactId><version>1</version>"
        "<packaging>pom</packaging><build><plugins><plugin><groupId>org.apache.maven.plugins</groupId>"
        "<artifactId>maven-dependency-plugin</artifactId><configuration>"
        f"<artifactItems>{items}</artifactItems><outputDirectory>{folder}</outputDirectory>"
        "</configuration></plugin></plugins></build></project>"
    )
    (folder.parent / "pom.xml").write_text(pom, encoding="utf-8")
    _run(["mvn", "--batch-mode", "--quiet", "dependency:copy"], folder.parent, "Maven")


def _run_ivy(jars: tuple[Jar, ...], folder: Path) -> None:
    ivy = ivy_jar()
    if ivy is None:
        raise UserError("neither Maven nor PySpark's Ivy is installed", remedy="install Maven")
    wanted = "".join(
        f'<dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.version}" transitive="false"/>'
        for jar in jars
    )
    place = folder.parent
    # Project files (poms) are not requested: old ones name repositories that no longer exist.
    places = (("local", local_repository().as_uri()), ("central", central_of()))
    # Without a root Ivy uses its own default, Maven Central.
    options = 'm2compatible="true" usepoms="false" checksums=""'
    roots = {name: f" root={quoteattr(url)}" if url else "" for name, url in places}
    resolvers = "".join(f'<ibiblio name="{name}" {options}{root}/>' for name, root in roots.items())
    (place / "settings.xml").write_text(
        f'<ivysettings><settings defaultResolver="all"/><caches defaultCacheDir="{place / "ivy"}"/>'
        f'<resolvers><chain name="all" returnFirst="true">{resolvers}</chain></resolvers></ivysettings>',
        encoding="utf-8",
    )
    (place / "ivy.xml").write_text(
        '<ivy-module version="2.0"><info organisation="storm-lab" module="jars"/>'
        f"<dependencies>{wanted}</dependencies></ivy-module>",
        encoding="utf-8",
    )
    java = find_java().home / "bin" / "java"
    program = [str(java), "-jar", str(ivy), "-error", "-settings", "settings.xml", "-ivy", "ivy.xml"]
    _run([*program, "-retrieve", f"{folder}/[artifact]-[revision].[ext]"], place, "Ivy")


def _run(command: list[str], folder: Path, name: str) -> None:
    # Both are Java programs; Maven would otherwise look for a Java of its own.
    environment = {**os.environ, "JAVA_HOME": str(find_java().home)}
    output = subprocess.STDOUT
    try:
        done = run_program(command, stderr=output, cwd=folder, env=environment, timeout=_FETCH_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{name} took longer than {_FETCH_SECONDS} s", remedy=_NO_ACCESS) from error
    except OSError as error:
        raise StormLabError(f"{name} cannot be started: {error.strerror}") from error
    if done.returncode != 0:
        raise UserError(f"{name} could not fetch the jars: {_reason(done.stdout)}", remedy=_NO_ACCESS)


def _reason(output: str) -> str:
    """Return the most informative line of the resolver's output."""
    lines = [line.removeprefix("[ERROR]").strip() for line in output.splitlines()]
    # Ivy's headings begin with colons.
    lines = [line for line in lines if line.strip(":") and not line.startswith("::")]
    telling = [line for line in lines if any(sign in line.lower() for sign in _TELLING)]
    return (telling or lines or ["no reason given"])[0][:300]


def central_of() -> str | None:
    """Return where to fetch jars from, by Spark's variable or a mirror or repository of Maven's settings.

    None if there is neither, so that the resolver's own default applies.
    """
    if named := os.environ.get(SPARK_VARIABLE):
        return named
    settings = _settings()
    return _mirror(settings) or _repository(settings)


def local_repository() -> Path:
    """Return Maven's folder of jars that were fetched before."""
    named = _text(_settings(), "{*}localRepository").replace("${user.home}", str(_home()))
    return Path(named) if named else _home() / ".m2" / "repository"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # A user without a home folder has no settings either.
        return Path("/nonexistent")


def _settings() -> ElementTree.Element:
    """Read Maven's settings; empty if there are none or they cannot be read."""
    try:
        return ElementTree.parse(_home() / ".m2" / "settings.xml").getroot()
    except (OSError, ElementTree.ParseError):
        return ElementTree.Element("settings")


def _mirror(settings: ElementTree.Element) -> str | None:
    """Return the mirror of central. As in Maven, one that names it precedes one for all repositories."""
    found = []
    for mirror in settings.iterfind(".//{*}mirror"):
        covered = [name.strip() for name in mirror.findtext("{*}mirrorOf", "").split(",")]
        url = _text(mirror, "{*}url")
        if url and "!central" not in covered and {"*", "external:*", "central"} & set(covered):
            found.append((covered != ["central"], url))
    return min(found, key=lambda pair: pair[0], default=(True, None))[1]


def _repository(settings: ElementTree.Element) -> str | None:
    """Return what an active profile uses in place of central."""
    active = {(each.text or "").strip() for each in settings.iterfind(".//{*}activeProfile")}
    for profile in settings.iterfind(".//{*}profile"):
        by_default = profile.findtext("{*}activation/{*}activeByDefault", "").strip() == "true"
        if not by_default and profile.findtext("{*}id", "").strip() not in active:
            continue
        for repository in profile.iterfind("{*}repositories/{*}repository"):
            if repository.findtext("{*}id", "").strip() == "central":
                return _text(repository, "{*}url") or None
    return None


def _text(parent: ElementTree.Element, path: str) -> str:
    text = parent.findtext(path, "").strip()
    return _ENVIRONMENT.sub(lambda found: os.environ.get(found[1], found[0]), text)
