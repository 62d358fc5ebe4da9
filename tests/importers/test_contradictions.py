"""Figures of storm-lab's own YAML that contradict each other, or that nothing would use, are not dropped."""

from pathlib import Path

import pytest

from storm_lab.errors import UserError
from tests.importers.reading import import_text, overlay_of
from tests.importers.test_plain import COMPLETE


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "tasks: 4",
            "tasks: 1",
            r"^topology\.yaml:22 components\.split\.tasks = 1: split has 2 executors, and each needs a task",
        ),
        (
            "grouping: global",
            "fields: [word]",
            r"inputs\[0\]\.fields = \['word'\]: an input of store has fields, which grouping shuffle",
        ),
        (
            "grouping: global",
            "grouping: all, fields: [n]",
            r"which grouping all does not use; set grouping: fields, or leave the fields out",
        ),
    ],
)
def test_figures_that_contradict_each_other_are_refused(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert COMPLETE.count(old) == 1
    with pytest.raises(UserError, match=says):
        import_text(tmp_path, COMPLETE.replace(old, new))


def test_more_executors_than_tasks_in_an_overlay_are_refused(tmp_path: Path) -> None:
    overlay = overlay_of(tmp_path, "components: {count: {executors: 4, tasks: 2}}")
    with pytest.raises(
        UserError, match=r"overlay\.yaml:\d+ components\.count\.tasks = 2: count has 4 executors"
    ):
        import_text(tmp_path, COMPLETE, overlay=overlay)


@pytest.mark.parametrize("overlaid", [False, True])
def test_keys_of_a_field_that_the_stream_lacks_make_a_topology_unplayable(
    tmp_path: Path, overlaid: bool
) -> None:
    overlay = overlay_of(
        tmp_path, "components: {split: {emits: {default: {keys: {wrod: {distinct: 5}}}}}}" if overlaid else ""
    )
    text = COMPLETE if overlaid else COMPLETE.replace("keys: {word:", "keys: {wrod:")
    imported = import_text(tmp_path, text, overlay=overlay)
    assert imported.playable is None
    said = "keys of split.default: the stream has no field 'wrod'; its fields are: word"
    assert said in str(imported.missing[0])
