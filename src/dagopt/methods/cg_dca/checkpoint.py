"""Saving a run of column generation between two passes, so that it can be continued to the same answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.families.family_pool import Family
from dagopt.files import read_text, write_text
from dagopt.lp.restricted_master import RestrictedMaster

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint"]


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
        return cls(problem, list(master.pool), list(master.clusters), incumbent, passes, state, list(trace))


def save_checkpoint(checkpoint: Checkpoint, path: str | Path) -> None:
    """Write a checkpoint completely or not at all."""
    dag = checkpoint.incumbent
    content = {
        "dagopt_checkpoint": 1,
        "problem": checkpoint.problem,
        "families": [[family.node, hex(family.mask), family.score] for family in checkpoint.families],
        "clusters": [sorted(cluster) for cluster in checkpoint.clusters],
        "incumbent": None if dag is None else [[int(i), int(j)] for i, j in np.argwhere(dag)],
        "passes": checkpoint.passes,
        "random_state": checkpoint.random_state,
        "trace": checkpoint.trace,
    }
    write_text(json.dumps(content, default=lambda number: number.item()), path)  # also converts numpy numbers


def load_checkpoint(path: str | Path, problem: dict[str, Any], n_nodes: int) -> Checkpoint:
    """Read a checkpoint of the same problem, or raise an error that names what differs."""
    text = read_text(path)
    damaged = InputError(
        f"expected the checkpoint of a run but {path} is not one, or is damaged; start again without resume="
    )
    try:
        content = json.loads(text)
        saved = dict(content["problem"]) if content["dagopt_checkpoint"] == 1 else None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise damaged from None
    if saved is None:
        raise damaged
    for key, value in problem.items():
        if saved.get(key) != value:
            raise InputError(
                f"expected a checkpoint of this run but {path} belongs to another: "
                f"{key} was {saved.get(key)!r} and is now {value!r}; "
                f"give the same data and options, or start again without resume="
            )
    try:
        return _checkpoint_of(content, n_nodes)
    except (IndexError, KeyError, TypeError, ValueError):
        raise damaged from None


def _checkpoint_of(content: dict[str, Any], n_nodes: int) -> Checkpoint:
    """Return the checkpoint that the content of a file describes."""
    dag = None
    if content["incumbent"] is not None:
        dag = np.zeros((n_nodes, n_nodes), dtype=np.int8)
        for i, j in content["incumbent"]:
            dag[i, j] = 1
    return Checkpoint(
        content["problem"],
        [Family(node, int(mask, 16), score) for node, mask, score in content["families"]],
        [frozenset(cluster) for cluster in content["clusters"]],
        dag,
        content["passes"],
        content["random_state"],
        content["trace"],
    )
