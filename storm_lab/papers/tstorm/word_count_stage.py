"""T-Storm's Word Count on its ten blades as a stage for other schedulers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import Parameters
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import SAMPLE_EVERY, SETTLE_S
from storm_lab.papers.tstorm.blade_runs import on_blades
from storm_lab.papers.tstorm.testbed import VERSION
from storm_lab.papers.tstorm.word_count import PARAMETERS, plan
from storm_lab.workloads.text import load_text


@dataclass(frozen=True)
class WordCountStage:
    """Word Count with the settings of figure 6, without its gammas, which concern only T-Storm."""

    version: ClassVar = VERSION
    declared: ClassVar = tuple(item for item in PARAMETERS if item.name != "gammas")
    sample_every: ClassVar = SAMPLE_EVERY

    def inputs(self, parameters: Parameters) -> Mapping[str, str]:
        """Digest of the text; `UserError` if it cannot be read."""
        return {"text": load_text(parameters.text("text")).digest}

    def files(self, parameters: Parameters) -> Mapping[str, str]:
        """Path of the text."""
        return {"text": parameters.text("text")}

    def describe(self, entrant: Entrant, spec: RunSpec) -> EmulationSpec:
        """Describe the run of an entrant."""
        run = on_blades(spec, plan(spec), steady_from=0.5)
        return entrant.applied(replace(run, settle_s=SETTLE_S), spec.parameters)


STAGE = WordCountStage()
