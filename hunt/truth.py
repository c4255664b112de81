"""Scores and best DAGs in extended precision, written as plainly as possible.

Nothing of dagopt is used here. Numbers are ``numpy.longdouble`` (64 bits of mantissa on x86): the data are used as they
are, and everything after that is computed with 11 more bits than in the library.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations

import numpy as np

Real = np.longdouble
Local = dict[tuple[int, int], Real]  # (node, parents as bits) -> score
IS_EXTENDED = bool(np.finfo(Real).eps < 1e-18)


def bits(mask: int) -> list[int]:
    """Return the members of a set."""
    return [b for b in range(mask.bit_length()) if mask >> b & 1]


@dataclass(frozen=True)
class Known:
    """Constraints as plain data: required and forbidden edges, tiers, limits and pairs by position.

    ``limits`` has one number per column instead of one for all; ``pairs`` are the only ones that may be joined.
    """

    required: tuple[tuple[int, int], ...] = ()
    forbidden: tuple[tuple[int, int], ...] = ()
    tiers: tuple[tuple[int, ...], ...] = ()
    max_parents: int | None = None
    limits: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()

    @property
    def is_limited(self) -> bool:
        """Whether numbers of parents are given."""
        return self.max_parents is not None or bool(self.limits)

    def moved(self, order: list[int]) -> Known:
        """Return the constraints on some columns, in another order."""
        place = {j: k for k, j in enumerate(order)}

        def edges(kept: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
            return tuple((place[a], place[b]) for a, b in kept if a in place and b in place)

        tiers = tuple(tuple(place[j] for j in group if j in place) for group in self.tiers)
        limits = tuple(self.limits[j] for j in order) if self.limits else ()
        return Known(
            edges(self.required), edges(self.forbidden), tiers, self.max_parents, limits, edges(self.pairs)
        )  # fmt: skip

    def allows(self, node: int, mask: int) -> bool:
        """Say whether a node may have these parents."""
        tier = {j: t for t, group in enumerate(self.tiers) for j in group}
        return (
            not mask >> node & 1
            and all(mask >> a & 1 for a, b in self.required if b == node)
            and not any(mask >> a & 1 for a, b in self.forbidden if b == node)
            and not any(j in tier and node in tier and tier[j] > tier[node] for j in bits(mask))
            and (self.max_parents is None or mask.bit_count() <= self.max_parents)
            and (not self.limits or mask.bit_count() <= self.limits[node])
            and (not self.pairs or all((j, node) in self.pairs or (node, j) in self.pairs for j in bits(mask)))
        )


# --- local scores ---------------------------------------------------------------------------------------------


def log_gamma(x: Real) -> Real:
    """Return log Γ(x) for x > 0: shifted beyond 60, then Stirling's series."""
    x = Real(x)
    shift = Real(0)
    while x < 60:
        shift += np.log(x)
        x += 1
    series = Real(0)
    for k, (top, bottom) in enumerate([(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156)]):
        series += Real(top) / Real(bottom) / x ** (2 * k + 1)
    two_pi = 8 * np.arctan(Real(1))
    return (x - Real(0.5)) * np.log(x) - x + np.log(two_pi) / 2 + series - shift


def triangle(columns: np.ndarray) -> np.ndarray:
    """Return the columns in an orthonormal basis of their span, by Gram-Schmidt done twice; zeros stay zeros."""
    rows, n = columns.shape
    basis: list[np.ndarray] = []
    factor = np.zeros((n, n), dtype=Real)
    for j in range(n):
        rest = columns[:, j].astype(Real)
        for _ in range(2):
            for k, direction in enumerate(basis):
                share = direction @ rest
                factor[k, j] += share
                rest = rest - share * direction
        length = np.sqrt(rest @ rest)
        own = np.zeros(rows, dtype=Real) if length == 0 else rest / length
        factor[len(basis), j] = length
        basis.append(own)
    return factor


def residual(factor: np.ndarray, node: int, parents: Iterable[int]) -> Real:
    """Return the squared length of the residual of a column given the parents."""
    chosen = factor[:, [*parents, node]]
    return triangle(chosen)[len(chosen[0]) - 1, len(chosen[0]) - 1] ** 2


