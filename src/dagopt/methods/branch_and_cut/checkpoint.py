"""What branch and cut saves: the stage that a run is in, the state of that stage, and what was proven before.

The stages are the search from the end of the order, the bounds that take turns, and the tree. Each has a state from
which it goes on in the same way as if it had not been stopped, except for how the bounds share the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dagopt.arrays import Bools, Dag, Ints
from dagopt.errors import InputError
from dagopt.families.families import Families
from dagopt.graph.order import is_acyclic
from dagopt.lp.priced_root import Effort, PricedState
from dagopt.lp.relaxation import Start
from dagopt.lp.rows.blocks import Blocks
from dagopt.lp.rows.row import DualPoint, Row
from dagopt.methods.branch_and_cut.lane import Best, Cutting, Node
from dagopt.methods.branch_and_cut.pair_bound import PairState
from dagopt.methods.branch_and_cut.precedence import Part
from dagopt.methods.branch_and_cut.saved_rows import RowTable, rows_shape
from dagopt.methods.branch_and_cut.suffix_search import SuffixState
from dagopt.methods.branch_and_cut.tree import TreeState
from dagopt.methods.checkpoint_file import AGAIN, array, packed, read_checkpoint
from dagopt.problem import Problem
from dagopt.results.certificate import Source
from dagopt.schema import Misfit, Shape, check, items, mapping, maybe, number, plain, record, row, text, truth, whole

__all__ = ["Bounds", "Saved", "load_saved", "packed_tree", "saved_content", "unpacked_tree"]

VERSION = 2  # of the file
WORD = 64  # bits


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds that take turns: pricing, pairs, and whether there is a listing that may go on."""

    pricing: PricedState | None
    pairs: PairState | None
    is_listed: bool


@dataclass(frozen=True, eq=False)
class Saved:
    """A run that was saved.

    Attributes
    ----------
    dag : int8 array
        The DAG that the stage started from.
    met : list of (node, parents)
        The families that the order search met.
    may : bool array
        Which nodes can be parents of which, as far as the listing knows.
    note : str
        What is said about the listing.
    proofs : dict of source to float
        The bounds that earlier stages proved, by their source.
    trace : list of (seconds, phase, score, bound)
        The trace.
    tree, suffixes, bounds
        The state of the stage; the others are None.
    is_core : bool
        Whether the tree leaves out the parents that lie in no cycle; its families are saved with them.
    n_states : int or None
        How many sets a search from the end of the order that is over has visited.
    """

    dag: Dag
    met: list[tuple[int, tuple[int, ...]]]
    may: Bools
    note: str = ""
    proofs: dict[Source, float] = field(default_factory=dict)
    trace: list[tuple[float, str, float, float | None]] = field(default_factory=list)
    tree: tuple[Families, TreeState] | None = None
    suffixes: SuffixState | None = None
    bounds: Bounds | None = None
    is_core: bool = False
    n_states: int | None = None


