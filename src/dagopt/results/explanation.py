"""Why an edge is in the graph or not, in plain words: what the score loses otherwise, and whether that is proven."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

from dagopt.by_name import by_name

__all__ = ["Alternative", "Explanation", "arrow", "points_text"]

SMALLEST_PLAIN = 1e-6  # points: scores of tables differ by less only through rounding, own scores may be of any size


@dataclass(frozen=True)
class Alternative:
    """The best DAG in which two columns have some relation, compared with the learned DAG.

    Attributes
    ----------
    relation : str
        ``"a -> b"``, ``"b -> a"`` or ``"neither"``.
    score : float or None
        The best score found; None if there is none.
    regret : float or None
        The learned score minus this one: what is lost. Negative if the learned DAG is not the best.
    proven : bool
        Whether the regret is exact; if not, it is an upper bound, because a search may miss better DAGs.
    note : str
        Why there is no score, such as a required edge.
    least : float or None
        A proven lower bound on the regret; None if none is known.
    """

    relation: str
    score: float | None
    regret: float | None
    proven: bool
    note: str = ""
    least: float | None = None

    def __str__(self) -> str:
        if self.regret is None:
            return self.note
        how = "proven" if self.proven else "found by search"
        if self.regret == 0:
            return f"the same score ({how})"
        if self.regret < 0:
            return f"{points_text(-self.regret)} higher ({how}): the learned DAG is not the best"
        if not self.proven and self.least is not None and self.least > 0:
            return f"between {points_text(self.least)} and {points_text(self.regret)} lower (proven)"
        return f"{'' if self.proven else 'at most '}{points_text(self.regret)} lower ({how})"


@dataclass(frozen=True)
class Explanation:
    """What the learned DAG says about two columns, and the cost of the alternatives.

    Attributes
    ----------
    a, b : str
        The columns.
    edge : tuple of str or None
        The edge (from, to) of the learned DAG, None if it does not join them.
    score, score_label
        The score of the learned DAG, and what it is.
    proof : str
        What is proven about the learned DAG.
    compelled : bool or None
        Whether the edge has this direction in every equivalent DAG; None without an edge.
    fixed : bool or None
        The same among the DAGs that the constraints allow.
    local_loss : float or None
        The score lost when only the edge is dropped; without an edge, when the better of the two edges that the DAG and
        the constraints allow is added; None if neither is allowed.
    forward, backward, neither : Alternative
        The best DAGs with a → b, with b → a, and with no edge between the two.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> result = dagopt.learn(data)
    >>> why = result.explain("X0", "X2")
    >>> why.edge, why.neither.proven
    (('X2', 'X0'), True)
    >>> print(why.summary().splitlines()[-1])
    So: every DAG without an edge between them scores at least 134.2560 less.
    """

    a: str
    b: str
    edge: tuple[str, str] | None
    score: float
    score_label: str
    proof: str
    compelled: bool | None
    fixed: bool | None
    local_loss: float | None
    forward: Alternative
    backward: Alternative
    neither: Alternative

    @property
    def reversed(self) -> Alternative | None:
        """The best DAG with the learned edge reversed; None without an edge.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> why = result.explain("X0", "X2")
        >>> why.reversed.relation
        'X0 -> X2'
        """
        if self.edge is None:
            return None
        return self.backward if self.edge == (self.a, self.b) else self.forward

    @property
    def without(self) -> Alternative | None:
        """The best DAG without the learned edge: with the reversed edge or with neither; None without an edge.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> why = result.explain("X0", "X2")
        >>> why.without.regret <= why.neither.regret
        True
        """
        reverse = self.reversed
        if reverse is None:
            return None
        both = (reverse, self.neither)
        best = min(both, key=lambda one: inf if one.regret is None else one.regret)
        known = [one.least for one in both if not (one.regret is None and one.proven)]  # without impossible ones
        least = None if None in known else min((one for one in known if one is not None), default=None)
        return replace(best, proven=reverse.proven and self.neither.proven, least=least)

    def summary(self) -> str:
        """Return the explanation in plain words.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> why = result.explain("X0", "X2")
        >>> print(why.summary().splitlines()[0])
        X2 -> X0 is in the learned DAG  (score -1675.2184, proven optimal over all DAGs)
        """
        lines = [f"{self._what()}  (score {points_text(self.score)}, {self.proof})"]
        if self.edge is not None:
            lines.append(f"direction   {self._direction()}")
        lines.append(f"alone       {self._alone()}")
        if self.edge is None:
            shown = [self.forward, self.backward]
        else:
            assert self.reversed is not None
            shown = [self.reversed, self.neither]
        for one in shown:
            what = "without an edge between them" if one is self.neither else f"with {one.relation}"
            lines.append(f"best DAG {what}: {one}")
        lines += [f"So: {sentence}" for sentence in self._verdict()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> result = dagopt.learn(data)
        >>> why = result.explain("X0", "X2")
        >>> why.to_dict()["edge"]
        ['X2', 'X0']
        """
        alternatives = {"forward": self.forward, "backward": self.backward, "neither": self.neither}
        return {
            "a": self.a,
            "b": self.b,
            "edge": None if self.edge is None else list(self.edge),
            "score": self.score,
            "score_label": self.score_label,
            "proof": self.proof,
            "compelled": self.compelled,
            "fixed": self.fixed,
            "local_loss": self.local_loss,
            **{name: dict(vars(one)) for name, one in alternatives.items()},
            "summary": self.summary(),
        }

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return str(by_name("report.notebook", "explanation_html")(self))

    def _what(self) -> str:
        if self.edge is None:
            return f"{self.a} and {self.b} are not joined in the learned DAG"
        return f"{arrow(*self.edge)} is in the learned DAG"

    def _direction(self) -> str:
        assert self.edge is not None
        if self.compelled:
            return "the same in every equivalent DAG"
        if self.fixed:
            return "fixed by the constraints; the data alone leave it open"
        return f"open: equivalent DAGs have {arrow(*self.edge[::-1])}"

    def _alone(self) -> str:
        what = "this edge dropped" if self.edge is not None else "an edge added"
        if self.local_loss is None:
            return f"{what}, all else equal: not allowed"
        change = "lost" if self.local_loss >= 0 else "gained"
        return f"{what}, all else equal: {points_text(abs(self.local_loss))} {change}"

    def _verdict(self) -> list[str]:
        """Return the conclusions, one sentence each."""
        said = []
        if self.edge is not None and self.neither.regret is not None and self.neither.regret > 0:
            if self.neither.least is not None and self.neither.least > 0:
                said.append(
                    f"every DAG without an edge between them scores at least {points_text(self.neither.least)} less."
                )
            else:
                said.append("no DAG found without an edge between them scores as well; another search might find one.")
        if any((one.regret or 0.0) < 0 for one in (self.forward, self.backward, self.neither)):
            said.append("there is a better DAG than the learned one; learn again with more search or method='exact'.")
        return said


def points_text(value: float) -> str:
    """Return points with four decimals, or with four digits if these would all be zero."""
    return f"{value:.4f}" if value == 0 or abs(value) >= SMALLEST_PLAIN else f"{value:.4g}"


def arrow(tail: str, head: str) -> str:
    """Return an edge as text."""
    return f"{tail} -> {head}"
