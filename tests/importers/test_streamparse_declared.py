"""Declarations of streamparse topologies that its own program would refuse, or that are unusual."""

from pathlib import Path

import pytest

from storm_lab.workloads.importers.importing import import_topology
from tests.importers.reading import ready, unusable_text
from tests.importers.streamparse_shapes import one_file, ran

DECLARED = """
{imports}
class S(Ones):
    outputs = {outputs}

class T(Topology):
    s = S.spec({given})
    {more}
"""


@pytest.mark.parametrize("run_python", [False, True])
@pytest.mark.parametrize(
    ("outputs", "given", "fault"),
    [
        ("5", "", "s: outputs must be a list, not 5: left out"),
        ("[Stream(fields='n')]", "", "s: fields of stream 'default' must be a list, not the text 'n': read"),
        ("[Stream(fields=5)]", "", "s: fields of stream 'default' must be a list, not 5: left out"),
        ("[Stream(['n'], name=['x'])]", "", "s: the name of a stream must be a text, not ['x']: left out"),
        ("['n']", "name=['x']", "['x']"),
        ("['n']", "is_spout=True", ""),
    ],
)
def test_declarations_of_another_type_are_reported(
    tmp_path: Path, run_python: bool, outputs: str, given: str, fault: str
) -> None:
    source = DECLARED.format(imports="", outputs=outputs, given=given, more="")
    imported = import_topology(one_file(source).write(tmp_path), run_python=run_python)
    assert fault in unusable_text(imported)
    assert ready(imported).topology.components[0].id == "s"


@pytest.mark.parametrize("outputs", ["FIELDS", "list(FIELDS)", "[name for name in FIELDS]"])
def test_fields_of_a_module_that_is_not_installed_are_reported(tmp_path: Path, outputs: str) -> None:
    more = "b = Bolt.spec(inputs={s: Grouping.fields('n')})"
    imports = "from absent_schema import FIELDS"
    source = DECLARED.format(imports=imports, outputs=outputs, given="", more=more)
    imported = ran(tmp_path, source, python_seconds=5)
    assert "absent_schema" in unusable_text(imported)
    assert "it was ended" not in unusable_text(imported)
    assert ready(imported).topology.component("s").outputs == {"default": ("n",)}


def test_clojure_texts_may_have_several_lines(tmp_path: Path) -> None:
    text = """
(defn wc
  "Counts words :-(
   and lines; \\"quoted\\" words too"
  [options]
  (def open \\()
  [{"s" (python-spout-spec options "a.S" ["word"])}
   {"b" (python-bolt-spec options {"s" ["word"]} "a.B" [] :p 2)}])
"""
    file = tmp_path / "wc.clj"
    file.write_text(text, encoding="utf-8")
    topology = ready(import_topology(file)).topology
    assert {c.id: c.executors for c in topology.components} == {"s": 1, "b": 2}
