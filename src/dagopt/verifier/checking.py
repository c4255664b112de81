"""Check what a proof file claims against the data."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.data.continuous import ContinuousTable, CovarianceTable
from dagopt.data.data_options import DataOptions
from dagopt.data.table import DiscreteTable, Table, as_table
from dagopt.memory import require_memory
from dagopt.options import with_options
from dagopt.verifier.best import Allowed, best_score, bytes_needed, is_acyclic
from dagopt.verifier.counts import CountLocals, Joints
from dagopt.verifier.gaussian import WIDE, GaussianLocals, Wide, gaussian_joints
from dagopt.verifier.proof_file import digest, read_proof

__all__ = ["Verdict", "verify"]

AGREES = 1e-6  # points of score by which two correct programs may differ
SHARE = 1e-8  # of the score: methods call a graph the best if no other is better by more
LOOSE = 1e-3  # points by which the bound of a best graph may be above its score, besides its own rounding
UNDECIDED = 1e-3  # points; with a larger rounding error of its own, the checker decides nothing


@dataclass(frozen=True)
class Verdict:
    """What the checker found.

    Attributes
    ----------
    accepted : bool
        Whether every claim of the file is true.
    sentence : str
        What is proven, or the first claim that is not true.
    score, best : float or None
        The score of the graph and the best score of all graphs in the scope, as the checker computed them; None if it
        did not come that far.
    rounding : float or None
        How far these can be from their values in exact arithmetic.
    """

    accepted: bool
    sentence: str
    score: float | None = None
    best: float | None = None
    rounding: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return f"{'verified' if self.accepted else 'refused'}: {self.sentence}"


@with_options(DataOptions)
def verify(proof: str | Path, data: object, **options: Any) -> Verdict:
    """Check a proof that ``Result.save_proof`` wrote against the data, with code of its own.

    The checker scores sets of columns in extended precision and finds the best DAG anew; only the reading of the table
    is shared with the rest of the library. 22 columns take seconds, each further one about doubles that; 30 continuous
    ones need 14 GB.

    Parameters
    ----------
    proof : path
        The proof file.
    data : path, frame, array or Table
        The data that were learned from.
    {options}

    Returns
    -------
    Verdict
        True if every claim of the file is true; ``sentence`` says what is proven or what is wrong.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.datasets.load("asia", n_samples=200, random_state=0)
    >>> dagopt.learn(data, "exact").save_proof("proof.json")  # doctest: +SKIP
    >>> bool(dagopt.verify("proof.json", data))  # doctest: +SKIP
    True
    """
    claimed = read_proof(proof)
    table = as_table(data, **options)
    wrong = _other_data(claimed, table) or _not_allowed(claimed)
    if wrong:
        return Verdict(False, wrong)
    parents = _parents(claimed["names"], claimed["edges"])
    needed = bytes_needed(len(parents)) + isinstance(table, ContinuousTable) * (8 << len(parents))
    require_memory(needed, f"checking a proof about {len(parents)} columns")
    try:
        scores, rounding = _scores(claimed, table)
    except ArithmeticError as error:
        return Verdict(False, f"{error}, and nothing can be proven")
    own = sum(scores.own(i, one) for i, one in enumerate(parents))
    rounding += 16 * len(parents) * float(np.finfo(float).eps) * abs(own)
    wrong = _false_claim(claimed, own, own, rounding)  # the best is at least this one, which is known at once
    if wrong:
        return Verdict(False, wrong, score=own, rounding=rounding)
    best = best_score(scores, len(parents), threads=os.cpu_count() or 1)
    found = {"score": own, "best": best, "rounding": rounding}
    wrong = _false_claim(claimed, own, best, rounding)
    if wrong:
        return Verdict(False, wrong, **found)
    return Verdict(True, _proven(claimed), **found)


def _other_data(claimed: dict[str, Any], table: Table) -> str:
    """Return why the table is not the one that the proof is about; nothing if it is."""
    if list(table.names) != claimed["names"]:
        return f"the proof is about the columns {claimed['names']} but the data have {list(table.names)}"
    wanted = ContinuousTable if claimed["scoring"]["kind"].startswith("gaussian") else DiscreteTable
    if not isinstance(table, wanted) or isinstance(table, CovarianceTable) or not table.is_complete:
        return f"the proof is about complete rows of {wanted.kind} columns, which these data are not"
    if table.n_samples != claimed["n_samples"]:
        return f"the proof is about {claimed['n_samples']} rows but the data have {table.n_samples}"
    if digest(table) != claimed["sha256"]:
        return "the data are not those of the proof: their SHA-256 differs"
    return ""


def _not_allowed(claimed: dict[str, Any]) -> str:
    """Return why the graph is not a DAG within the scope; nothing if it is."""
    names = claimed["names"]
    parents = _parents(names, claimed["edges"])
    if not is_acyclic(parents):
        return "the graph has a cycle"
    for name, rule, own in zip(names, _allowed(claimed), parents, strict=True):
        if not rule.holds(own):
            return f"the parents of {name!r} break the constraints of the proof"
    return ""


def _parents(names: list[str], edges: list[tuple[str, str]]) -> list[int]:
    """Return the parents of each column, as bits."""
    found = [0] * len(names)
    for a, b in edges:
        found[names.index(b)] |= 1 << names.index(a)
    return found


def _allowed(claimed: dict[str, Any]) -> list[Allowed]:
    names = claimed["names"]
    everything = (1 << len(names)) - 1
    must, never = (_parents(names, claimed[key]) for key in ("required", "forbidden"))
    limits = claimed["max_parents"]
    return [Allowed(must[i], everything & ~never[i] & ~(1 << i), limits[i]) for i in range(len(names))]


def _scores(claimed: dict[str, Any], table: Table) -> tuple[GaussianLocals | CountLocals, float]:
    """Return the local scores, and the rounding in the score of a DAG."""
    scoring, n_rows, allowed = claimed["scoring"], WIDE(claimed["n_samples"]), _allowed(claimed)
    cost, edge = WIDE(scoring["parameter_cost"]), WIDE(scoring["edge_cost"])
    if isinstance(table, ContinuousTable):
        size = np.arange(len(allowed)).astype(WIDE)
        penalty = cost * size
        if scoring["kind"] == "gaussian-bnlearn":  # k + 2 parameters, and the variance divided by N - k - 1
            free = n_rows - size - 1
            shift = n_rows * np.log(n_rows / np.maximum(free, 1)) - (n_rows - free)
            penalty = np.where(free > 0, cost * (size + 2) + shift / 2, np.inf)
        joints, rounding = gaussian_joints(table.values)
        return GaussianLocals(joints, penalty.astype(np.float64), allowed), rounding
    assert isinstance(table, DiscreteTable)
    arity, is_bdeu = [len(own) for own in table.levels], scoring["kind"] == "bdeu"

    def price(i: int, sets: NDArray[np.int64], more: int) -> Wide:
        if is_bdeu:
            return np.zeros(len(sets), dtype=WIDE)
        cells = np.full(len(sets), min(arity) ** more, dtype=WIDE)
        for j, levels in enumerate(arity):
            cells = np.where(sets >> j & 1 == 1, cells * levels, cells)
        return np.asarray(cost * (arity[i] - 1) * cells + edge * (np.bitwise_count(sets) + more), dtype=WIDE)

    counted = Joints(table.codes, table.weights, arity, scoring["equivalent_sample_size"] if is_bdeu else 0.0)
    return CountLocals(counted, price, arity if is_bdeu else None, allowed), counted.rounding


def _false_claim(claimed: dict[str, Any], own: float, best: float, rounding: float) -> str:
    """Return the first claim about scores that is not true; nothing if all are."""
    score, bound = claimed["score"], claimed["bound"]
    if not rounding <= UNDECIDED:
        return f"the columns nearly determine each other, and rounding of {rounding:.2g} points decides nothing"
    if not abs(own - score) <= AGREES + rounding:
        return f"the graph scores {own:.6f}, not {score:.6f}"
    if not best <= bound + rounding:
        return f"a graph scores {best:.6f}, more than the bound {bound:.6f}"
    if claimed["optimal"] and not best - own <= AGREES + SHARE * abs(score) + 2 * rounding:
        return f"the graph is not the best: it scores {own:.6f} and another {best:.6f}"
    if claimed["optimal"] and not bound - score <= LOOSE + SHARE * abs(score) + 2 * claimed["rounding"]:
        return f"the bound {bound:.6f} is above the score {score:.6f}, so it does not prove the graph the best"
    return ""


def _proven(claimed: dict[str, Any]) -> str:
    n = len(claimed["names"])
    limit = min(max(claimed["max_parents"]), n - 1)
    known = [f"at most {limit} parents"] if min(claimed["max_parents"]) < n - 1 else []
    for key in ("required", "forbidden"):
        number = len(claimed[key])
        known += [f"{number} {key} edge{'s' if number > 1 else ''}"] if number else []
    scope = f"DAGs over the {n} columns" + (f" with {', '.join(known)}" if known else "")
    beaten = "no other" if claimed["optimal"] else "none"
    more = "" if claimed["optimal"] else f" than {claimed['bound']:.6f}"
    return f"the graph has the score {claimed['score']:.6f}, and {beaten} of all {scope} scores more{more}"
