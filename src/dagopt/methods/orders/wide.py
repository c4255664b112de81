"""Order search on tables with very many columns, in memory that grows with the number of candidate pairs.

1. Candidates are all pairs whose correlation is so large that an edge between them raises the score of a column
   without other parents. No such pair is lost (``near_pairs.py``).
2. Order search over the candidates, with correlations computed from the rows when they are needed.
3. A parent can be hidden, so that it helps only beside others. So each column's residual, given the parents found, is
   compared with all columns, and so is that given parents that it has in an equivalent DAG, where an undirected edge of
   the class points to it. Pairs by which the score would rise become candidates too, and the search goes on near them,
   until there are none or there were ``MOST_ROUNDS``.

Step 3 lists the columns whose product with the residual is above a bar, and those that are candidates of a parent, and
scores them exactly. The bar allows for parents that explain up to ``EXPLAINED`` of the column; a column that they
explain better without being a candidate of any of them is overlooked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.data.continuous_checks import SAME_CORRELATION
from dagopt.deadline import Deadline
from dagopt.graph.cpdag import cpdag
from dagopt.graph.order import adjacency_of, edge_ends, topological_order
from dagopt.methods.names import name_order
from dagopt.methods.orders.linked_orders import LinkedOrders
from dagopt.methods.orders.near_pairs import Blocks, pairs_above, unit_columns
from dagopt.progress import Progress

__all__ = ["WideScore", "WideSearch", "search_wide"]

MOST_ROUNDS = 10
EXPLAINED = 0.3
KICKS = 10  # per column, and after new candidates were found per column near one of these
STEPS = 2  # edges between a column with new candidates and those that are searched again
DEPTH = 7.0  # a column turns back when the score has fallen by this many penalties of BIC
ENOUGH = 1e-6  # a smaller gain does not count
CELLS_AT_ONCE = 1 << 23  # of columns that are gathered for residuals: 64 MB


@dataclass(frozen=True)
class WideScore:
    """A penalised likelihood: ``-n_samples / 2 * log(residual share of the variance) - costs[s]`` with s parents."""

    n_samples: int
    costs: Floats

    @property
    def least(self) -> float:
        """The absolute correlation above which a first parent raises the score."""
        return math.sqrt(-math.expm1(-2 * float(self.costs[1] - self.costs[0]) / self.n_samples))


@dataclass
class WideSearch:
    """What was found.

    Attributes
    ----------
    parents : list of int arrays
        The parents of every column.
    scores : array
        Their local scores.
    order : int array
        An order of the columns.
    first, second : int arrays
        The pairs of candidates.
    copies : int array of shape (k, 2)
        Pairs of columns with a correlation of 1 or -1.
    rows : list of (seconds, phase, score)
        What happened.
    n_first, n_hidden : int
        Candidates by correlation, and those that were found beside parents.
    is_checked : bool
        Whether all columns were compared with the residuals of the last graph, and nothing more was found.
    where : str
        Where products were computed.
    scale : array
        The standard deviations of the columns.
    edge_gains : array
        What is lost without each edge, in the order of ``parents``.
    """

    parents: list[Ints]
    scores: Floats
    order: Ints
    first: Ints
    second: Ints
    copies: Ints
    where: str
    scale: Floats
    rows: list[tuple[float, str, float]] = field(default_factory=list)
    n_first: int = 0
    n_hidden: int = 0
    is_checked: bool = False
    edge_gains: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def score(self) -> float:
        """The sum of the local scores."""
        return float(self.scores.sum())


def search_wide(
    values: Floats,
    names: Sequence[str],
    score: WideScore,
    deadline: Deadline,
    progress: Progress,
    *,
    random_state: int = 0,
    kicks: int | None = None,
    device: str = "auto",
    start: list[Ints] | None = None,
) -> WideSearch:
    """Return the best DAG that is found.

    Parameters
    ----------
    values : array of shape (rows, n)
        The table.
    names : sequence of str
        Its columns. The search numbers them by their names, so that the answer does not depend on their order.
    score : WideScore
        What is maximised.
    deadline, progress
        The clock, and where the run is shown.
    random_state : int
        The seed.
    kicks : int, optional
        Disturbances per column in each round; ``KICKS`` unless given.
    device : {"auto", "cpu", "gpu"}
        Where products of all columns are computed.
    start : list of int arrays, optional
        The parents of every column in a DAG to start from.
    """
    named = name_order(names)
    columns, scale = unit_columns(values, named)
    n = len(columns)
    blocks = Blocks(columns, device)
    rng = np.random.default_rng(random_state)
    nothing = np.zeros(0, dtype=np.int64)
    alone = np.full(n, -float(score.costs[0]))
    run = WideSearch(
        [nothing] * n,
        alone,
        rng.permutation(n),
        nothing,
        nothing,
        np.zeros((0, 2), dtype=np.int64),
        blocks.where,
        scale,
    )
    _first_pairs(run, columns, blocks, score.least, deadline, progress)
    run.rows.append((deadline.elapsed(), "correlations", run.score))
    if start is not None:
        _begin_at(run, start, named)
    if not len(run.copies):
        _search(run, columns, blocks, score, rng, KICKS if kicks is None else kicks, deadline, progress)
    return _numbered(run, named)


def _search(
    run: WideSearch,
    columns: Floats,
    blocks: Blocks,
    score: WideScore,
    rng: np.random.Generator,
    kicks: int,
    deadline: Deadline,
    progress: Progress,
) -> None:
    """Search over the candidates, look for hidden ones, and so on."""
    n = len(columns)
    checked: set[tuple[int, ...]] = set()
    orders: LinkedOrders | None = None
    around: Ints | None = None
    for round_ in range(MOST_ROUNDS):
        if deadline.reason is not None and round_:
            break
        orders = LinkedOrders(
            columns, 0.5 * score.n_samples, score.costs, (run.first, run.second),
            DEPTH * 0.5 * math.log(max(score.n_samples, 2)),
        )  # fmt: skip
        orders.start(run.order, deadline, run.parents)
        _note(run, orders, "orders", deadline, progress)
        orders.settle(rng.permutation(n) if around is None else rng.permutation(around), deadline)
        _note(run, orders, "orders", deadline, progress)
        for _ in range(kicks):
            if deadline.reason is None:
                orders.kick(n if around is None else len(around), rng, deadline, around)
                _note(run, orders, "kicks", deadline, progress)
        cases = [case for case in _cases(run, len(score.costs) - 1) if case not in checked]
        hidden = _hidden(run, orders, columns, blocks, score, cases, deadline, progress)
        run.rows.append((deadline.elapsed(), "all pairs", run.score))
        if hidden is None:
            break
        checked.update(cases)
        if not len(hidden[0]):
            run.is_checked = True
            break
        run.n_hidden += len(hidden[0])
        run.first, run.second = np.append(run.first, hidden[0]), np.append(run.second, hidden[1])
        around = _near(run, np.concatenate(hidden), n)
    assert orders is not None
    nodes = np.repeat(np.arange(n), [len(own) for own in run.parents])
    fewer = [np.delete(own, k) for own in run.parents for k in range(len(own))]
    run.edge_gains = run.scores[nodes] - orders.values(nodes, fewer)


def _near(run: WideSearch, nodes: Ints, n: int) -> Ints:
    """Return these columns and those within ``STEPS`` edges of them, where new candidates can change something."""
    heads = np.repeat(np.arange(n), [len(own) for own in run.parents])
    tails = np.concatenate([*run.parents, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    near = np.zeros(n, dtype=np.bool_)
    near[nodes] = True
    for _ in range(STEPS):
        reached = near.copy()
        reached[tails[near[heads]]] = True
        reached[heads[near[tails]]] = True
        near = reached
    return np.flatnonzero(near)


def _begin_at(run: WideSearch, start: list[Ints], named: Ints) -> None:
    """Take the order and the edges of a DAG, which become candidates."""
    n = len(named)
    numbers = np.argsort(named)
    run.parents = [np.sort(numbers[start[v]]) for v in named]
    heads = np.repeat(np.arange(n), [len(own) for own in run.parents])
    tails = np.concatenate([*run.parents, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    run.order = topological_order(adjacency_of(n, tails, heads)).astype(np.int64)
    own = np.minimum(tails, heads) * n + np.maximum(tails, heads)
    new = np.setdiff1d(own, np.minimum(run.first, run.second) * n + np.maximum(run.first, run.second))
    run.first, run.second = np.append(run.first, new // n), np.append(run.second, new % n)


def _numbered(run: WideSearch, named: Ints) -> WideSearch:
    """Return what was found with the columns as numbered in the table."""
    n = len(named)
    parents: list[Ints] = [run.order] * n
    gains: list[Floats] = [run.edge_gains] * n
    ends = np.cumsum([len(own) for own in run.parents])[:-1]
    by_node = np.split(run.edge_gains, ends) if len(run.edge_gains) else [run.edge_gains] * n
    for k, v in enumerate(named.tolist()):
        sequence = np.argsort(named[run.parents[k]])
        parents[v], gains[v] = named[run.parents[k]][sequence], by_node[k][sequence] if len(by_node[k]) else by_node[k]
    scores, scale = np.empty(n), np.empty(n)
    scores[named], scale[named] = run.scores, run.scale
    return replace(
        run,
        parents=parents,
        scores=scores,
        scale=scale,
        order=named[run.order],
        first=named[run.first],
        second=named[run.second],
        copies=np.sort(named[run.copies], axis=1),
        edge_gains=np.concatenate(gains),
    )


def _cases(run: WideSearch, most: int) -> list[tuple[int, ...]]:
    """Return columns, each with parents beside which others may be hidden: fewer than ``most``, and at least one.

    They are those that it has, and for each undirected edge of the class that points away from it those that it has if
    the edge points to it: then no other undirected edge needs to.
    """
    n = len(run.parents)
    heads = np.repeat(np.arange(n), [len(own) for own in run.parents])
    tails = np.concatenate([*run.parents, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    joined, towards = edge_ends(cpdag(adjacency_of(n, tails, heads)))
    both = np.isin(joined * n + towards, towards * n + joined)
    compelled: list[list[int]] = [[] for _ in range(n)]
    for u, v in zip(joined[~both].tolist(), towards[~both].tolist(), strict=True):
        compelled[v].append(u)
    found: list[tuple[int, ...]] = [(v, *own.tolist()) for v, own in enumerate(run.parents)]
    away = ~np.isin(joined * n + towards, tails * n + heads) & both
    for u, v in zip(joined[away].tolist(), towards[away].tolist(), strict=True):
        found.append((v, *sorted([*compelled[v], u])))
    return [case for case in found if 1 < len(case) <= most]


def _note(run: WideSearch, orders: LinkedOrders, phase: str, deadline: Deadline, progress: Progress) -> None:
    """Keep what was found, if it is better, and show it."""
    deadline.answered()
    if orders.score > run.score:
        run.parents, run.scores, run.order = orders.parents, orders.scores, orders.order
    run.rows.append((deadline.elapsed(), phase, orders.score))
    progress.update("order search", None, score=orders.score)


def _first_pairs(
    run: WideSearch, columns: Floats, blocks: Blocks, least: float, deadline: Deadline, progress: Progress
) -> None:
    """Find all pairs of which one helps the other alone."""
    found = []
    for a, b, share in blocks.above(least, deadline):
        first, second, products = pairs_above(columns, a, b, least)
        found.append((first, second))
        same = np.abs(products) > SAME_CORRELATION
        run.copies = np.concatenate([run.copies, np.column_stack([first[same], second[same]])])
        progress.update("correlations", share)
    run.first, run.second = (np.concatenate(part) for part in zip(*found, strict=True)) if found else (run.first,) * 2
    run.n_first = len(run.first)


def _hidden(
    run: WideSearch,
    orders: LinkedOrders,
    columns: Floats,
    blocks: Blocks,
    score: WideScore,
    cases: list[tuple[int, ...]],
    deadline: Deadline,
    progress: Progress,
) -> tuple[Ints, Ints] | None:
    """Return pairs that are no candidates but of which one would raise the other's score; None if the time ran out.

    Each case is a column and its parents.
    """
    n = len(columns)
    if not cases:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    nodes = np.array([case[0] for case in cases], dtype=np.int64)
    parents = [np.array(case[1:], dtype=np.int64) for case in cases]
    found = [_beside_parents(run, parents, n)]
    dearest = float(np.diff(score.costs).min())
    bar = math.sqrt((1 - EXPLAINED) * -math.expm1(-2 * dearest / score.n_samples))
    step = blocks.block
    for at in range(0, len(nodes), step):
        left = _residuals(columns, nodes[at : at + step], parents[at : at + step])
        for a, b, _ in blocks.above(bar, deadline, left):
            found.append((at + a) * n + b)
        if deadline.reason is not None:
            return None
        progress.update("all pairs", at / len(nodes))
    case, x = np.divmod(np.unique(np.concatenate(found)), n)
    v = nodes[case]
    known = np.concatenate([run.first * n + run.second, run.second * n + run.first])
    new = (v != x) & ~np.isin(v * n + x, known)
    case, v, x = case[new], v[new], x[new]
    alone = orders.values(nodes, parents)
    gains = orders.values(v, [np.append(parents[k], b) for k, b in zip(case.tolist(), x.tolist(), strict=True)])
    better = gains > alone[case] + ENOUGH
    low, high = np.minimum(v[better], x[better]), np.maximum(v[better], x[better])
    first, second = np.divmod(np.unique(low * n + high), n)
    return first, second


def _beside_parents(run: WideSearch, parents: list[Ints], n: int) -> Ints:
    """Return the candidates of the parents of each case, as numbers of case and candidate."""
    owners = np.concatenate([run.first, run.second])
    sequence = np.argsort(owners, kind="stable")
    others = np.concatenate([run.second, run.first])[sequence]
    ends = np.cumsum(np.bincount(owners, minlength=n))
    lists = np.split(others, ends[:-1])
    found = [k * n + lists[p] for k, own in enumerate(parents) for p in own.tolist()]
    return np.concatenate([*found, np.zeros(0, dtype=np.int64)])


def _residuals(columns: Floats, nodes: Ints, parents: list[Ints]) -> NDArray[np.float32]:
    """Return what the parents leave of each column, with length 1."""
    left = np.empty((len(nodes), columns.shape[1]), dtype=np.float32)
    sizes = np.array([len(own) for own in parents])
    for size in np.unique(sizes):
        places = np.flatnonzero(sizes == size)
        at_once = max(CELLS_AT_ONCE // (columns.shape[1] * int(size)), 1)
        for k in range(0, len(places), at_once):
            some = places[k : k + at_once]
            gathered = columns[np.array([parents[k] for k in some])]  # (m, size, rows)
            own = columns[nodes[some]]
            gram = gathered @ gathered.transpose(0, 2, 1) + 1e-12 * np.eye(int(size))
            weights = np.linalg.solve(gram, gathered @ own[:, :, None])
            rest = own - (weights.transpose(0, 2, 1) @ gathered)[:, 0]
            left[some] = rest / np.maximum(np.sqrt((rest**2).sum(axis=1, keepdims=True)), 1e-12)
    return left
