"""Horizontal positions of many points, by sweeps: each layer in turn moves to where its neighbours pull it.

With the other layers fixed, each point of a layer is pulled to the weighted mean of its neighbours. The best positions
are those nearest to these means, in weighted least squares, that keep the order and the room between neighbours. With
the room subtracted this is isotonic regression, which pooling adjacent violators solves in one pass [1]_.

References
----------
.. [1] R. E. Barlow, D. J. Bartholomew, J. M. Bremner, H. D. Brunk, "Statistical inference under order restrictions",
   Wiley, 1972.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dagopt.arrays import Floats

__all__ = ["isotonic", "settled"]


SWEEPS = 24  # passes up and down the layers


def settled(
    rows: Sequence[Sequence[int]], links: Sequence[tuple[int, int, float]], offsets: Mapping[int, Floats]
) -> dict[int, float]:
    """Return positions that keep the order of each layer and bend the links as little as possible.

    Parameters
    ----------
    rows : sequence of sequence of int
        The points of each layer from left to right.
    links : sequence of (int, int, float)
        Pairs of linked points in neighbouring layers, and the cost of a bend in each link.
    offsets : mapping
        For the first point of each layer, the positions of the layer's points if they are as close as allowed.
    """
    points = [p for row in rows for p in row]
    place = {p: k for k, p in enumerate(points)}
    ends = np.array([(place[a], place[b]) for a, b, _ in links], dtype=np.intp).reshape(-1, 2)
    weights = np.array([weight for _, _, weight in links])
    first = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    layer = np.repeat(np.arange(len(rows)), np.diff(first))
    x = np.concatenate([offsets[row[0]] - offsets[row[0]][-1] / 2 for row in rows])
    total = np.bincount(ends.ravel(), np.repeat(weights, 2), len(points))
    joined = [np.flatnonzero((layer[ends] == k).any(axis=1)) for k in range(len(rows))]
    for sweep in range(SWEEPS):
        for k in range(len(rows)) if sweep % 2 == 0 else range(len(rows) - 1, -1, -1):
            low, high = first[k], first[k + 1]
            a, b = ends[joined[k]].T
            own, other = np.where(layer[a] == k, a, b), np.where(layer[a] == k, b, a)
            pulled = np.bincount(own - low, weights[joined[k]] * x[other], high - low)
            heavy = total[low:high]
            wanted = np.where(heavy > 0, pulled / np.maximum(heavy, 1e-9), x[low:high])
            room = offsets[rows[k][0]]
            x[low:high] = isotonic(wanted - room, np.maximum(heavy, 1e-3)) + room
    return {p: float(x[k]) for p, k in place.items()}


def isotonic(values: Floats, weights: Floats) -> Floats:
    """Return the nondecreasing numbers that are nearest to the values in weighted least squares."""
    means: list[float] = []
    sums: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        size = 1
        while means and means[-1] > value:
            mean, other = means.pop(), sums.pop()
            value = (value * weight + mean * other) / (weight + other)
            weight += other
            size += sizes.pop()
        means.append(value)
        sums.append(weight)
        sizes.append(size)
    return np.repeat(means, sizes)
