"""A test of independence that knows the DAG: d-separation."""

from __future__ import annotations

import numpy as np

from dagopt.methods.independence.tests import IndependenceTest


def d_separated(dag, x, y, given):
    """Say whether a set d-separates x and y: no path in the moral graph of the ancestors, the set taken out."""
    kept = {x, y, *given}
    while True:
        larger = kept | {int(i) for j in kept for i in np.flatnonzero(dag[:, j])}
        if larger == kept:
            break
        kept = larger
    moral = np.zeros_like(dag, dtype=bool)
    for j in kept:
        family = [*np.flatnonzero(dag[:, j]).tolist(), j]
        moral[np.ix_(family, family)] = True
    seen, front = {x}, [x]
    while front:
        i = front.pop()
        new = [j for j in kept if moral[i, j] and j not in seen and j not in given]
        seen.update(new)
        front += new
    return y not in seen


class Oracle(IndependenceTest):
    """Log p is 0 for d-separated pairs and very small for others."""

    label = "d-separation"

    def __init__(self, dag):
        self.dag = np.asarray(dag)
        self.n_nodes = len(self.dag)

    def log_p_values(self, x, y, sets):
        """Return 0 or -50 for each set."""
        return np.array([0.0 if d_separated(self.dag, x, y, set(given)) else -50.0 for given in sets.tolist()])

    def take(self, order):
        """Return the oracle of the renumbered DAG."""
        return Oracle(self.dag[np.ix_(order, order)])
