"""Scores in exact arithmetic: integer Gram matrices and products of fractions, with logarithms of 60 digits.

Nothing of dagopt is used. A score is a function ``joint(columns)`` less a penalty; the only roundings are those of the
logarithms.
"""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations

import numpy as np

from every_dag import parent_sets

DIGITS = 60


def log(value):
    """Return the logarithm of a positive fraction."""
    with localcontext() as context:
        context.prec = DIGITS
        return (Decimal(value.numerator) / Decimal(value.denominator)).ln()


def decimal(value):
    """Return a number, as it is stored, in decimal digits."""
    exact = Fraction(value)
    with localcontext() as context:
        context.prec = DIGITS
        return Decimal(exact.numerator) / Decimal(exact.denominator)


LOG_TWO_PI = Decimal("1.83787706640934548356065947281123527972279494727556682563430308")


def bits(mask):
    """Return the members of a set."""
    return [b for b in range(mask.bit_length()) if mask >> b & 1]


def determinant(matrix):
    """Return the determinant of a matrix of whole numbers, by elimination without fractions (Bareiss)."""
    rows = [list(row) for row in matrix]
    before = 1
    for k in range(len(rows) - 1):
        if not rows[k][k]:
            return 0  # of a Gram matrix: the columns are dependent
        for i in range(k + 1, len(rows)):
            for j in range(k + 1, len(rows)):
                rows[i][j] = (rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]) // before
        before = rows[k][k]
    return rows[-1][-1] if rows else 1


def covariances(columns):
    """Return whole numbers N² 4^k times the covariances (dividing by N), and that factor."""
    columns = [list(map(float, column)) for column in columns]
    power = max(x.as_integer_ratio()[1] for column in columns for x in column)
    whole = [[int(Fraction(x) * power) for x in column] for column in columns]
    rows, sums = len(whole[0]), [sum(column) for column in whole]
    products = [[rows * sum(x * y for x, y in zip(a, b, strict=True)) for b in whole] for a in whole]
    n = len(columns)
    matrix = [[products[a][b] - sums[a] * sums[b] for b in range(n)] for a in range(n)]
    return matrix, Fraction(rows * power) ** 2


class Locals:
    """Local scores of all families of up to five columns, and the best DAG of all."""

    def __init__(self, n, local):
        self.n = n
        with localcontext() as context:
            context.prec = DIGITS
            self.local = {
                (i, mask): local(i, bits(mask)) for i in range(n) for mask in range(1 << n) if not mask >> i & 1
            }

    def total(self, adjacency):
        """Return the score of a DAG."""
        masks = [sum(1 << int(j) for j in np.flatnonzero(column)) for column in np.asarray(adjacency).T]
        with localcontext() as context:
            context.prec = DIGITS
            return sum((self.local[i, mask] for i, mask in enumerate(masks)), Decimal(0))

    @classmethod
    def by_node(cls, parts):
        """Return the local scores of each node from a score of its own, as with interventions."""
        return cls(len(parts), lambda i, parents: parts[i].local[i, sum(1 << j for j in parents)])

    def with_edges(self, cost):
        """Return the local scores less ``cost(tail, head)`` for each edge."""
        return type(self)(
            self.n,
            lambda i, parents: (
                self.local[i, sum(1 << j for j in parents)] - sum((cost(j, i) for j in parents), Decimal(0))
            ),
        )

    def best(self, allowed=lambda dag: True):
        """Return the best score of all DAGs, each given as the parents of every node in bits."""
        with localcontext() as context:
            context.prec = DIGITS
            dags = (dag for dag in parent_sets(self.n).tolist() if allowed(dag))
            return max(sum((self.local[i, mask] for i, mask in enumerate(dag)), Decimal(0)) for dag in dags)


def edge_probabilities(truth):
    """Return the probability of every edge under the prior "fair", by a sum over all orders and their DAGs."""
    n, weights = truth.n, {}
    with localcontext() as context:
        context.prec = DIGITS
        for order in permutations(range(n)):
            place = {i: k for k, i in enumerate(order)}
            for dag in parent_sets(n).tolist():
                if all(place[j] < place[i] for i, mask in enumerate(dag) for j in bits(mask)):
                    prior = math.prod(math.comb(n - 1, mask.bit_count()) for mask in dag)
                    value = sum((truth.local[i, mask] for i, mask in enumerate(dag)), Decimal(0)).exp() / prior
                    weights[tuple(dag)] = weights.get(tuple(dag), Decimal(0)) + value
        total = sum(weights.values(), Decimal(0))
        edges = np.zeros((n, n))
        for a in range(n):
            for b in range(n):
                edges[a, b] = sum((w for dag, w in weights.items() if dag[b] >> a & 1), Decimal(0)) / total
    return edges