def saved_content(saved: Saved, identity: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """Return a run as plain values."""
    table = RowTable(_matrix(problem))
    node, words = _bare(saved.met, problem.n_nodes)
    content: dict[str, Any] = {
        "dagopt_checkpoint": VERSION,
        "problem": identity,
        "dag": packed(saved.dag != 0),
        "met": {"node": packed(node), "members": packed(words)},
        "may": packed(saved.may),
        "note": saved.note,
        "proofs": saved.proofs,
        "trace": [list(one) for one in saved.trace],
        "tree": None if saved.tree is None else _tree(*saved.tree, table),
        "suffixes": None if saved.suffixes is None else _suffixes(saved.suffixes),
        "bounds": None if saved.bounds is None else _bounds(saved.bounds, table),
        "is_core": saved.is_core,
        "n_states": saved.n_states,
    }
    return content | {"table": table.content()}


def load_saved(path: str | Path, identity: dict[str, Any], problem: Problem) -> Saved:
    """Read a run of the same problem, or raise an error that says what differs."""
    content = read_checkpoint(path, identity)

    def checked(shape: Shape, value: Any, name: str) -> Any:
        return check(lambda one, where: shape(one, name), value, str(path), AGAIN)

    n = problem.n_nodes
    found = checked(_shape(n), content, "")
    dag = _dag(found["dag"], path)
    met = [
        (int(i), tuple(np.flatnonzero(own).tolist()))
        for i, own in zip(found["met"]["node"], found["met"]["members"], strict=True)
    ]
    rows = partial(_rows, content.get("table"), problem, checked)
    tree = suffixes = bounds = None
    if found["tree"] is not None:
        tree = checked(partial(_read_saved_tree, problem, rows, found["is_core"]), found["tree"], "tree")
    elif found["suffixes"] is not None:
        suffixes = checked(partial(_read_suffixes, n), found["suffixes"], "suffixes")
    elif found["bounds"] is not None:
        bounds = checked(partial(_read_bounds, problem, rows), found["bounds"], "bounds")
    else:
        raise InputError(f"{path}: expected a tree, suffixes or bounds but got none of them; {AGAIN}")
    trace = [tuple(one) for one in found["trace"]]
    return Saved(
        dag, met, found["may"], found["note"], found["proofs"], trace, tree, suffixes, bounds, found["is_core"],
        found["n_states"],
    )  # fmt: skip


def packed_tree(state: TreeState, problem: Problem) -> dict[str, Any]:
    """Return the state of a tree as plain values, without its families, for another process."""
    table = RowTable(_matrix(problem))
    return {"tree": _tree(None, state, table), "table": table.content()}


def unpacked_tree(content: dict[str, Any], families: Families, problem: Problem) -> TreeState:
    """Return the state of a tree from another process."""
    rows = partial(_rows, content["table"], problem, lambda shape, value, name: shape(value, name))
    return _read_tree(families, rows, content["tree"], "tree")


def _shape(n: int) -> Shape:
    """Return the shape of what all stages have."""

    def families(value: Any, where: str) -> dict[str, Any]:
        found = record(node=array(np.int64, None), members=array(np.bool_, None, n))(value, where)
        node, members = found["node"], found["members"]
        if len(node) != len(members) or ((node < 0) | (node >= n)).any():
            raise Misfit(where, "a node and its parents each", len(node))
        return dict(found)

    def proofs(value: Any, where: str) -> dict[Source, float]:
        found: dict[Source, float] = mapping(number())(value, where)
        for source in found:
            text(*get_args(Source))(source, where)
        return found

    event = row(number(0.0), text(), number(), maybe(number(finite=False)))
    return record(
        dagopt_checkpoint=whole(VERSION, VERSION),
        problem=mapping(plain),
        dag=array(np.bool_, n, n),
        met=families,
        may=array(np.bool_, n, n),
        note=text(),
        proofs=proofs,
        trace=items(event),
        tree=plain,
        suffixes=plain,
        bounds=plain,
        is_core=truth,
        n_states=maybe(whole(0)),
    )


def _dag(edges: Bools, path: str | Path) -> Dag:
    if edges.diagonal().any() or not is_acyclic(edges.astype(np.int8)):
        raise InputError(f"{path}: expected a DAG but got a cycle; {AGAIN}")
    return edges.astype(np.int8)


def _bare(met: list[tuple[int, tuple[int, ...]]], n: int) -> tuple[Ints, Bools]:
    """Return families as nodes and rows of parents."""
    members = np.zeros((len(met), n), dtype=np.bool_)
    for own, (_, parents) in zip(members, met, strict=True):
        own[list(parents)] = True
    return np.array([node for node, _ in met], dtype=np.int64), members


def _matrix(problem: Problem) -> Any:
    """Return the matrix whose rows are told apart by identity: that of the likelihood."""
    form = problem.score.block_likelihood
    return None if form is None else form.matrix


def _rows(content: Any, problem: Problem, checked: Callable[[Shape, Any, str], Any], families: Families) -> list[Row]:
    """Return the rows of a file over families."""
    form = problem.score.block_likelihood
    known = _matrix(problem)
    blocks = Blocks(None if form is None else form.starts)
    rows: list[Row] = checked(rows_shape(families, blocks, known, 0 if known is None else len(known)), content, "table")
    return rows


# --- families ---


def _families(families: Families) -> dict[str, Any]:
    return {"node": packed(families.node), "words": packed(families.words), "score": packed(families.score)}


def _read_families(problem: Problem, value: Any, where: str) -> Families:
    n = problem.n_nodes
    shape = record(
        node=array(np.int64, None), words=array(np.uint64, None, -(-n // WORD)), score=array(np.float64, None)
    )
    found = shape(value, where)
    node, words, score = found["node"], found["words"], found["score"]
    offsets = np.searchsorted(node, np.arange(n + 1)).astype(np.int64)
    beyond = words[:, -1] >> np.uint64((n - 1) % WORD) > 1 if n % WORD else np.zeros(1, dtype=np.bool_)
    itself = words[np.arange(len(node)), (node >> 6) % words.shape[1]] >> (node & 63).astype(np.uint64) & np.uint64(1)
    fits = len(node) == len(words) == len(score) and bool((np.diff(node) >= 0).all()) and offsets[-1] == len(node)
    if not fits or (np.diff(offsets) == 0).any() or beyond.any() or itself.any() or not np.isfinite(score).all():
        raise Misfit(where, "families of all nodes, node by node", len(node))
    return Families(tuple(problem.names), node, words, score, offsets, np.arange(len(node)))


def _places(count: int, least: int = 0) -> Shape:
    """Return the shape of an array of places below a number."""

    def read(value: Any, where: str) -> Ints:
        found: Ints = array(np.int64, None)(value, where)
        if len(found) < least or (len(found) and not 0 <= found.min() <= found.max() < count):
            raise Misfit(where, f"whole numbers below {count}", found[:3].tolist())
        return found

    return read


# --- the tree ---


def _tree(families: Families | None, state: TreeState, table: RowTable) -> dict[str, Any]:
    best, cutting = state.best, state.cutting
    assert best.chosen is not None
    return {
        "families": None if families is None else _families(families),
        "kept": packed(state.kept),
        "inside": packed(state.inside),
        "nodes": [_node(node, table) for node in state.nodes],
        "best": packed(np.asarray(best.chosen, dtype=np.int64)),
        "counts": list(state.counts),
        "root_bound": state.root_bound,
        "cutting": None if cutting is None else [list(cutting.before), cutting.n_harder, cutting.tried_at],
    }


def _node(node: Node, table: RowTable) -> dict[str, Any]:
    start = node.start
    places = None
    if start is not None:
        parts = (start.families, start.nothing, start.slack)
        places = [table.numbers(start.rows), *(packed(np.asarray(part, dtype=np.int64)) for part in parts)]
    return {
        "minus_bound": node.minus_bound,
        "number": node.number,
        "lane": node.lane,
        "alive": packed(node.part.alive),
        "later": packed(node.part.later),
        "start": places,
    }


def _read_saved_tree(
    problem: Problem, rows_over: Callable[[Families], list[Row]], is_core: bool, value: Any, where: str
) -> tuple[Families, TreeState]:
    whole = _read_families(problem, mapping(plain)(value, where).get("families"), f"{where}.families")
    families = whole.without(problem.knowledge.safe) if is_core else whole
    return whole, _read_tree(families, rows_over, value, where)


def _read_tree(families: Families, rows_over: Callable[[Families], list[Row]], value: Any, where: str) -> TreeState:
    found = mapping(plain)(value, where)
    n = families.n_nodes
    kept = _places(len(families), 1)(found.get("kept"), f"{where}.kept")
    if (np.diff(kept) <= 0).any():
        raise Misfit(f"{where}.kept", "increasing places", len(kept))
    smaller = families.only(kept)
    if (np.diff(smaller.offsets) == 0).any():
        raise Misfit(f"{where}.kept", "families of all nodes", len(kept))
    rows = rows_over(smaller)
    numbers = _places(len(rows))
    places = row(numbers, _places(len(kept)), _places(n), _places(n + len(rows)))
    node = record(
        minus_bound=number(), number=whole(), lane=whole(0, 10_000), alive=array(np.bool_, len(kept)),
        later=array(np.uint64, n, families.words.shape[1]), start=maybe(places),
    )  # fmt: skip
    shape = record(
        inside=_places(len(kept)), nodes=items(node), best=_places(len(families)), counts=row(*[whole()] * 5),
        root_bound=number(), cutting=maybe(row(items(number()), whole(0, 100), number(finite=False))),
    )  # fmt: skip
    content = shape(found, where)
    chosen = content["best"]
    if len(chosen) != n or (families.node[chosen] != np.arange(n)).any():
        raise Misfit(f"{where}.best", "one family of each node", chosen[:3].tolist())
    dag = families.adjacency(chosen)
    if not is_acyclic(dag):
        raise Misfit(f"{where}.best", "a DAG", "a cycle")
    nodes = tuple(_read_node(one, rows) for one in content["nodes"])
    cutting = None if content["cutting"] is None else Cutting(tuple(content["cutting"][0]), *content["cutting"][1:])
    if cutting is not None and len(nodes) != 1:
        raise Misfit(f"{where}.nodes", "the root alone", len(nodes))
    best = Best(chosen, families.total(chosen), dag)
    return TreeState(
        kept, content["inside"], nodes, best, content["counts"], content["root_bound"], cutting
    )  # fmt: skip


def _read_node(one: dict[str, Any], rows: list[Row]) -> Node:
    start = None
    if one["start"] is not None:
        used, *parts = one["start"]
        start = Start(tuple(rows[k] for k in used), *parts)
    return Node(one["minus_bound"], one["number"], Part(one["alive"], one["later"]), start, one["lane"])


# --- the search from the end ---


def _suffixes(state: SuffixState) -> dict[str, Any]:
    return {
        "cost": packed(state.cost),
        "layers": [[packed(keys), packed(last)] for keys, last in state.layers],
        "pairs": packed(state.pairs),
        "kappa": packed(state.kappa),
        "least": packed(state.least),
        "bounds": [state.bound, state.root_bound],
        "seconds": state.seconds,
    }


def _read_suffixes(n: int, value: Any, where: str) -> SuffixState:
    bound = number(finite=False)
    shape = record(
        cost=array(np.float64, None), layers=items(row(array(np.uint64, None), array(np.uint8, None)), 1),
        pairs=array(np.float64, n, n), kappa=array(np.float64, None, None), least=array(np.float64, n, None),
        bounds=row(bound, bound), seconds=number(0.0),
    )  # fmt: skip
    found = shape(value, where)
    layers = tuple(found["layers"])
    for k, (keys, last) in enumerate(layers):
        sizes = np.bitwise_count(keys)
        if len(keys) != len(last) or not len(keys) or (sizes != n - 1 - k).any() or (last >= n).any():
            raise Misfit(f"{where}.layers[{k}]", f"sets of {n - 1 - k} nodes", len(keys))
    if len(found["cost"]) != len(layers[-1][0]):
        raise Misfit(f"{where}.cost", "a cost for each set", len(found["cost"]))
    bound, root_bound = found["bounds"]
    weights = (found["pairs"], found["kappa"], found["least"])
    return SuffixState(found["cost"], layers, *weights, bound, root_bound, found["seconds"])


# --- the bounds that take turns ---


def _bounds(bounds: Bounds, table: RowTable) -> dict[str, Any]:
    return {
        "pricing": None if bounds.pricing is None else _pricing(bounds.pricing, table),
        "pairs": None if bounds.pairs is None else _pairs(bounds.pairs),
        "is_listed": bounds.is_listed,
    }


def _pricing(state: PricedState, table: RowTable) -> dict[str, Any]:
    effort = state.effort
    return {
        "dag": packed(state.dag != 0),
        "pool": _families(state.pool),
        "met": packed(state.met),
        "rows": table.numbers(state.rows),
        "points": [[table.numbers(point.rows), packed(point.weights)] for point in state.points],
        "bound": state.bound,
        "most": packed(np.array(state.most)),
        "effort": [effort.steps, effort.climbs, effort.rounds, effort.all_steps],
        "numbers": [state.share, state.tried, state.price_seconds],
        "counts": list(state.counts),
    }


def _pairs(state: PairState) -> dict[str, Any]:
    return {
        "weights": packed(state.weights),
        "deficits": packed(state.deficits),
        "rows": [[packed(np.asarray(own, dtype=np.int64)), upper] for own, upper in state.rows],
        "numbers": list(state.numbers),
        "counts": list(state.counts),
        "is_new": state.is_new,
        "over": state.over,
    }


def _read_bounds(problem: Problem, rows_over: Callable[[Families], list[Row]], value: Any, where: str) -> Bounds:
    found = record(pricing=plain, pairs=plain, is_listed=truth)(value, where)
    pricing = maybe(partial(_read_pricing, problem, rows_over))(found["pricing"], f"{where}.pricing")
    pairs = maybe(partial(_read_pairs, problem.n_nodes))(found["pairs"], f"{where}.pairs")
    return Bounds(pricing, pairs, found["is_listed"])


def _read_pricing(problem: Problem, rows_over: Callable[[Families], list[Row]], value: Any, where: str) -> PricedState:
    n = problem.n_nodes
    pool = _read_families(problem, mapping(plain)(value, where).get("pool"), f"{where}.pool")
    rows = rows_over(pool)
    numbers = _places(len(rows))
    loose = number(finite=False)
    shape = record(
        dag=array(np.bool_, n, n), met=array(np.uint8, None, 4 + -(-n // 8)), rows=numbers,
        points=row(*[row(numbers, array(np.float64, None))] * 3), bound=loose, most=array(np.float64, n),
        effort=row(*[whole()] * 4), numbers=row(loose, loose, loose), counts=row(*[whole()] * 4),
    )  # fmt: skip
    found = shape(value, where)
    if not is_acyclic(found["dag"].astype(np.int8)):
        raise Misfit(f"{where}.dag", "a DAG", "a cycle")
    points = []
    for k, (used, weights) in enumerate(found["points"]):
        if len(used) != len(weights) or not (weights >= 0.0).all():
            raise Misfit(f"{where}.points[{k}]", "a multiplier >= 0 for each row", len(weights))
        points.append(DualPoint(tuple(rows[r] for r in used), weights))
    share, tried, price_seconds = found["numbers"]
    return PricedState(
        found["dag"].astype(np.int8), pool, found["met"], tuple(rows[r] for r in found["rows"]),
        (points[0], points[1], points[2]), found["bound"], tuple(found["most"].tolist()), Effort(*found["effort"]),
        share, tried, price_seconds, found["counts"],
    )  # fmt: skip


def _read_pairs(n: int, value: Any, where: str) -> PairState:
    loose = number(finite=False)
    found = record(
        weights=array(np.float64, None), deficits=array(np.float64, n), rows=plain, numbers=row(loose, loose, loose),
        counts=row(*[whole()] * 6), is_new=truth, over=truth,
    )(value, where)  # fmt: skip
    rows = items(row(_places(len(found["weights"])), number()))(found["rows"], f"{where}.rows")
    facts = (found[name] for name in ("numbers", "counts", "is_new", "over"))
    return PairState(found["weights"], found["deficits"], tuple(rows), *facts)
