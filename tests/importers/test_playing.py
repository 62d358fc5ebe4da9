"""One topology of each format is played in the emulator for a few virtual seconds."""

import json
from pathlib import Path

import pytest

from storm_lab.emulator.emulation import Emulation
from storm_lab.emulator.source import FailurePolicy, SourceKind, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.league.imported_site import imported_site
from storm_lab.model.machines import TESTBEDS, Machines
from storm_lab.schedulers import make_scheduler
from storm_lab.workloads.importers.imported import Imported
from storm_lab.workloads.importers.importing import import_topology
from tests.importers.flux_shapes import SHAPES
from tests.importers.reading import import_text, overlay_of, ready
from tests.importers.streamparse_shapes import PROJECTS
from tests.importers.test_loadgen import CAPTURED
from tests.importers.test_plain import COMPLETE
from tests.importers.ui_pages import PAGES

MACHINES = "tstorm-section-iii"


def flux(folder: Path) -> Imported:
    text = SHAPES["a crawler with a status stream from every step"].text
    return import_text(folder, text, machines=MACHINES)


def loadgen(folder: Path) -> Imported:
    overlay = overlay_of(folder, "components: {spout: {rate_per_s: 50}}")
    return import_text(folder, CAPTURED, machines=MACHINES, overlay=overlay)


def streamparse(folder: Path) -> Imported:
    project = PROJECTS["several streams and every way to name inputs"].write(folder)
    return import_topology(project, machines=MACHINES, run_python=True)


def storm_ui(folder: Path) -> Imported:
    for name, page in PAGES.items():
        (folder / name).write_text(json.dumps(page))
    return import_topology(folder)


def plain(folder: Path) -> Imported:
    text = COMPLETE.replace("rate_per_s: saturated", "rate_per_s: 40")
    return import_text(folder, text, machines=MACHINES)


@pytest.mark.parametrize("read", [flux, loadgen, streamparse, storm_ui, plain])
def test_an_imported_topology_can_be_played(tmp_path: Path, read) -> None:  # type: ignore[no-untyped-def]
    imported = read(tmp_path)
    site = imported_site(imported)
    spec = EmulationSpec(
        cluster=site.cluster,
        version=site.version,
        topologies=(site.plan,),
        scheduler=make_scheduler("default"),
        duration_s=25.0,
        seed=1,
    )
    outcome = Emulation(spec).run()
    assert outcome.stopped == ""
    executors = sum(c.executors for c in ready(imported).topology.components)
    # The slots include the ackers that Storm adds.
    assert len(outcome.final.slots) >= executors


def test_sources_become_source_plans_of_the_emulator(tmp_path: Path) -> None:
    text = COMPLETE.replace("rate_per_s: saturated", "rate_per_s: 40").replace(
        "anchored: true", "anchored: false"
    )
    plan = imported_site(import_text(tmp_path, text), TESTBEDS["rstorm"]).plan.sources["lines"]
    assert (plan.kind, plan.rate_per_s, plan.anchored) == (SourceKind.RATE, 40.0, False)
    plan = imported_site(import_text(tmp_path, COMPLETE), TESTBEDS["rstorm"]).plan.sources["lines"]
    assert (plan.kind, plan.on_fail) == (SourceKind.SATURATED, FailurePolicy.REPLAY)


def test_a_site_uses_the_links_of_its_machines(tmp_path: Path) -> None:
    imported = import_text(tmp_path, COMPLETE)
    site = imported_site(imported, TESTBEDS["rstorm"], cost={"emit_us": 4.0})
    assert (site.conditions.cost.inter_rack_us, site.conditions.cost.emit_us) == (2000.0, 4.0)
    with pytest.raises(UserError, match="no machines are given"):
        imported_site(imported)
    playable = ready(imported)
    machines = Machines(TESTBEDS["rstorm"].cluster)
    site = imported_site(imported, machines)
    assert isinstance(site.plan, TopologyPlan)
    assert site.plan.topology == playable.topology