def remembered(joint):
    """Return a function of lists that computes every set once."""
    known = {}

    def of(columns):
        key = tuple(sorted(columns))
        if key not in known:
            known[key] = joint(list(key))
        return known[key]

    return of


def penalty_of(name, rows, n):
    """Return what a parameter costs, and an edge besides, under a criterion that has a name."""
    with localcontext() as context:
        context.prec = DIGITS
        per_parameter = Decimal(1) if name == "aic" else log(Fraction(rows)) / 2
        return per_parameter, log(Fraction(n)) if name == "ebic" else Decimal(0)


def bdeu(codes, ess):
    """Return BDeu; ``codes[row, column]``, arities by the levels that occur."""
    codes = np.asarray(codes)
    arity = [len(np.unique(column)) for column in codes.T]

    @remembered
    def joint(columns):
        prior = Fraction(ess) / math.prod(arity[j] for j in columns)
        counts = Counter(map(tuple, codes[:, columns].tolist()))
        return sum((log(math.prod((prior + k for k in range(c)), start=Fraction(1))) for c in counts.values()),
                   Decimal(0))  # fmt: skip

    return Locals(codes.shape[1], lambda i, parents: joint([*parents, i]) - joint(parents))


def multinomial(codes, penalty):
    """Return the penalised multinomial likelihood; ``codes[row, column]``, arities by the levels that occur."""
    codes = np.asarray(codes)
    arity = [len(np.unique(column)) for column in codes.T]

    @remembered
    def joint(columns):
        counts = Counter(map(tuple, codes[:, columns].tolist()))
        return sum((c * log(Fraction(c)) for c in counts.values()), Decimal(0))

    def local(i, parents):
        parameters = (arity[i] - 1) * math.prod(arity[j] for j in parents)
        return joint([*parents, i]) - joint(parents) - decimal(penalty) * parameters

    return Locals(codes.shape[1], local)


def log_gamma_of_half(k):
    """Return log Γ(k / 2) of a whole number k > 0."""
    start = (LOG_TWO_PI - log(Fraction(2))) / 2 if k % 2 else Decimal(0)  # of Γ(1/2) or of Γ(1)
    return start + log(math.prod((Fraction(j, 2) for j in range(2 - k % 2, k, 2)), start=Fraction(1)))


def bge(values, weight):
    """Return BGe of standardised columns, with the prior mean their own and n + 2 degrees."""
    values = np.asarray(values, dtype=np.float64)
    rows, n = values.shape
    matrix, _ = covariances(list(values.T))
    weight = Fraction(weight)
    prior = weight / (weight + 1)

    @remembered
    def joint(columns):
        size = len(columns)
        if not size:
            return Decimal(0)
        # R of standard columns, times the variances: whole numbers but for the prior on the diagonal
        scaled = [[rows * Fraction(matrix[a][b]) + (prior * matrix[a][a] if a == b else 0) for b in columns]
                  for a in columns]  # fmt: skip
        common = math.lcm(*(x.denominator for row in scaled for x in row))
        found = Fraction(determinant([[int(x * common) for x in row] for row in scaled]), common**size)
        found /= math.prod(matrix[a][a] for a in columns)
        gammas = sum(log_gamma_of_half(rows + 2 + size - k) - log_gamma_of_half(2 + size - k) for k in range(size))
        log_pi = LOG_TWO_PI - log(Fraction(2))
        return (
            -Decimal(size * rows) / 2 * log_pi
            + Decimal(size) / 2 * log(weight / (rows + weight))
            + gammas
            + Decimal((2 + size) * size) / 2 * log(prior)
            - Decimal(rows + 2 + size) / 2 * log(found)
        )

    return Locals(n, lambda i, parents: joint([*parents, i]) - joint(parents))


