"""The spread of what calls of user code cost: a table of a lognormal distribution with mean 1."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.kernel.call_cost import QUANTILES


def lognormal(cv: float) -> NDArray[np.int64]:
    """Equally likely factors, of 65536, with mean 1 and coefficient of variation ``cv``."""
    sigma = math.sqrt(math.log1p(cv * cv))
    normal = NormalDist()
    drawn = [math.exp(sigma * normal.inv_cdf((i + 0.5) / QUANTILES)) for i in range(QUANTILES)]
    mean = math.fsum(drawn) / QUANTILES
    table = np.array([round(65536 * value / mean) for value in drawn], np.int64)
    # Rounding leaves a few units; the mean is to be 1 exactly.
    table[QUANTILES // 2] += 65536 * QUANTILES - int(table.sum())
    return table
