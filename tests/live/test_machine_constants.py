"""The file of a machine's constants is read completely or refused with a reason."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from storm_lab.errors import UserError
from storm_lab.live.suite.compare import Trust
from storm_lab.model import StormVersion
from storm_lab.runs.live_command import live
from storm_lab.runs.live_constants import MachineConstants, read_constants, read_costs


def _file(path, **changes):
    document = {
        "schema": "machine/1",
        "machine": {"cores": 2},
        "generations": {"2.8": {"constants": {"wake_us": 44.0}, "scenes": ["a"]}},
    } | changes
    path.write_text(json.dumps(document))
    return path


def test_written_constants_are_read_back_unchanged(tmp_path):
    made = MachineConstants({"0.9": {"wake_us": 40.0}}, {"0.9": ("x",)}, {"cores": 2})
    made.write(tmp_path / "c.json")
    assert read_constants(tmp_path / "c.json") == made


def test_constants_apply_to_their_generation_and_to_those_nearest_to_it(tmp_path):
    found = read_constants(_file(tmp_path / "c.json"))
    assert found.cost(StormVersion((2, 8, 3))).wake_us == 44.0
    assert found.cost(StormVersion((1, 2, 4))).wake_us == 44.0
    assert read_costs(tmp_path, tmp_path / "c.json")["2.8"].wake_us == 44.0


def test_constants_of_code_compiled_by_c1_alone_apply_to_no_version(tmp_path):
    parts = {
        "0.9": {"constants": {"reference_mhz": 1000.0}},
        "0.9-c1": {"constants": {"reference_mhz": 2000.0}},
    }
    file = _file(tmp_path / "c.json", generations=parts)
    assert read_costs(tmp_path, file)["0.9-c1"].reference_mhz == 2000.0
    found = read_constants(file)
    assert {found.cost(StormVersion(parts)).reference_mhz for parts in ((0, 9, 2), (2, 8, 3))} == {1000.0}


def test_without_a_file_no_costs_are_read(tmp_path):
    assert read_costs(tmp_path) == {}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"schema": "calibration/1"}, "machine/1"),
        ({"generations": {}}, "has no generations"),
        ({"generations": {"2.8": {"constants": {"wake": 1.0}}}}, "wake"),
        ({"generations": {"2.8": {"constants": {"wake_us": 1e9}}}}, "wake_us"),
        ({"generations": {"2.8": {"constants": {"wake_us": "fast"}}}}, "number"),
        ({"generations": {"new": {"constants": {}}}}, "new"),
    ],
)
def test_an_invalid_file_is_refused_in_one_line(tmp_path, changes, word):
    with pytest.raises(UserError, match=word) as caught:
        read_constants(_file(tmp_path / "c.json", **changes))
    assert "\n" not in str(caught.value)


def test_a_comparison_says_for_which_versions_it_has_no_constants(tmp_path, monkeypatch):
    recorded = Path(__file__).parents[2] / "data" / "live" / "amd-epyc-2445"
    monkeypatch.setattr("storm_lab.runs.live_command.compare", lambda *given, **options: Trust((), ()))
    file = _file(tmp_path / "c.json")
    said = CliRunner().invoke(live, ["trust", "--folder", str(recorded), "--constants", str(file)])
    assert f"{file} has no constants for Storm 0.9: the cost model's own apply\n" in said.stderr
    assert "no constants for" not in CliRunner().invoke(live, ["trust", "--folder", str(recorded)]).stderr
