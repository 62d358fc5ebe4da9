"""Evaluate sets of constants: play the recorded runs in a few processes and keep every result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from storm_lab.calibration.steady import steady_rates
from storm_lab.calibration.target import Rates, loaded_runs, predictions, targets
from storm_lab.emulator.cost import CostModel
from storm_lab.identity.value import value_digest
from storm_lab.machine.atomic_file import check_folder, write_atomic
from storm_lab.machine.places import data_folder
from storm_lab.machine.process_end import end_with_parent
from storm_lab.papers.rstorm.recording import load_recordings
from storm_lab.runs.digest import text_digest


def code_digest() -> str:
    """Return a digest of the code that determines the results of a set of constants, without its defaults."""
    return value_digest(_play)


def _play(job: tuple[str, Mapping[str, float], int]) -> dict[str, tuple[float, float]]:
    variant, values, seed = job
    run = next(run for run in load_recordings().runs if run.variant == variant)
    return steady_rates(run, replace(CostModel(), **values), seed)


class Evaluation:
    """Rates of the recorded runs under sets of constants, played in ``jobs`` processes.

    ``advance`` is called after each set. Results are kept in ``home``, one file per set; raises `UserError`
    if that folder cannot be written.
    """

    def __init__(self, seed: int, jobs: int, advance: Callable[[], object], home: Path | None = None) -> None:
        self._seed = seed
        self._advance = advance
        self._home = home or data_folder() / "cache" / "calibration"
        check_folder(self._home, field="data")
        self._pool = ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent)
        self._recordings = load_recordings()
        self._code = code_digest()

    def __enter__(self) -> Evaluation:
        return self

    def __exit__(self, *raised: object) -> None:
        self._pool.shutdown(wait=raised[0] is None, cancel_futures=True)

    def rates(self, values: Mapping[str, float]) -> Rates:
        """Return the rates of every recorded run under load, with one set of constants."""
        file = self._file(values)
        if not file.is_file():
            variants = [run.variant for run in loaded_runs(self._recordings)]
            played = self._pool.map(_play, [(variant, dict(values), self._seed) for variant in variants])
            write_atomic(file, json.dumps(dict(zip(variants, played, strict=True))))
        self._advance()
        found: Rates = json.loads(file.read_text(encoding="utf-8"))
        return found

    def predicted(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the prediction of one set of constants for every target."""
        return predictions(self._recordings, self.rates(values))

    def residuals(self, sets: Sequence[Mapping[str, float]]) -> list[NDArray[np.float64]]:
        """Return the weighted residuals of every target, for each set of constants."""
        wanted = targets(self._recordings)
        return [
            np.array([each.residual(predicted[each.name]) for each in wanted])
            for predicted in map(self.predicted, sets)
        ]

    def _file(self, values: Mapping[str, float]) -> Path:
        name = text_digest(self._code, str(self._seed), json.dumps(dict(values), sort_keys=True))
        return self._home / f"{name[:32]}.json"
