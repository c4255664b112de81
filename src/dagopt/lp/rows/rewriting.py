"""The same rows over other families, by what they say about every DAG."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dagopt.arrays import Ints
from dagopt.families.families import Families
from dagopt.lp.rows.clusters import cluster_row
from dagopt.lp.rows.local import local_row
from dagopt.lp.rows.matrices import logdet_row
from dagopt.lp.rows.row import Row

__all__ = ["Renumbering", "rewritten"]


def rewritten(row: Row, families: Families) -> Row:
    """Return the same row over other families."""
    assert row.origin is not None
    if row.origin.matrix is not None:
        return logdet_row(row, families)
    if row.origin.table is not None:
        return local_row(families, row.origin)
    return cluster_row(families, frozenset(np.flatnonzero(row.origin.inside).tolist()))


class Renumbering:
    """Families that take the place of others, and rows over them.

    Parameters
    ----------
    families : Families
        The families from now on.
    place : int array
        Where each of the old ones is among them; -1 for one that is gone.
    """

    def __init__(self, families: Families, place: Ints) -> None:
        self.families = families
        self.place = place
        new = np.ones(len(families), dtype=np.bool_)
        new[place[place >= 0]] = False
        self.new = np.flatnonzero(new)
        self._fresh = families.only(self.new)
        self._known: dict[int, tuple[Row, Row]] = {}

    def row(self, row: Row) -> Row:
        """Return a row of the old families over those from now on; needs its origin if some are new."""
        if id(row) not in self._known:
            places, values = self.place[row.families], row.values
            if len(self.new):
                more = rewritten(row, self._fresh)
                places = np.concatenate([places, self.new[more.families]])
                values = np.concatenate([values, more.values])
            order = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :]
            own = replace(row, families=places[order].astype(np.int32), values=values[order])
            self._known[id(row)] = (row, own)
        return self._known[id(row)][1]
