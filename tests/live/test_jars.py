"""Jars are fetched on demand, completely or not at all, and checked at every use."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from storm_lab.errors import UserError
from storm_lab.live import jars
from storm_lab.live.jars import Jar, central_of, fetch_jars, jars_of, local_repository, ready_jars
from storm_lab.live.releases import RELEASES

CONTENT = b"a jar, for all that is checked"
ONE = Jar("org.example", "one", "1.0", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a lock of one jar that the test's own resolver provides."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jars, "jars_of", lambda lock: (ONE,))
    monkeypatch.setattr(jars, "maven_program", lambda: "mvn")
    return tmp_path / "storm_lab" / "live"


def stub_maven(monkeypatch: pytest.MonkeyPatch, content: bytes) -> list[str]:
    """Let Maven deliver ``content`` for every jar; return the list of reported lines."""
    said: list[str] = []

    def run(wanted: tuple[Jar, ...], folder: Path) -> None:
        assert said, "nothing was said before the fetching"
        for jar in wanted:
            (folder / jar.file_name).write_bytes(content)

    monkeypatch.setattr(jars, "_tell", said.append)
    monkeypatch.setattr(jars, "_run_maven", run)
    return said


@pytest.mark.parametrize("lock", [*RELEASES, "ecj"])
def test_every_lock_lists_each_jar_once_with_its_checksum(lock: str):
    listed = jars_of(lock)
    assert len({jar.file_name for jar in listed}) == len(listed) > 0
    assert all(len(jar.sha256) == 64 and jar.bytes > 1000 for jar in listed)


@pytest.mark.parametrize("version", RELEASES)
def test_rocksdb_jars_are_left_out(version: str):
    assert not [jar for jar in jars_of(version) if "rocksdb" in jar.artifact]


def test_a_fetch_is_announced_in_one_line_with_its_size(cache: Path, monkeypatch: pytest.MonkeyPatch):
    said = stub_maven(monkeypatch, CONTENT)
    paths = fetch_jars("2.8.3")
    assert said == [f"fetching 1 jars of 2.8.3, 0 MB, with Maven into {cache / '2.8.3'}"]
    assert [path.read_bytes() for path in paths] == [CONTENT]
    assert (cache / "2.8.3" / "SHA256SUMS").read_text() == f"{ONE.sha256}  one-1.0.jar\n"


def test_cached_jars_are_not_fetched_again(cache: Path, monkeypatch: pytest.MonkeyPatch):
    said = stub_maven(monkeypatch, CONTENT)
    fetch_jars("2.8.3")
    fetch_jars("2.8.3")
    assert len(said) == 1


def test_a_jar_with_an_unexpected_checksum_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch):
    stub_maven(monkeypatch, b"something else")
    with pytest.raises(UserError, match="not the expected jar"):
        fetch_jars("2.8.3")
    assert not (cache / "2.8.3").exists()
    assert not list(cache.glob(".draft-*"))


def test_a_changed_or_missing_jar_in_the_cache_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch):
    stub_maven(monkeypatch, CONTENT)
    (jar,) = fetch_jars("2.8.3")
    jar.write_bytes(b"changed")
    with pytest.raises(UserError, match=r"not the expected jar.*remove the folder"):
        fetch_jars("2.8.3")
    jar.unlink()
    with pytest.raises(UserError, match="no such file"):
        ready_jars("2.8.3")


def test_an_interrupted_fetch_is_not_taken_for_a_complete_one(cache: Path, monkeypatch: pytest.MonkeyPatch):
    def stop(wanted: tuple[Jar, ...], folder: Path) -> None:
        (folder / wanted[0].file_name).write_bytes(CONTENT)
        raise KeyboardInterrupt

    monkeypatch.setattr(jars, "_run_maven", stop)
    with pytest.raises(KeyboardInterrupt):
        fetch_jars("2.8.3")
    assert not jars.is_fetched("2.8.3")
    # A killed fetch could not remove its draft: the next one does.
    (cache / ".draft-2.8.3-killed").mkdir()
    stub_maven(monkeypatch, CONTENT)
    fetch_jars("2.8.3")
    assert sorted(path.name for path in cache.iterdir()) == [".lock", "2.8.3"]


def test_maven_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    maven = tmp_path / "mvn"
    maven.write_text("#!/bin/sh\n")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert jars.maven_program() == str(maven)
    monkeypatch.setenv("PATH", "/nowhere")
    assert jars.maven_program() is None


def test_the_resolvers_reason_for_a_failure_is_reported(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    maven = tmp_path / "bin" / "mvn"
    maven.parent.mkdir()
    maven.write_text("#!/bin/sh\necho '[ERROR] Could not transfer artifact one: no route to host'; exit 1\n")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{maven.parent}:/bin:/usr/bin")
    with pytest.raises(UserError) as error:
        fetch_jars("2.8.3")
    assert "Could not transfer artifact one: no route to host; check the connection" in str(error.value)
    assert not list(cache.glob(".draft-*"))


def test_errors_of_ivy_are_reported_without_headings():
    said = ":: problems summary ::\n:::: ERRORS\n\tServer access error at url http://x/one.jar (refused)\n"
    assert jars._reason(said) == "Server access error at url http://x/one.jar (refused)"
    assert jars._reason(":: problems summary ::\n") == "no reason given"


MIRROR = "<mirrors><mirror><mirrorOf>{}</mirrorOf><url>{}</url></mirror></mirrors>"


@pytest.fixture
def write_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that writes the user's Maven settings."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DEFAULT_ARTIFACT_REPOSITORY", raising=False)
    (tmp_path / ".m2").mkdir()

    def write(text: str) -> None:
        whole = f'<settings xmlns="http://maven.apache.org/SETTINGS/1.2.0">{text}</settings>'
        (tmp_path / ".m2" / "settings.xml").write_text(whole)

    return write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MIRROR.format("*", "https://mirror.example/maven"), "https://mirror.example/maven"),
        (MIRROR.format("external:*", "https://mirror.example"), "https://mirror.example"),
        (MIRROR.format("other, central", "${env.PLACE}/maven"), "https://place.example/maven"),
        (MIRROR.format("*,!central", "https://mirror.example"), None),
        (MIRROR.format("somebody-else", "https://mirror.example"), None),
        ("", None),
    ],
)
def test_ivy_uses_the_mirror_of_mavens_settings(
    write_settings: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, text: str, expected: str | None
):
    write_settings(text)
    monkeypatch.setenv("PLACE", "https://place.example")
    assert central_of() == expected
    monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", "https://spark.example")
    assert central_of() == "https://spark.example"


def test_a_mirror_of_central_takes_precedence_over_a_mirror_of_everything(
    write_settings: Callable[[str], None],
):
    write_settings(MIRROR.format("*", "https://all") + MIRROR.format("central", "https://one"))
    assert central_of() == "https://one"


def test_a_repository_of_an_active_profile_replaces_central(write_settings: Callable[[str], None]):
    repository = (
        "<repositories><repository><id>central</id><url>https://own</url></repository></repositories>"
    )
    profile = f"<profiles><profile><id>work</id>{repository}</profile></profiles>"
    active = "<activeProfiles><activeProfile>work</activeProfile></activeProfiles>"
    write_settings(profile + active)
    assert central_of() == "https://own"
    write_settings(profile)
    assert central_of() is None


def test_the_local_repository_is_read_from_mavens_settings(
    write_settings: Callable[[str], None], tmp_path: Path
):
    write_settings("<localRepository>${user.home}/jars</localRepository>")
    assert local_repository() == tmp_path / "jars"
    (tmp_path / ".m2" / "settings.xml").write_text("<settings")
    assert local_repository() == tmp_path / ".m2" / "repository"
    assert central_of() is None


def test_a_user_without_a_home_folder_has_no_settings_of_maven(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DEFAULT_ARTIFACT_REPOSITORY", raising=False)
    monkeypatch.setattr(Path, "home", Mock(side_effect=RuntimeError("no home")))
    assert central_of() is None
    assert local_repository().is_absolute()


def test_without_a_mirror_ivy_uses_its_default_repository(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written: list[str] = []

    def run(command: list[str], folder: Path, name: str) -> None:
        written.append((folder / "settings.xml").read_text())
        raise UserError("enough")

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DEFAULT_ARTIFACT_REPOSITORY", raising=False)
    monkeypatch.setattr(jars, "maven_program", lambda: None)
    monkeypatch.setattr(jars, "_run", run)
    with pytest.raises(UserError, match="enough"):
        fetch_jars("2.8.3")
    monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", "https://own.example")
    with pytest.raises(UserError, match="enough"):
        fetch_jars("2.8.3")
    own, mirrored = written
    assert own.count("root=") == 1  # only the local repository
    assert 'root="https://own.example"' in mirrored
