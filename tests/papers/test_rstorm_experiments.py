"""R-Storm's five experiments as declared: what is played, with what, and what each run depends on."""

from __future__ import annotations

import pytest

from storm_lab.papers.registry import experiment
from storm_lab.papers.rstorm.cpu_bound import settings
from storm_lab.papers.rstorm.multi_topology import submitted
from storm_lab.papers.rstorm.network_bound import windowed
from storm_lab.papers.rstorm.network_hierarchy import placement
from storm_lab.runs.execute import play_all
from storm_lab.runs.study import Study
from storm_lab.tuplelog import find_runs

SLUGS = (
    "rstorm-network-bound",
    "rstorm-cpu-bound",
    "rstorm-yahoo",
    "rstorm-multi-topology",
    "rstorm-network-hierarchy",
)


@pytest.mark.parametrize("slug", SLUGS)
def test_settings_are_played_with_all_seeds_and_deviations_with_one(slug: str) -> None:
    own = experiment(slug)
    specs = own.runs(own.checked())
    most = len(own.checked().integers("seeds"))
    seeds: dict[str, set[int]] = {}
    for spec in specs:
        seeds.setdefault(spec.variant, set()).add(spec.seed)
    assert most >= 5
    assert {len(found) for found in seeds.values()} <= {1, most}
    if "trials" in own.checked():
        bare = own.runs(own.checked({"trials": False}))
        assert {spec.variant for spec in bare} == {v for v, found in seeds.items() if len(found) == most}


def test_a_deviation_equal_to_the_setting_is_not_played_again() -> None:
    bound = experiment("rstorm-network-bound")
    variants = {s.variant for s in bound.runs(bound.checked({"window": 4}))}
    assert "linear-default-window4" not in variants
    assert "linear-default-window1" in variants


def test_ackers_are_used_only_with_a_window() -> None:
    bound = experiment("rstorm-network-bound")
    (spec, *_) = bound.runs(bound.checked())
    made = windowed(spec.parameters).topology
    assert (made.max_spout_pending, made.ackers) == (None, 0)
    waits = windowed(spec.parameters.changed(window=1)).topology
    assert (waits.max_spout_pending, waits.ackers) == (1, 12)


def test_default_runs_with_both_worker_counts_and_r_storm_once() -> None:
    assert settings("star") == {
        "star-default-w12": ("default", 12),
        "star-default-w1": ("default", 1),
        "star-rstorm": ("rstorm", 12),
    }


def test_page_load_is_submitted_first_with_its_own_workers() -> None:
    shared = experiment("rstorm-multi-topology")
    (spec, *_) = shared.runs(shared.checked())
    assert [(made.topology.id, made.topology.workers) for made in submitted(spec.parameters)] == [
        ("page-load", 12),
        ("processing", 12),
    ]


def test_placements_match_the_names_of_the_four_distances() -> None:
    slots = {d: list(placement(d).slots.values()) for d in ("process", "node", "rack", "cluster")}
    one, other = slots["process"]
    assert one == other
    one, other = slots["node"]
    assert one.node == other.node and one.port != other.port
    assert [s.node for s in slots["rack"]] == ["pc01", "pc02"]
    assert [s.node for s in slots["cluster"]] == ["pc01", "pc07"]


def test_lines_from_a_file_are_part_of_a_runs_identity(tmp_path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("GET /a\nGET /b\n", encoding="utf-8")
    yahoo = experiment("rstorm-yahoo")
    own, packaged = (yahoo.runs(yahoo.checked(given))[0] for given in ({"lines": str(path)}, {}))
    assert own.inputs != packaged.inputs
    assert own.parameters == packaged.parameters


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_a_short_run_of_each_experiment_leaves_a_complete_log(slug: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path))
    given: dict[str, object] = {"seeds": [1], "duration_s": 60.0, "from_s": 40.0}
    if "trials" in experiment(slug).checked():
        given["trials"] = False
    study = Study.of(slug, given)
    played = play_all(study.experiment.runs(study.parameters), jobs=1)
    runs, refused = find_runs(played[0].folder.parents[1])
    assert refused == []
    assert all(run.manifest.tables["counts"].rows > 0 for run in runs)
