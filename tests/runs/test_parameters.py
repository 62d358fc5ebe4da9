"""Parameters: names, types and ranges are checked, and the message says what is allowed."""

import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.experiments.parameter import (
    Parameter,
    Parameters,
    ParameterValue,
    check_parameters,
    read_values,
)

DECLARED = (
    Parameter("gamma", 1.7, "consolidation", within=(1, 10)),
    Parameter("workers", 20, "workers", within=(1, None)),
    Parameter("ackers", True, "whether there are ackers"),
    Parameter("text", "generated", "input", choices=("generated", "book"), is_file=True),
    Parameter("policy", "floor", "rounding", choices=("floor", "ceil")),
    Parameter("seeds", (1, 2), "seeds", within=(0, None)),
    Parameter("gammas", (1.0, 1.8), "gammas", within=(1, None)),
)


def test_parameters_that_are_not_given_have_their_defaults() -> None:
    parameters = check_parameters(DECLARED, {"workers": 4}, "test")
    assert dict(parameters) == {p.name: p.default for p in DECLARED} | {"workers": 4}


def test_seeds_are_counted_once_and_the_first_is_the_one_given_first() -> None:
    parameters = check_parameters(DECLARED, {"seeds": (3, 1, 3)}, "test")
    assert parameters.seeds == (3, 1)
    assert parameters.with_first_seed().seeds == (3,)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("gamma", "2", 2.0),
        ("gamma", "1e0", 1.0),
        ("workers", "7", 7),
        ("ackers", "no", False),
        ("ackers", "TRUE", True),
        ("text", "book", "book"),
        ("policy", "ceil", "ceil"),
        ("seeds", "3", (3,)),
        ("seeds", "[3, 4]", (3, 4)),
        ("seeds", "1-3,7", (1, 2, 3, 7)),
        ("gammas", "1,1.4,2", (1.0, 1.4, 2.0)),
    ],
)
def test_texts_are_converted_to_the_declared_type(name: str, text: str, value: ParameterValue) -> None:
    parsed = read_values(DECLARED, [f"{name}={text}"], "test")[name]
    assert parsed == value
    assert type(parsed) is type(value)


def test_a_file_is_resolved_to_its_absolute_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The notebook runs in a folder of its own.
    monkeypatch.chdir(tmp_path)
    assert read_values(DECLARED, ["text=novel.txt"], "test")["text"] == str(tmp_path / "novel.txt")


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"gama": 2.0}, ["parameter = 'gama'", "did you mean gamma?", "there are: ackers"]),
        ({"gamma": "2"}, ["parameter gamma = '2'", "wrong type", "number, 1 to 10"]),
        ({"gamma": True}, ["wrong type"]),
        ({"gamma": 0.5}, ["out of range", "1 to 10"]),
        ({"gamma": float("inf")}, ["not a finite number"]),
        ({"workers": 2.0}, ["whole number", "1 or more"]),
        ({"workers": 0}, ["out of range"]),
        ({"ackers": 1}, ["true or false"]),
        ({"policy": "round"}, ["one of floor, ceil"]),
        ({"seeds": 1}, ["list of whole numbers"]),
        ({"seeds": []}, ["is empty"]),
        ({"seeds": [1, 2.5]}, ["list of whole numbers"]),
        ({"gammas": [1.0, 0.2]}, ["out of range"]),
    ],
)
def test_an_invalid_parameter_is_refused_by_name(given: Mapping[str, object], parts: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        check_parameters(DECLARED, given, "test")
    for part in parts:
        assert part in str(caught.value)


def test_values_compare_and_pickle() -> None:
    parameters = check_parameters(DECLARED, {}, "test")
    assert pickle.loads(pickle.dumps(parameters)) == parameters
    assert parameters.changed(workers=3) != parameters
    assert dict(parameters.only(["gamma"])) == {"gamma": 1.7}


def test_typed_getters_refuse_another_type() -> None:
    parameters = Parameters({"workers": 3, "text": "book", "seeds": (1, 2)})
    assert (parameters.integer("workers"), parameters.number("workers")) == (3, 3.0)
    assert parameters.numbers("seeds") == (1.0, 2.0)
    for wrong in (parameters.flag, parameters.integers, parameters.text):
        with pytest.raises(TypeError, match="workers"):
            wrong("workers")
