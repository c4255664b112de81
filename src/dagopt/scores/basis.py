"""The basis function score: continuous columns by orthogonal polynomials, so that smooth relations are found."""

from __future__ import annotations

from dagopt.data.columns import Column
from dagopt.data.continuous import ContinuousTable, CovarianceTable
from dagopt.data.mixed import MixedTable, basis_embedding, basis_parts
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError
from dagopt.scores.degenerate_gaussian import DegenerateGaussianScore

__all__ = ["BasisScore"]


class BasisScore(DegenerateGaussianScore):
    r"""The degenerate Gaussian score of columns that are embedded in polynomials.

    A continuous column is embedded as its orthogonal polynomials up to a degree, a discrete one as the indicators of
    its levels. The score is that of ``DegenerateGaussianScore``, with :math:`m_j` polynomials of column j, so that an
    edge between two continuous columns has the square of the degree as parameters. With degree 1 it is the Gaussian
    score.

    Parameters
    ----------
    table : ContinuousTable or MixedTable
        The data, complete.
    penalty : float
        Λ ≥ 0, the cost of one parameter: log(N) / 2 is BIC.
    degree : int
        The highest degree of the polynomials.
    deadline : Deadline
        Looked at while the polynomials and their correlations are computed.

    References
    ----------
    Ramsey, Andrews, Spirtes (2025). Scalable causal discovery from nonlinear data via basis functions (BF-BIC).
    arXiv 2510.04276.
    """

    def __init__(
        self, table: ContinuousTable | MixedTable, penalty: float, degree: int, deadline: Deadline = FOREVER
    ) -> None:
        if isinstance(table, CovarianceTable):
            raise InputError("score 'basis' needs rows but the data is a covariance matrix; use score='bic'")
        if not table.is_complete:
            raise InputError(
                "score 'basis' needs complete rows but cells are missing; use score='bic', or missing='drop'"
            )
        self.degree = degree
        self._source = table
        columns, weights = _columns(table), table.about.scaled
        parts = basis_parts(columns, degree, weights, deadline)
        width = sum(part.values.shape[1] for part in parts)
        if table.n_samples <= width + 1:
            raise InputError(
                f"score 'basis' of degree {degree} makes {width} columns of {len(table.names)} but there are "
                f"{table.n_samples} rows; lower degree=, leave columns out with exclude=, or give more rows"
            )
        self.embedding = basis_embedding(columns, parts, weights, deadline)
        self._embed(table, self.embedding, penalty, 0.0)
        self.label = f"{self.label}, polynomials of degree {degree}"

    def unpenalised(self) -> DegenerateGaussianScore:
        """Return the likelihood alone, of the same embedding."""
        return _Unpenalised(self)


class _Unpenalised(DegenerateGaussianScore):
    """The likelihood of a basis score."""

    def __init__(self, score: BasisScore) -> None:
        self._embed(score._source, score.embedding, 0.0, 0.0)


def _columns(table: ContinuousTable | MixedTable) -> tuple[Column, ...]:
    if isinstance(table, MixedTable):
        return table.columns
    return tuple(Column(name, "continuous", table.values[:, j]) for j, name in enumerate(table.names))
