"""Random bits: the same for the same seed, whatever else a run does."""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.state import rows
from storm_lab.emulator.state.jit import inline
from storm_lab.emulator.state.layout import State


@inline
def mixed(z: np.uint64) -> np.uint64:
    """Return 64 bits that look random for a number of 64 bits (the finalizer of SplitMix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inline
def drawn(k: State, stream: int, number: int) -> np.uint64:
    """Return the random bits for a number in a stream of the run's seed, in any order."""
    z = rows.s(k, 0).cost_seed + np.uint64(stream) * np.uint64(0xD1342543DE82EF95)
    return mixed(z + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15))


@inline
def next_random(k: State, task: int) -> np.uint64:
    """Return the next 64 random bits of a task's own stream (SplitMix64)."""
    t = rows.task(k, task)
    t.rng = t.rng + np.uint64(0x9E3779B97F4A7C15)
    return mixed(t.rng)


@inline
def random_below(k: State, task: int, bound: int) -> int:
    """Return a random whole number from 0 to ``bound`` - 1."""
    return np.int64(next_random(k, task) >> np.uint64(33)) % bound  # type: ignore[return-value]
