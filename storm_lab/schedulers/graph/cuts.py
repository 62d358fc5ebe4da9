"""Cuts of weighted graphs: balanced multilevel bisection, and division into parts of equal size.

The method is the one that METIS made common. It merges strongly tied vertices until the graph is small, cuts
the small graph, and undoes the merging step by step while single vertices move to the better side (Fiduccia
and Mattheyses). It is deterministic. Up to tens of thousands of vertices, time grows little faster than the
number of edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from storm_lab.model.executor import integer_divided

Adjacency = Sequence[dict[int, float]]

_SMALL = 48
_MAX_PASSES = 8
_STALL = 200
_SEEDS = 6
_LEAST_GAIN = 1e-9
_LEAST_MERGING = 0.95
"""The coarser graph must be smaller than this share of the vertices; otherwise hardly any pair was found."""


def cut_weight(near: Adjacency, part: Sequence[int]) -> float:
    """Return the weight of the edges between different parts."""
    return float(sum(w for i, row in enumerate(near) for j, w in row.items() if i < j and part[i] != part[j]))


def parts_of_equal_size(near: Adjacency, parts: int) -> list[list[int]]:
    """Divide the vertices into parts whose sizes differ by at most one."""

    def cut(members: Sequence[int], left_size: int) -> list[int]:
        return bisect(induced(near, members), [1] * len(members), left_size)

    return evenly_divided(range(len(near)), parts, cut)


def evenly_divided(
    members: Sequence[int], parts: int, cut: Callable[[Sequence[int], int], Sequence[int]]
) -> list[list[int]]:
    """Divide ``members`` by repeated cuts in two into parts whose sizes differ by at most one.

    ``cut`` gets some of the members and the size of side 0, and returns the side, 0 or 1, of each.
    """
    if parts <= 1 or not members:
        return [list(members)]
    left_parts = parts // 2
    side = cut(members, sum(integer_divided(len(members), parts)[:left_parts]))
    left, right = ([v for v, s in zip(members, side, strict=True) if s == half] for half in (0, 1))
    return [*evenly_divided(left, left_parts, cut), *evenly_divided(right, parts - left_parts, cut)]


def induced(near: Adjacency, members: Sequence[int]) -> list[dict[int, float]]:
    """Return the subgraph of ``members``, renumbered in their order."""
    number = {vertex: i for i, vertex in enumerate(members)}
    return [{number[j]: w for j, w in near[v].items() if j in number} for v in members]


def bisect(near: Adjacency, size: Sequence[int], left_size: int) -> list[int]:
    """Cut into sides 0 and 1 with little weight between them; side 0 gets the total size ``left_size``.

    The size is exact if all vertices have size one, otherwise as close as the vertices allow.
    """
    if len(near) > _SMALL:
        into = _matched(near, size, limit=max(1, sum(size) // 16))
        sizes = np.bincount(into, weights=size).astype(int).tolist()
        if len(sizes) <= _LEAST_MERGING * len(near):
            coarse = bisect(merged(near, into, len(sizes)), sizes, left_size)
            return refined(near, size, [coarse[pair] for pair in into], left_size)
    sides = (refined(near, size, _grown(near, size, seed, left_size), left_size) for seed in _seeds(near))
    return min(sides, key=lambda s: (abs(_left(s, size) - left_size), cut_weight(near, s)), default=[])


def _left(side: Sequence[int], size: Sequence[int]) -> int:
    return sum(n for s, n in zip(side, size, strict=True) if s == 0)


def _seeds(near: Adjacency) -> Iterable[int]:
    """Return a few vertices to grow a side from: the first, the busiest, and some in between."""
    count = len(near)
    busiest = max(range(count), key=lambda v: (sum(near[v].values()), -v), default=0)
    return dict.fromkeys([0, busiest, *(i * count // _SEEDS for i in range(_SEEDS))]) if count else ()


def _grown(near: Adjacency, size: Sequence[int], seed: int, left_size: int) -> list[int]:
    """Grow side 0 from ``seed``, always adding the vertex with the strongest ties to it."""
    side = [1] * len(near)
    tie = np.zeros(len(near))
    tie[seed] = np.inf
    grown = 0
    while grown < left_size:
        vertex = int(tie.argmax())
        side[vertex], tie[vertex] = 0, -np.inf
        grown += size[vertex]
        for other, weight in near[vertex].items():
            tie[other] += weight
    return side


def refined(near: Adjacency, size: Sequence[int], side: list[int], left_size: int) -> list[int]:
    """Move vertices between the sides while that makes the cut lighter or the sizes fit better."""
    largest = max(size, default=1)
    for _ in range(_MAX_PASSES):
        if not _improve(near, size, side, left_size, largest):
            break
    return side


def _improve(near: Adjacency, size: Sequence[int], side: list[int], left_size: int, slack: int) -> bool:
    """Do one pass: move each vertex at most once, best first, and keep the best state on the way."""
    gain = np.array(
        [sum(w if side[j] != side[v] else -w for j, w in row.items()) for v, row in enumerate(near)]
    )
    sides, locked = np.array(side), np.zeros(len(near), dtype=bool)
    left = _left(side, size)
    saved = 0.0
    moves: list[int] = []
    best_key, best_length = (abs(left - left_size), 0.0), 0
    start_key = best_key
    while len(moves) - best_length <= _STALL + abs(left - left_size):
        excess = left - left_size
        may_lose = np.array((excess > -slack, excess < slack))
        movable = np.flatnonzero(may_lose[sides] & ~locked)
        if not len(movable):
            break
        vertex = int(movable[gain[movable].argmax()])
        locked[vertex] = True
        saved += float(gain[vertex])
        left += size[vertex] if side[vertex] == 1 else -size[vertex]
        side[vertex] = sides[vertex] = 1 - side[vertex]
        for other, weight in near[vertex].items():
            gain[other] += -2.0 * weight if side[other] == side[vertex] else 2.0 * weight
        moves.append(vertex)
        key = (abs(left - left_size), -saved)
        if key < (best_key[0], best_key[1] - _LEAST_GAIN):
            best_key, best_length = key, len(moves)
    for vertex in moves[best_length:]:
        side[vertex] = 1 - side[vertex]
    return best_key[0] < start_key[0] or best_key[1] < -_LEAST_GAIN


def merged(near: Adjacency, into: Sequence[int], count: int) -> list[dict[int, float]]:
    """Return the graph of ``count`` groups of vertices; ``into`` has the group of each vertex."""
    coarse: list[dict[int, float]] = [{} for _ in range(count)]
    for v, row in enumerate(near):
        target = coarse[into[v]]
        for j, w in row.items():
            if into[j] != into[v]:
                target[into[j]] = target.get(into[j], 0.0) + w
    return coarse


def _matched(near: Adjacency, size: Sequence[int], limit: int) -> list[int]:
    """Match each vertex with its heaviest free neighbour, up to the size ``limit``; number the pairs."""
    into = [-1] * len(near)
    pairs = 0
    for v in sorted(range(len(near)), key=lambda v: (len(near[v]), v)):
        if into[v] >= 0:
            continue
        into[v] = pairs
        free = ((w, -j) for j, w in near[v].items() if into[j] < 0 and size[v] + size[j] <= limit)
        partner = max(free, default=None)
        if partner is not None:
            into[-partner[1]] = pairs
        pairs += 1
    return into
