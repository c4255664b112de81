r"""Findings about rows: successive rows that are alike, rows that repeat.

Every score of the library assumes that rows are independent draws. Between two columns with the lag-one correlations a
and b, N successive rows say as much about their correlation as N (1 - a b) / (1 + a b) independent ones (Bartlett
1935), so that independent random walks are joined by edges with certainty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from statistics import NormalDist

import numpy as np

from dagopt.arrays import Bools, Floats, Ints
from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.errors import quoted

__all__ = ["ALARM", "change_points", "lag_one", "ranks_of", "repeated_rows", "serial_dependence", "sorted_runs"]

ALARM = 0.002  # probability that a check raises a finding on a clean table; divided by the number of columns tested
FEWEST_ROWS = 20  # fewer rows say nothing about rows
MOST_COLUMNS = 1000  # that are tested; of more, every k-th
MOST_ROWS = 20_000  # that are tested, from the first on
LEAST_CORRELATION = 0.1  # of successive rows: smaller ones cost less than 2 % of the rows
MATTERING_SHARE = 0.9  # of the rows: if successive rows say as much as this share of independent ones, nothing is said
MOST_CUTS = 4  # further blocks that may explain that successive rows are alike
RUN = 16  # rows of a block where the table is sorted by a column with many values
FEW_IN_A_RUN = 8  # rows per value below which a sorted column counts as one with many values
LEAST_REPEATED = 0.01  # share of the rows
MOST_IN_CHANCE = 12  # columns that enter the probability of equal rows
SURPLUS = 3.0  # times as many pairs of equal rows as expected by chance, plus one
FEWEST_DISTINCT = 10  # distinct rows of a discrete table that repeat equally often


def serial_dependence(columns: Sequence[Column], order: Bools | None = None) -> list[Finding]:
    """Find out whether successive rows are alike, in at least two columns, beyond what sorting explains.

    One such column is enough beside a column that numbers the rows, with which it would be joined.

    The test is the lag-one correlation of ranks. If the table is sorted by one of its columns, only rows within blocks
    of (nearly) the same value of that column are compared, with the block means removed.

    Parameters
    ----------
    columns : sequence of Column
        The columns; of very many, only some are tested.
    order : bool array, optional
        True for columns that number the rows, which are not tested and do not count as sorted.
    """
    n_rows = min(len(columns[0].values), MOST_ROWS)
    if n_rows < FEWEST_ROWS:
        return []
    known = np.zeros(len(columns), dtype=bool) if order is None else order
    starts, is_sorted = sorted_runs([column.values[:n_rows] for column in columns], known)
    tested = [j for j in range(0, len(columns), -(-len(columns) // MOST_COLUMNS)) if not (is_sorted[j] or known[j])]
    if len(tested) < (1 if known.any() else 2):
        return []
    ranks = np.array([ranks_of(columns[j].values[:n_rows], columns[j].missing[:n_rows]) for j in tested])
    strongest, correlation = _alike(ranks, starts)
    rows = len(columns[0].values)
    if len(strongest) == 1 and known.any():
        return _one_series(columns[tested[strongest[0]]].name, correlation[strongest[0]], columns, known, rows)
    left = _rows_left(rows, correlation[strongest])
    if left >= MATTERING_SHARE * rows:
        return []
    names = tuple(columns[tested[k]].name for k in strongest)
    by = [column.name for column, is_one in zip(columns, is_sorted, strict=True) if is_one]
    blocks, within = _explained(ranks, strongest, starts, rows)
    if within >= (left + rows) / 2:  # at most half of what was lost is lost within the blocks
        return [_sorted_rows(names, len(tested), blocks[~np.isin(blocks, starts)], by)]
    also = f"also among rows of the same {quoted(by, 2)}, which sorts the table, " if by else ""
    finding = Finding(
        "warning",
        "serial",
        names,
        f"{also}successive rows are alike in {len(names)} of {len(tested)} columns (correlation of neighbours "
        f"{correlation[strongest[0]]:.2f} in {names[0]!r}, {correlation[strongest[1]]:.2f} in {names[1]!r})",
        f"scores count {rows} independent rows, but for these columns they say as much as about {left}; edges between "
        f"{quoted(names, 3)} may be spurious, and the proof does not notice",
        "if rows follow each other in time, learn a network over time with lags=1, and time='...' if a column has the "
        "times; if rows belong to units, such as patients, name the units with groups=",
    )
    return [finding]


def _one_series(name: str, correlation: float, columns: Sequence[Column], times: Bools, rows: int) -> list[Finding]:
    """Return the finding on one column whose successive rows are alike, beside one that numbers the rows."""
    left = _rows_left(rows, np.array([correlation, 1.0]))
    if left >= MATTERING_SHARE * rows:
        return []
    time = columns[int(np.argmax(times))].name
    return [
        Finding(
            "warning",
            "serial",
            (name,),
            f"successive rows are alike in {name!r} (correlation of neighbours {correlation:.2f}), and {time!r} numbers"
            " them",
            f"scores count {rows} independent rows, but with {time!r} they say as much as about {left}; an edge "
            "between the two may be spurious, and the proof does not notice",
            f"if rows follow each other in time, learn a network over time with lags=1 and time={time!r}",
        )
    ]


def _alike(ranks: Floats, starts: Ints) -> tuple[Ints, Floats]:
    """Return the columns in which neighbours are alike, the strongest first, and the correlations of all columns.

    Correlations that are small or by chance count as zero.
    """
    found = np.array([lag_one(own, starts) for own in ranks])
    critical = -NormalDist().inv_cdf(ALARM / len(ranks) / 2)
    sure = (np.abs(found[:, 1]) > critical) & (np.abs(found[:, 0]) > LEAST_CORRELATION)
    size = np.where(sure, np.abs(found[:, 0]), 0.0)
    order = np.argsort(-size, kind="stable")
    return order[size[order] > 0], np.where(sure, found[:, 0], 0.0)


def _explained(ranks: Floats, alike: Ints, starts: Ints, rows: int) -> tuple[Ints, int]:
    """Return the fewest blocks within which neighbours are not alike, or the best ones, and the rows left in them."""
    best, most = starts, 0
    for blocks in change_points(ranks[alike], starts):
        places, within = _alike(ranks, blocks)
        left = _rows_left(rows, within[places])
        if left > most:
            best, most = blocks, left
        if left >= MATTERING_SHARE * rows:
            break
    return best, most


def _rows_left(rows: int, correlations: Floats) -> int:
    """Return how many independent rows say as much about the two columns whose neighbours are most alike."""
    if len(correlations) < 2:
        return rows
    a, b = np.minimum(np.abs(correlations[:2]), 0.999)
    return max(int(rows * (1 - a * b) / (1 + a * b)), 1)


def change_points(ranks: Floats, starts: Ints) -> Iterator[Ints]:
    """Yield where blocks of rows begin after one, two, ... further cuts.

    Each cut is the one that explains most of the squares within blocks, over all columns (binary segmentation).
    """
    n_rows = ranks.shape[1]
    begins = starts
    for _ in range(MOST_CUTS):
        best, place = 0.0, 0
        ends = np.append(begins[1:], n_rows)
        for first, last in zip(begins, ends, strict=True):
            size = last - first
            if size < 2 * FEW_IN_A_RUN:
                continue
            near = ranks[:, first:last] - ranks[:, first:last].mean(axis=1, keepdims=True)
            sums = np.cumsum(near, axis=1)[:, FEW_IN_A_RUN - 1 : size - FEW_IN_A_RUN]
            left = np.arange(FEW_IN_A_RUN, size - FEW_IN_A_RUN + 1)
            gains = (sums**2).sum(axis=0) * size / (left * (size - left))
            k = int(np.argmax(gains))
            if gains[k] > best:
                best, place = float(gains[k]), int(first + left[k])
        if not place:
            return
        begins = np.sort(np.append(begins, place))
        yield begins


def _sorted_rows(names: Sequence[str], tested: int, begins: Ints, by: Sequence[str]) -> Finding:
    some = quoted([str(row + 1) for row in begins], MOST_CUTS).replace("'", "")
    known = f", besides {quoted(by, 2)}," if by else ""
    return Finding(
        "warning",
        "sorted",
        tuple(names),
        f"the rows are sorted by something that is not in the table{known} in blocks that differ in {len(names)} of "
        f"{tested} columns, such as {quoted(names, 3)} (new blocks begin near data rows {some})",
        "what sorts the rows, such as a class, is a common cause of these columns that the graph cannot show: it "
        "becomes edges among them",
        "add the column that sorts the rows to the table, or name it with groups= and set centre_groups=True",
    )


def sorted_runs(values: Sequence[Floats | Ints], skipped: Bools) -> tuple[Ints, Bools]:
    """Return where blocks begin in which the columns that sort the table hardly change, and which columns these are."""
    n_rows = len(values[0])
    begins = np.zeros(n_rows, dtype=bool)
    begins[0] = True
    found = np.zeros(len(values), dtype=bool)
    for j, own in enumerate(values):
        steps = np.diff(own)
        changes = steps != 0
        if skipped[j] or np.isnan(own).any() or not changes.any():
            continue
        runs = int(changes.sum()) + 1
        together = 2 * runs <= n_rows and runs == len(np.unique(own))  # equal values are neighbours
        if not (together or (steps >= 0).all() or (steps <= 0).all()):
            continue
        found[j] = True
        if n_rows / runs >= FEW_IN_A_RUN:
            begins[1:] |= changes
        else:
            begins[::RUN] = True
    return np.flatnonzero(begins), found


def ranks_of(values: Floats | Ints, missing: Bools | None = None) -> Floats:
    """Return the mid-ranks of a column; missing cells have the middle one."""
    if missing is None or not missing.any():
        _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
        return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which])
    ranks = np.full(len(values), (1 + float((~missing).sum())) / 2)
    ranks[~missing] = ranks_of(values[~missing])
    return ranks


def lag_one(values: Floats, starts: Ints) -> tuple[float, float]:
    """Return the lag-one correlation within blocks, and its distance from chance in standard deviations.

    In a block of m exchangeable normal values the sum of products of neighbours, relative to the sum of squares, has
    the mean -1 / m and the variance of Dufour and Roy (1985).
    """
    sizes = np.diff(np.append(starts, len(values)))
    block = np.repeat(np.arange(len(starts)), sizes)
    near = values - np.repeat(np.add.reduceat(values, starts) / sizes, sizes)
    squares = np.add.reduceat(near**2, starts)
    same = block[1:] == block[:-1]
    total = float((near[1:] * near[:-1])[same].sum())
    m = np.maximum(sizes, 2).astype(np.float64)
    variance = (m**4 - 4 * m**3 + 3 * m**2 + 4 * m - 4) / ((m + 1) * m**2 * (m - 1) ** 2)
    spread = math.sqrt(float((variance * squares**2)[sizes > 2].sum()))
    used = squares[sizes > 2]
    pairs = float((used * (sizes[sizes > 2] - 1) / sizes[sizes > 2]).sum())
    if spread == 0 or pairs == 0:
        return 0.0, 0.0
    excess = total + float((squares / m)[sizes > 1].sum())
    return excess / pairs, excess / spread


def repeated_rows(columns: Sequence[Column]) -> list[Finding]:
    """Find out whether more rows are exactly equal than chance allows."""
    keys = _keys(columns)
    rows = len(keys)
    _, counts = np.unique(keys, return_counts=True)
    repeated = rows - len(counts)
    if rows < FEWEST_ROWS or repeated < max(3, LEAST_REPEATED * rows):
        return []
    numbers = [column for column in columns if column.kind == "continuous" and not column.missing.any()]
    if numbers:
        pairs = float((counts * (counts - 1.0) / 2).sum())
        if pairs <= SURPLUS * (_pairs_by_chance(numbers) + 1):
            return []
    elif len(counts) < FEWEST_DISTINCT or reduce(math.gcd, counts.tolist()) == 1:
        return []
    finding = Finding(
        "warning",
        "repeated-rows",
        (),
        f"{repeated} of {rows} rows are exact copies of other rows, far more than chance allows",
        f"scores count {rows} independent rows, but only {len(counts)} are distinct; edges look more certain than they "
        "are, and the proof does not notice",
        "learn from the distinct rows, data.drop_duplicates(), unless each copy is a separate observation",
    )
    return [finding]


def _keys(columns: Sequence[Column]) -> Ints:
    """Return one number per row, equal for equal rows: a sum of the columns' bits times odd random numbers."""
    rng = np.random.default_rng(0)
    keys = np.zeros(len(columns[0].values), dtype=np.uint64)
    for column in columns:
        bits = (column.values.astype(np.float64) + 0.0).view(np.uint64)
        keys += (bits ^ (bits >> np.uint64(29))) * (rng.integers(1 << 63, dtype=np.uint64) | np.uint64(1))
    return keys.view(np.int64)


def _pairs_by_chance(columns: Sequence[Column]) -> float:
    """Return about how many pairs of rows agree in all columns by chance, by a Gaussian with rounded values.

    Two rows agree in a column with the sum of the squared shares of its values. For correlated columns the product of
    these is divided by the root of the determinant of the correlations.
    """
    rows = len(columns[0].values)
    shares = []
    for column in columns:
        _, counts = np.unique(column.values, return_counts=True)
        shares.append(float(((counts / rows) ** 2).sum()))
    fewest = np.argsort(shares, kind="stable")[:MOST_IN_CHANCE]
    varying = [int(j) for j in fewest if shares[j] < 1]
    if not varying:
        return math.inf
    chance = math.prod(shares[j] for j in varying) * rows * (rows - 1) / 2
    if len(varying) == 1:
        return chance
    matrix = np.corrcoef([columns[j].values for j in varying])
    return chance / math.sqrt(max(float(np.linalg.det(matrix)), 1e-12))