def gaussian(values: np.ndarray, penalty: Real, convention: str) -> tuple[Callable[[int, int], Real], np.ndarray]:
    """Return the penalised Gaussian likelihood of a family, and the factor of the centred data."""
    rows = len(values)
    exact = values.astype(Real)
    centred = exact - exact.sum(axis=0) / rows
    factor = triangle(centred - centred.sum(axis=0) / rows)
    log_two_pi = np.log(8 * np.arctan(Real(1)))

    def local(node: int, mask: int) -> Real:
        left, size = residual(factor, node, bits(mask)), mask.bit_count()
        if left == 0:
            return Real(np.inf)
        if convention == "paper":
            return -Real(rows) / 2 * (1 + log_two_pi + np.log(left / rows)) - penalty * size
        freedom = rows - size - 1
        if freedom <= 0:
            return Real(-np.inf)
        fit = -Real(rows) / 2 * (log_two_pi + np.log(left / freedom)) - Real(freedom) / 2
        return fit - penalty * (size + 2)

    return local, factor


def bge(values: np.ndarray, weight: Real) -> tuple[Callable[[int, int], Real], np.ndarray]:
    """Return BGe of families of standardised columns (prior mean their own, T = t I), and the factor of data with T."""
    rows, n = values.shape
    exact = values.astype(Real)
    centred = exact - exact.sum(axis=0) / rows
    centred = centred / np.sqrt((centred * centred).sum(axis=0) / rows)  # standardised
    t = weight / (weight + 1)  # degrees = n + 2
    factor = triangle(np.vstack([np.sqrt(t) * np.eye(n, dtype=Real), centred]))
    pi = 4 * np.arctan(Real(1))

    def joint(mask: int) -> Real:
        size = mask.bit_count()
        if not size:
            return Real(0)
        before, after = Real(2 + size), Real(rows + 2 + size)
        gammas = sum(log_gamma((after - k) / 2) - log_gamma((before - k) / 2) for k in range(size))
        diagonal = np.abs(np.diag(triangle(factor[:, bits(mask)]))[:size])
        return (
            -Real(size) * rows / 2 * np.log(pi)
            + Real(size) / 2 * np.log(weight / (rows + weight))
            + gammas
            + before / 2 * size * np.log(t)
            - after * np.log(diagonal).sum()
        )

    return (lambda node, mask: joint(mask | 1 << node) - joint(mask)), factor


def multinomial(codes: np.ndarray, arity: list[int], penalty: Real) -> Callable[[int, int], Real]:
    """Return the penalised multinomial likelihood of a family; ``codes[row, column]``."""

    def joint(members: list[int]) -> Real:
        counts = Counter(map(tuple, codes[:, members].tolist()))
        return sum((Real(c) * np.log(Real(c)) for c in counts.values()), Real(0))

    def local(node: int, mask: int) -> Real:
        own = bits(mask)
        free = (arity[node] - 1) * math.prod(arity[j] for j in own)
        return joint([*own, node]) - joint(own) - penalty * free

    return local


def bdeu(codes: np.ndarray, arity: list[int], ess: Real) -> Callable[[int, int], Real]:
    """Return BDeu of a family, with log p (p + 1) ... (p + c - 1) as it stands, for any sample size."""

    def joint(members: list[int]) -> Real:
        prior = ess / math.prod(arity[j] for j in members)
        counts = Counter(map(tuple, codes[:, members].tolist()))
        return sum((np.log(prior + np.arange(c, dtype=Real)).sum() for c in counts.values()), Real(0))

    return lambda node, mask: joint([*bits(mask), node]) - joint(bits(mask))


def all_local(local: Callable[[int, int], Real], n: int) -> Local:
    """Return the score of every family."""
    return {(i, mask): local(i, mask) for i in range(n) for mask in range(1 << n) if not mask >> i & 1}


# --- best DAGs ------------------------------------------------------------------------------------------------


def best_score(local: Local, n: int, known: Known) -> Real:
    """Return the best score over all allowed DAGs: the best sink of every set; minus infinity where there is none."""
    best = [Real(0)] + [Real(-np.inf)] * ((1 << n) - 1)
    for whole in range(1, 1 << n):
        for i in bits(whole):
            before = whole & ~(1 << i)
            fits = [local[i, mask] for mask in range(1 << n) if not mask & ~before and known.allows(i, mask)]
            if fits:
                best[whole] = max(best[whole], best[before] + max(fits))
    return best[-1]


def score_of(local: Local, adjacency: np.ndarray) -> Real:
    """Return the score of a DAG."""
    masks = parents_of(adjacency)
    return sum((local[i, mask] for i, mask in enumerate(masks)), Real(0))


def parents_of(adjacency: np.ndarray) -> list[int]:
    """Return the parents of every node as bits."""
    return [sum(1 << int(j) for j in np.flatnonzero(column)) for column in np.asarray(adjacency).T]


