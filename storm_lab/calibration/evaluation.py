"""Evaluating sets of constants: a few processes play the recorded runs, and every result is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from storm_lab.calibration.steady import steady_rates
from storm_lab.calibration.target import Rates, loaded_runs, predictions, targets
from storm_lab.emulator.cost import CostModel
from storm_lab.identity.value import value_digest
from storm_lab.machine.places import project_root
from storm_lab.machine.whole_file import write_whole
from storm_lab.papers.rstorm.recording import load_recordings
from storm_lab.runs.digest import text_digest


def played_code() -> str:
    """Digest of the code that decides what a set of constants gives, its defaults aside."""
    return value_digest(_play)


def _play(job: tuple[str, Mapping[str, float], int]) -> dict[str, tuple[float, float]]:
    variant, values, seed = job
    run = next(run for run in load_recordings().runs if run.variant == variant)
    return steady_rates(run, replace(CostModel(), **values), seed)


class Evaluation:
    """Rates of the recorded runs under sets of constants, played in ``jobs`` processes.

    ``advance`` is called once for each set that is done. Results lie in ``home``, one file a set.
    """

    def __init__(self, seed: int, jobs: int, advance: Callable[[], object], home: Path | None = None) -> None:
        self._seed = seed
        self._advance = advance
        self._home = home or project_root() / "data" / "cache" / "calibration"
        self._pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
        self._recordings = load_recordings()
        self._code = played_code()

    def __enter__(self) -> Evaluation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def rates(self, sets: Sequence[Mapping[str, float]]) -> list[Rates]:
        """The rates of every recorded run under load, for every set of constants."""
        variants = [run.variant for run in loaded_runs(self._recordings)]
        missing = [values for values in sets if not self._place(values).is_file()]
        futures = {
            self._place(values): [self._pool.submit(_play, (v, dict(values), self._seed)) for v in variants]
            for values in missing
        }
        for place, played in futures.items():
            rates = dict(zip(variants, (future.result() for future in played), strict=True))
            write_whole(place, json.dumps(rates))
            self._advance()
        for _ in range(len(sets) - len(futures)):
            self._advance()
        return [self._kept(values) for values in sets]

    def predicted(self, values: Mapping[str, float]) -> dict[str, float]:
        """What one set of constants says about every target."""
        (rates,) = self.rates([values])
        return predictions(self._recordings, rates)

    def residuals(self, sets: Sequence[Mapping[str, float]]) -> list[NDArray[np.float64]]:
        """Weighted residuals of every target, for every set of constants."""
        wanted = targets(self._recordings)
        found = []
        for rates in self.rates(sets):
            predicted = predictions(self._recordings, rates)
            found.append(np.array([target.residual(predicted[target.name]) for target in wanted]))
        return found

    def _place(self, values: Mapping[str, float]) -> Path:
        name = text_digest(self._code, str(self._seed), json.dumps(dict(values), sort_keys=True))
        return self._home / f"{name[:32]}.json"

    def _kept(self, values: Mapping[str, float]) -> Rates:
        content = json.loads(self._place(values).read_text(encoding="utf-8"))
        return {
            variant: {component: (pair[0], pair[1]) for component, pair in rates.items()}
            for variant, rates in content.items()
        }
