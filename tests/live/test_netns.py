"""Why network namespaces cannot be made is said by name."""

from pathlib import Path

import pytest

from storm_lab.live.netns import why_no_namespaces


@pytest.mark.parametrize("there", [(), ("ip",)])
def test_the_missing_program_is_named_with_its_package(
    there: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for program in there:
        (tmp_path / program).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    program, package = ("nsenter", "util-linux") if there else ("ip", "iproute2")
    assert why_no_namespaces() == f"the program {program} is missing (package {package})"
