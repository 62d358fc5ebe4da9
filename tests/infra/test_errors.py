"""A `UserError` is one line that names field, value and remedy, wherever it is raised."""

import errno
import json
import os
import pickle
from pathlib import Path

import pytest

import storm_lab
from storm_lab.errors import StormLabError, UserError, exception_summary, explained


def test_a_message_has_all_parts_in_one_line() -> None:
    error = UserError("must be at least 1", field="gamma", value=0.5, remedy="use a number from 1 to 10")
    assert str(error) == "gamma = 0.5: must be at least 1; use a number from 1 to 10"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "is wrong"),
        ({"field": "text"}, "text: is wrong"),
        ({"value": "x"}, "'x': is wrong"),
        ({"remedy": "mend it"}, "is wrong; mend it"),
    ],
)
def test_parts_that_are_not_given_are_left_out(given: dict[str, str], line: str) -> None:
    assert str(UserError("is wrong", **given)) == line


def test_falsy_values_are_shown() -> None:
    assert str(UserError("is empty", field="path", value="")) == "path = '': is empty"
    assert str(UserError("is zero", field="slots", value=0)) == "slots = 0: is zero"


def test_line_ends_and_long_values_do_not_break_the_line() -> None:
    error = UserError("first\nsecond", field="lines", value="x" * 500 + "end", remedy="cut\n  it")
    assert "\n" not in str(error)
    assert len(str(error)) < 200
    assert str(error).endswith("xend': first second; cut it")
    assert error.value == "x" * 500 + "end"


def test_exit_codes() -> None:
    assert UserError("m").exit_code == 2
    assert StormLabError("m").exit_code == 1
    assert issubclass(UserError, StormLabError)


def test_an_error_survives_the_way_back_from_a_worker_process() -> None:
    class_and_line = UserError("is wrong", field="seed", value=-1, remedy="use 0 or more")
    again = pickle.loads(pickle.dumps(class_and_line))
    assert type(again) is UserError
    assert str(again) == str(class_and_line)
    assert (again.field, again.value, again.remedy) == ("seed", -1, "use 0 or more")


def test_a_notebook_shows_the_message_without_a_traceback() -> None:
    error = UserError("is too high", field="rate", value=9, remedy="lower it")
    assert error._render_traceback_() == ["UserError: rate = 9: is too high; lower it"]


def test_a_folder_whose_name_starts_like_the_package_counts_as_user_code() -> None:
    path = Path(storm_lab.__file__).parent.with_name("storm_lab_ideas") / "my_idea.py"
    names = {"loads": json.loads}
    exec(compile("def run():\n    loads('{')\n", str(path), "exec"), names)
    with pytest.raises(ValueError, match="Expecting") as raised:
        names["run"]()
    assert exception_summary(raised.value).endswith("(my_idea.py, line 2)")


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (OSError(errno.EFBIG, os.strerror(errno.EFBIG)), "ulimit -f"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "ulimit -v"),
        (MemoryError(), "ulimit -v"),
        (RuntimeError("can't start new thread"), "ulimit -v"),
        (ImportError("a.so: failed to map segment from shared object"), "ulimit -v"),
        (UserError("is wrong", remedy="mend it"), "mend it"),
        (RuntimeError("a defect"), None),
    ],
)
def test_a_mistake_or_a_limit_of_the_machine_is_one_line_with_the_remedy_and_a_defect_is_not(
    error: Exception, remedy: str | None
) -> None:
    told = explained(error)
    assert (told is None) == (remedy is None)
    if remedy is not None:
        assert remedy in str(told) and "\n" not in str(told)
