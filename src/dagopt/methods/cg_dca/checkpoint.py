"""Saving a run of column generation between two passes, so that it can be continued to the same answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.families.families import Family
from dagopt.graph.order import is_acyclic
from dagopt.lp.restricted_master import RestrictedMaster
from dagopt.methods.checkpoint_file import AGAIN, read_checkpoint, write_checkpoint
from dagopt.schema import (
    Misfit,
    Shape,
    check,
    items,
    mapping,
    maybe,
    number,
    plain,
    record,
    row,
    text,
    whole,
)

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint"]

VERSION = 2  # of the file


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state after a pass.

    Attributes
    ----------
    problem : dict
        What identifies data, score and options; a run continues only its own checkpoint.
    families, clusters
        The restricted master.
    incumbent : int8 array or None
        The best DAG.
    passes : int
        Passes done.
    random_state : dict
        State of the generator of start points.
    trace : list of dict
        Rows of the trace.
    """

    problem: dict[str, Any]
    families: list[Family]
    clusters: list[frozenset[int]]
    incumbent: NDArray[np.int8] | None
    passes: int
    random_state: dict[str, Any]
    trace: list[dict[str, object]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        problem: dict[str, Any],
        master: RestrictedMaster,
        incumbent: NDArray[np.int8] | None,
        passes: int,
        rng: np.random.Generator,
        trace: list[dict[str, object]],
    ) -> Checkpoint:
        """Return the current state."""
        state = dict(rng.bit_generator.state)
        return cls(problem, list(master.families), list(master.clusters), incumbent, passes, state, list(trace))


def save_checkpoint(checkpoint: Checkpoint, path: str | Path) -> None:
    """Write a checkpoint completely or not at all."""
    dag = checkpoint.incumbent
    content = {
        "dagopt_checkpoint": VERSION,
        "problem": checkpoint.problem,
        "families": [[family.node, hex(family.mask), family.score] for family in checkpoint.families],
        "clusters": [sorted(cluster) for cluster in checkpoint.clusters],
        "incumbent": None if dag is None else [[int(i), int(j)] for i, j in np.argwhere(dag)],
        "passes": checkpoint.passes,
        "random_state": checkpoint.random_state,
        "trace": checkpoint.trace,
    }
    write_checkpoint(content, path)


def load_checkpoint(path: str | Path, problem: dict[str, Any], n_nodes: int) -> Checkpoint:
    """Read a checkpoint of the same problem, or raise an error that names what differs."""
    read = read_checkpoint(path, problem)
    content = check(_schema(n_nodes), read, str(path), AGAIN)
    dag = None
    if content["incumbent"] is not None:
        dag = np.zeros((n_nodes, n_nodes), dtype=np.int8)
        for i, j in content["incumbent"]:
            dag[i, j] = 1
        if dag.diagonal().any() or not is_acyclic(dag):
            raise InputError(f"{path}: expected a DAG at incumbent but got a cycle; {AGAIN}")
    return Checkpoint(
        content["problem"],
        content["families"],
        [frozenset(cluster) for cluster in content["clusters"]],
        dag,
        content["passes"],
        content["random_state"],
        content["trace"],
    )


def _schema(n_nodes: int) -> Shape:
    """Return what a checkpoint of a run with this many nodes holds."""
    node = whole(0, n_nodes - 1)
    entry = row(node, text(), number())

    def family(value: Any, where: str) -> Family:
        own, mask, score = entry(value, where)
        try:
            bits = int(mask, 16) if len(mask) <= n_nodes // 4 + 3 else -1
        except ValueError:
            bits = -1
        if not 0 <= bits < 1 << n_nodes or (bits >> own) & 1:
            raise Misfit(where, "a set of other nodes", mask)
        return Family(own, bits, score)

    def event(value: Any, where: str) -> dict[str, Any]:
        found = mapping(plain)(value, where)
        return {**found, "seconds": number(0.0)(found.get("seconds"), f"{where}.seconds")}

    state = record(state=whole(0, 2**128 - 1), inc=whole(0, 2**128 - 1))
    return record(
        dagopt_checkpoint=whole(VERSION, VERSION),
        problem=mapping(plain),
        families=items(family),
        clusters=items(items(node, least=2)),
        incumbent=maybe(items(row(node, node))),
        passes=whole(0),
        random_state=record(
            bit_generator=text("PCG64"), state=state, has_uint32=whole(0, 1), uinteger=whole(0, 2**32 - 1)
        ),
        trace=items(event),
    )