def basis(values, penalty, degree):
    """Return the score of orthonormal polynomials: that of the powers, less what each column has alone."""
    values = np.asarray(values, dtype=np.float64)
    rows, n = values.shape
    near = [[Fraction(x) - Fraction(values[0, j]) for x in values[:, j].tolist()] for j in range(n)]
    powers = [[x**k for x in column] for column in near for k in range(1, degree + 1)]
    common = math.lcm(*(x.denominator for column in powers for x in column))
    whole = [[int(x * common) for x in column] for column in powers]
    sums = [sum(column) for column in whole]
    size = range(n * degree)
    matrix = [[rows * sum(map(int.__mul__, whole[a], whole[b])) - sums[a] * sums[b] for b in size] for a in size]

    @remembered
    def log_det(columns):
        inside = [j * degree + k for j in columns for k in range(degree)]
        return log(Fraction(determinant([[matrix[a][b] for b in inside] for a in inside])))

    def local(i, parents):
        fit = degree * (1 + LOG_TWO_PI) + log_det([*parents, i]) - log_det(parents) - log_det([i])
        return -Decimal(rows) / 2 * fit - decimal(penalty) * degree * degree * len(parents)

    return Locals(n, local)


def gaussian(values, penalty, convention="paper"):
    """Return the penalised Gaussian likelihood."""
    values = np.asarray(values, dtype=np.float64)
    rows, n = values.shape
    matrix, factor = covariances(list(values.T))

    @remembered
    def log_det(columns):
        found = determinant([[matrix[a][b] for b in columns] for a in columns])
        return log(Fraction(found) / factor ** len(columns))

    def local(i, parents):
        size, left = len(parents), log_det([*parents, i]) - log_det(parents)
        if convention == "paper":
            return -Decimal(rows) / 2 * (1 + LOG_TWO_PI + left) - decimal(penalty) * size
        free = rows - size - 1
        spread = left + log(Fraction(rows, free))
        return -Decimal(rows) / 2 * (LOG_TWO_PI + spread) - Decimal(free) / 2 - decimal(penalty) * (size + 2)

    return Locals(n, local)


def mixed(columns, penalty, noise=1e-8):
    """Return the degenerate Gaussian score of columns; those of whole numbers are levels."""
    embedded, groups = [], []
    for column in columns:
        levels = np.unique(column)[1:] if np.asarray(column).dtype.kind in "iu" else [None]
        groups.append(list(range(len(embedded), len(embedded) + len(levels))))
        embedded += [column if level is None else np.where(column == level, 1.0, 0.0) for level in levels]
    matrix, factor = covariances(embedded)
    rows, discrete = len(embedded[0]), [np.asarray(column).dtype.kind in "iu" for column in columns]
    more = 1 + Fraction(noise)
    own = {(a, b) for group, levels in zip(groups, discrete, strict=True) if levels for a in group for b in group}

    @remembered
    def log_det(chosen):
        inside = [k for j in chosen for k in groups[j]]
        scaled = [
            [matrix[a][b] * (more.numerator if (a, b) in own else more.denominator) for b in inside] for a in inside
        ]
        return log(Fraction(determinant(scaled)) / (factor * more.denominator) ** len(inside))

    def local(i, parents):
        own_size, others = len(groups[i]), sum(len(groups[j]) for j in parents)
        fit = own_size * (1 + LOG_TWO_PI) + log_det([*parents, i]) - log_det(parents)
        return -Decimal(rows) / 2 * fit - decimal(penalty) * own_size * others

    return Locals(len(columns), local)


def conditional_gaussian(columns, penalty, spare=5):
    """Return the conditional Gaussian score; minus infinity where a cell has too few rows or dependent columns."""
    discrete = [np.asarray(column).dtype.kind in "iu" for column in columns]
    arity = [len(np.unique(column)) if levels else 1 for column, levels in zip(columns, discrete, strict=True)]
    rows = len(columns[0])

    @remembered
    def joint(chosen):
        numbers = [j for j in chosen if not discrete[j]]
        cells = {}
        for r in range(rows):
            cells.setdefault(tuple(int(columns[j][r]) for j in chosen if discrete[j]), []).append(r)
        size, total = len(numbers), Decimal(0)
        for own in cells.values():
            count = len(own)
            total += count * log(Fraction(count, rows))
            if size:
                if count < size + spare:
                    return Decimal("-Infinity")
                matrix, factor = covariances([np.asarray(columns[j])[own] for j in numbers])
                found = determinant(matrix)
                if not found:
                    return Decimal("-Infinity")
                total -= Decimal(count) / 2 * (size * (1 + LOG_TWO_PI) + log(Fraction(found) / factor**size))
        parameters = math.prod(arity[j] for j in chosen) * (1 + Fraction(size * (size + 3), 2)) - 1
        return total - decimal(penalty) * decimal(parameters)

    def local(i, parents):
        together = joint([*parents, i])
        return together - joint(parents) if together.is_finite() else together

    return Locals(len(columns), local)