def is_dag(adjacency: np.ndarray) -> bool:
    """Say whether nodes can be removed one after the other, each when it has no parents left."""
    masks, left = parents_of(adjacency), (1 << len(adjacency)) - 1
    while left:
        free = [i for i in bits(left) if not masks[i] & left]
        if not free:
            return False
        left &= ~sum(1 << i for i in free)
    return True


def all_dags(n: int) -> Iterator[tuple[int, ...]]:
    """Yield the parents of every node of every DAG."""
    seen = set()
    for order in permutations(range(n)):
        before = 0
        choices = []
        for i in order:
            choices.append([(i, mask) for mask in range(1 << n) if not mask & ~before])
            before |= 1 << i
        for dag in _products(choices, n):
            if dag not in seen:
                seen.add(dag)
                yield dag


def _products(choices: list[list[tuple[int, int]]], n: int) -> Iterator[tuple[int, ...]]:
    masks = [0] * n

    def fill(k: int) -> Iterator[tuple[int, ...]]:
        if k == n:
            yield tuple(masks)
            return
        for i, mask in choices[k]:
            masks[i] = mask
            yield from fill(k + 1)

    yield from fill(0)


def class_of(masks: tuple[int, ...]) -> tuple[frozenset[frozenset[int]], frozenset[tuple[int, int, int]]]:
    """Return skeleton and v-structures, which identify the equivalence class of a DAG."""
    joined = {frozenset((i, j)) for i, mask in enumerate(masks) for j in bits(mask)}
    colliders = {
        (a, i, b)
        for i, mask in enumerate(masks)
        for a, b in combinations(bits(mask), 2)
        if frozenset((a, b)) not in joined
    }
    return frozenset(joined), frozenset(colliders)


@cache
def dags_of(n: int) -> np.ndarray:
    """Return the parents of every node in every DAG, as bits of ``[dag, node]``."""
    return np.array(list(all_dags(n)))


@cache
def classes_of(n: int) -> np.ndarray:
    """Return the number of the equivalence class of each DAG of ``dags_of``: skeleton and v-structures, as bits."""
    dags = dags_of(n)
    has = (dags[:, None, :] >> np.arange(n)[:, None] & 1).astype(bool)  # [dag, parent, child]
    joined = has | has.transpose(0, 2, 1)
    facts = [joined[:, a, b] for a, b in combinations(range(n), 2)]
    facts += [
        has[:, a, i] & has[:, b, i] & ~joined[:, a, b]
        for i in range(n)
        for a, b in combinations([j for j in range(n) if j != i], 2)
    ]
    words = np.zeros(len(dags), dtype=np.int64)
    for fact in facts:
        words = 2 * words + fact
    return np.unique(words, return_inverse=True)[1]


def edge_probabilities(
    local: Local, n: int, known: Known, prior: str, pairs: Iterable[tuple[int, int]] = ()
) -> np.ndarray:
    """Return the probability of every edge by summing over all orders of the columns and all parent sets.

    Orders in which one of ``pairs`` stands the other way round are left out.
    """
    found: list[tuple[Real, dict[tuple[int, int], Real]]] = []
    for order in permutations(range(n)):
        if any(order.index(a) > order.index(b) for a, b in pairs):
            continue
        whole, shares, before = Real(0), dict[tuple[int, int], Real](), 0
        for i in order:
            weights = {
                mask: local[i, mask] - (np.log(Real(math.comb(n - 1, mask.bit_count()))) if prior == "fair" else 0)
                for mask in range(1 << n)
                if not mask & ~before and known.allows(i, mask)
            }
            total = log_sum(list(weights.values()))
            whole += total
            for j in bits(before):
                own = log_sum([weight for mask, weight in weights.items() if mask >> j & 1])
                shares[j, i] = np.exp(own - total) if np.isfinite(total) else Real(0)
            before |= 1 << i
        found.append((whole, shares))
    total = log_sum([whole for whole, _ in found])
    edges = np.zeros((n, n), dtype=Real)
    for whole, shares in found:
        for edge, share in shares.items():
            edges[edge] += np.exp(whole - total) * share
    return edges


def log_sum(logs: list[Real]) -> Real:
    """Return the logarithm of a sum of exponentials."""
    top = max(logs, default=Real(-np.inf))
    if not np.isfinite(top):
        return Real(-np.inf)
    return top + np.log(sum((np.exp(value - top) for value in logs), Real(0)))
