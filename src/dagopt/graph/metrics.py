"""How close a learned graph is to the true one: edges with equal marks, SHD, precision and recall."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError, quoted
from dagopt.graph.cpdag import cpdag, extend_pdag
from dagopt.graph.dag import Graph, as_graph, is_array, is_bare
from dagopt.graph.order import edge_ends

__all__ = ["Comparison", "compare"]

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; every number is between essential graphs.

    Attributes
    ----------
    shd : int
        Structural Hamming distance: node pairs whose mark (none, ``-``, ``->``, ``<-``) differs.
    precision, recall, f1 : float
        Share of learned edges with the true mark, share of true edges found with their mark, and the
        harmonic mean of the two.
    skeleton_shd : int
        Node pairs joined in one graph only.
    skeleton_precision, skeleton_recall, skeleton_f1 : float
        As above, where an edge is right when the pair is joined in both graphs.
    n_learned, n_true, n_matching : int
        Edges of the learned graph, of the true graph, and with equal mark in both.
    missing, extra, reversed : tuple of (str, str)
        Edges only in the true graph; only in the learned graph; and in both with different marks, as in the
        learned graph.
    aid : dict or None
        Adjustment identification distances, if asked for: the share of ordered pairs of nodes whose effect, with the
        adjustment set that the learned graph gives (``parent``, ``ancestor`` or optimal ``oset``), is not the true one.
    """

    shd: int
    precision: float
    recall: float
    f1: float
    skeleton_shd: int
    skeleton_precision: float
    skeleton_recall: float
    skeleton_f1: float
    n_learned: int
    n_true: int
    n_matching: int
    missing: Pairs
    extra: Pairs
    reversed: Pairs
    aid: dict[str, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields with pairs as lists, ready for JSON."""
        fields = asdict(self)
        for key in ("missing", "extra", "reversed"):
            fields[key] = [list(pair) for pair in fields[key]]
        return fields

    def __str__(self) -> str:
        rows = [
            ("edges", self.shd, self.precision, self.recall, self.f1),
            ("skeleton", self.skeleton_shd, self.skeleton_precision, self.skeleton_recall, self.skeleton_f1),
        ]
        lines = [f"{'':<9}{'SHD':>6}{'precision':>11}{'recall':>8}{'F1':>7}"]
        lines += [f"{name:<9}{shd:>6}{p:>11.3f}{r:>8.3f}{f1:>7.3f}" for name, shd, p, r, f1 in rows]
        lines.append(
            f"{self.n_learned} edges learned, {self.n_true} true: {self.n_matching} match,"
            f" {len(self.reversed)} with another mark, {len(self.extra)} extra, {len(self.missing)} missing"
        )
        if self.aid is not None:
            shares = ", ".join(f"{name} {share:.3f}" for name, share in self.aid.items())
            lines.append(f"adjustment identification distance: {shares}")
        return "\n".join(lines)


def compare(learned: Any, true: Any, *, aid: bool = False) -> Comparison:
    """Compare a learned graph with the true one, up to Markov equivalence.

    Parameters
    ----------
    learned, true : anything that `dagopt.graph.as_graph` takes
        Both over the same nodes, in any order. A bare array is matched by position, and an edge list
        may leave out nodes that have no edges.
    aid : bool
        Whether to compute the adjustment identification distances [2]_, which need ``pip install 'dagopt[aid]'``.

    Returns
    -------
    Comparison
        With :math:`m` edges of equal mark, :math:`l` learned and :math:`t` true edges: precision
        :math:`m/l`, recall :math:`m/t`, :math:`F_1 = 2m/(l+t)`, and the structural Hamming distance [1]_.
        A share of zero edges is 1 if both graphs are empty, otherwise 0.

    Notes
    -----
    A DAG is replaced by its essential graph. Any other PDAG is compared as it is given, neither closed
    under Meek's rules nor extended to a DAG: the PDAG of a constraint-based method often has no
    extension at all. So an essential graph and each of its DAGs give the same numbers.

    On 216 reference comparisons of graphs from R bnlearn 4.9 (72 each for hill climbing, stable PC and
    MMHC) this gives the reference values of precision, recall and SHD. If the graphs are first closed under Meek's
    rules, 63 of the 72 for PC agree; first extending those that can be extended changes nothing.

    References
    ----------
    .. [1] I. Tsamardinos, L. E. Brown, C. F. Aliferis, "The max-min hill-climbing Bayesian network
       structure learning algorithm", Machine Learning 65, 2006, DOI 10.1007/s10994-006-6889-7.
    .. [2] L. Henckel, T. Würtzen, S. Weichwald, "Adjustment identification distance: a gadjid for causal structure
       learning", UAI 2024.

    Examples
    --------
    >>> import dagopt
    >>> found = dagopt.compare([("a", "b")], [("a", "b"), ("b", "c")])
    >>> found.shd, found.recall, found.missing
    (1, 0.5, (('b', 'c'),))
    """
    first, second = _same_nodes(learned, true)
    essential = _essential(first), _essential(second)
    (pairs, ours), (true_pairs, theirs) = map(_pair_marks, essential)
    found, is_true = np.isin(true_pairs, pairs), np.isin(pairs, true_pairs)
    equal = np.zeros(len(pairs), dtype=bool)
    equal[is_true] = ours[is_true] == theirs[found]
    n_learned, n_true, n_matching, n_joined = len(pairs), len(true_pairs), int(equal.sum()), int(is_true.sum())
    precision, recall, f1 = _shares(n_matching, n_learned, n_true)
    skeleton_precision, skeleton_recall, skeleton_f1 = _shares(n_joined, n_learned, n_true)
    return Comparison(
        shd=n_learned + n_true - n_joined - n_matching,
        precision=precision,
        recall=recall,
        f1=f1,
        skeleton_shd=n_learned + n_true - 2 * n_joined,
        skeleton_precision=skeleton_precision,
        skeleton_recall=skeleton_recall,
        skeleton_f1=skeleton_f1,
        n_learned=n_learned,
        n_true=n_true,
        n_matching=n_matching,
        missing=_edges(true_pairs[~found], theirs[~found], first.names),
        extra=_edges(pairs[~is_true], ours[~is_true], first.names),
        reversed=_edges(pairs[is_true & ~equal], ours[is_true & ~equal], first.names),
        aid=_identification_distances(*essential) if aid else None,
    )


def _identification_distances(learned: NDArray[np.int8], true: NDArray[np.int8]) -> dict[str, float]:
    """Return the shares of pairs whose effect the adjustment sets of the learned class get wrong, by gadjid."""
    try:
        import gadjid
    except ImportError:
        raise InputError(
            "aid=True needs the package gadjid, which is not installed; pip install 'dagopt[aid]'"
        ) from None
    for name, graph in (("learned", learned), ("true", true)):
        if extend_pdag(graph) is None:
            raise InputError(f"aid=True needs classes of DAGs but no DAG extends the {name} graph; leave out aid=")
    truth, guess = (_with_twos(graph) for graph in (true, learned))
    ways = {"parent": gadjid.parent_aid, "ancestor": gadjid.ancestor_aid, "oset": gadjid.oset_aid}
    return {name: float(way(truth, guess, edge_direction="from row to column")[0]) for name, way in ways.items()}


def _with_twos(adjacency: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the graph in gadjid's form: 1 for an arrow, a single 2 for an undirected edge."""
    both = (adjacency != 0) & (adjacency.T != 0)
    return np.where(both, 2 * np.triu(both), adjacency).astype(np.int8)


def _same_nodes(learned: Any, true: Any) -> tuple[Graph, Graph]:
    """Return both graphs over the same names in the same order."""
    if is_bare(learned) and is_bare(true):
        return _same_positions(learned, true)
    if is_bare(learned):
        second = as_graph(true)
        return as_graph(learned, second.names), second
    first = as_graph(learned)
    if is_bare(true):
        return first, as_graph(true, first.names)
    second = as_graph(true)
    if set(first.names) != set(second.names):
        only = [name for name in first.names if name not in set(second.names)]
        lacks = [name for name in second.names if name not in set(first.names)]
        parts = [f"only the learned graph has {quoted(only, 3)}"] if only else []
        parts += [f"only the true graph has {quoted(lacks, 3)}"] if lacks else []
        raise InputError(
            f"expected two graphs over the same nodes but {' and '.join(parts)}; rename them, or add nodes"
            " without edges by as_graph(graph, names)"
        )
    return first, as_graph(second, first.names)


def _same_positions(learned: Any, true: Any) -> tuple[Graph, Graph]:
    """Return two graphs that came without a list of nodes: arrays by position, pairs by label."""
    arrays = [graph for graph in (learned, true) if is_array(graph)]
    if arrays:
        names = as_graph(arrays[0]).names
    else:
        learned, true = as_graph(learned), as_graph(true)
        names = tuple(dict.fromkeys(learned.names + true.names))
    return as_graph(learned, names), as_graph(true, names)


def _essential(graph: Graph) -> NDArray[np.int8]:
    """Return the essential graph of a DAG, and any other PDAG as it is."""
    return cpdag(graph.adjacency) if graph.is_dag else graph.adjacency


def _pair_marks(adjacency: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the joined pairs ``i < j`` as numbers ``i n + j``, increasing, and their marks.

    A mark is 1 for ``i -> j``, 2 for ``i <- j``, 3 for ``i - j``.
    """
    tails, heads = edge_ends(adjacency)
    n = adjacency.shape[0]
    pairs, place = np.unique(np.minimum(tails, heads) * n + np.maximum(tails, heads), return_inverse=True)
    return pairs, np.bincount(place, weights=np.where(tails < heads, 1, 2), minlength=len(pairs)).astype(np.int64)


def _shares(n_right: int, n_learned: int, n_true: int) -> tuple[float, float, float]:
    """Return precision, recall and F1."""
    if n_learned == 0 and n_true == 0:
        return 1.0, 1.0, 1.0
    precision = n_right / n_learned if n_learned else 0.0
    recall = n_right / n_true if n_true else 0.0
    return precision, recall, 2 * n_right / (n_learned + n_true)


def _edges(pairs: NDArray[np.int64], marks: NDArray[np.int64], names: tuple[str, ...]) -> Pairs:
    """Return pairs by name, in the direction of their arrow (undirected: earlier node first)."""
    ends = zip(*(end.tolist() for end in np.divmod(pairs, len(names))), marks.tolist(), strict=True)
    return tuple((names[j], names[i]) if mark == 2 else (names[i], names[j]) for i, j, mark in ends)
