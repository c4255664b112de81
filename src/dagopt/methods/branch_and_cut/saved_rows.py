"""Rows in a checkpoint: by what they say about every DAG, from which they are written over the families again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dagopt.arrays import Floats
from dagopt.families.families import Families
from dagopt.lp.rows.blocks import Blocks
from dagopt.lp.rows.local import local_row
from dagopt.lp.rows.rewriting import rewritten
from dagopt.lp.rows.row import Origin, Row
from dagopt.methods.checkpoint_file import array, packed
from dagopt.schema import Misfit, Shape, items, maybe, number, record, text, whole

__all__ = ["RowTable", "rows_shape"]


class RowTable:
    """Collects rows, each once, and their matrices.

    Parameters
    ----------
    known : array or None
        The matrix of the data, which is not saved.
    """

    def __init__(self, known: Floats | None) -> None:
        self._known = known
        self._rows: dict[int, tuple[int, Row]] = {}
        self._matrices: dict[int, tuple[int, Floats]] = {}

    def numbers(self, rows: Sequence[Row]) -> list[Any]:
        """Return the numbers of rows, packed."""
        found = [self._rows.setdefault(id(row), (len(self._rows), row))[0] for row in rows]
        return packed(np.array(found, dtype=np.int64))

    def content(self) -> dict[str, Any]:
        """Return all rows and matrices as plain values."""
        rows = [self._plain(row) for _, row in self._rows.values()]
        return {"rows": rows, "matrices": [packed(matrix) for _, matrix in self._matrices.values()]}

    def _plain(self, row: Row) -> dict[str, Any]:
        facts: dict[str, Any] = {"kind": row.kind, "upper": row.upper, "origin": None, "entries": None}
        origin = row.origin
        if origin is None:
            entries = {"families": packed(row.families.astype(np.int64)), "values": packed(row.values)}
            return facts | {"entries": entries}
        own: dict[str, Any] = {"inside": packed(origin.inside), "scale": origin.scale, "matrix": None, "table": None}
        if origin.table is not None:
            own["table"] = packed(origin.table)
        elif origin.matrix is not None and origin.matrix is self._known:
            own["matrix"] = -1
        elif origin.matrix is not None:
            own["matrix"] = self._matrices.setdefault(id(origin.matrix), (len(self._matrices), origin.matrix))[0]
        return facts | {"origin": own}


def rows_shape(families: Families, blocks: Blocks, known: Floats | None, width: int) -> Shape:
    """Return the shape of the content of a ``RowTable``, read as rows over families.

    Parameters
    ----------
    families : Families
        The families of the rows.
    blocks : Blocks
        The columns of each node.
    known : array or None
        The matrix of the data.
    width : int
        The number of columns.
    """
    origins = record(
        inside=array(np.bool_, None), scale=number(), matrix=maybe(whole(-1)), table=maybe(array(np.float64, None))
    )
    entries = record(families=array(np.int64, None), values=array(np.float64, None))
    entry = record(kind=text(), upper=number(), origin=maybe(origins), entries=maybe(entries))
    table = record(rows=items(entry), matrices=items(array(np.float64, width, width)))

    def read(value: Any, where: str) -> list[Row]:
        found = table(value, where)
        places = [f"{where}.rows[{k}]" for k in range(len(found["rows"]))]
        return [made(one, found["matrices"], place) for one, place in zip(found["rows"], places, strict=True)]

    def made(one: dict[str, Any], matrices: list[Floats], where: str) -> Row:
        own, explicit = one["origin"], one["entries"]
        if own is not None:
            row = from_origin(one, own, matrices, where)
        elif explicit is not None:
            row = Row(explicit["families"], explicit["values"], one["upper"], one["kind"])
            fits = len(row.families) == len(row.values) and bool((np.diff(row.families) > 0).all())
            if not fits or (len(row.families) and not 0 <= row.families[0] <= row.families[-1] < len(families)):
                raise Misfit(where, "increasing places of families", len(row.families))
        else:
            raise Misfit(where, "a row", one["kind"])
        return replace(row, families=row.families.astype(np.int32))  # as in the LP

    def from_origin(one: dict[str, Any], own: dict[str, Any], matrices: list[Floats], where: str) -> Row:
        inside, which = own["inside"], own["matrix"]
        if which is not None and (which >= len(matrices) or (which < 0 and known is None)):
            raise Misfit(f"{where}.matrix", "the number of a matrix", which)
        if len(inside) != (families.n_nodes if which is None else width):
            raise Misfit(f"{where}.inside", "one entry per node", len(inside))
        if own["table"] is not None:
            size = int(inside.sum())
            if size > 16 or len(own["table"]) != size << size:
                raise Misfit(f"{where}.table", "a coefficient for each node and set", len(own["table"]))
            return local_row(families, Origin(inside, table=own["table"], scale=own["scale"]))
        matrix = None if which is None else known if which < 0 else matrices[which]
        origin = Origin(inside, matrix, scale=own["scale"], blocks=None if matrix is None else blocks)
        empty = np.zeros(0, dtype=np.int32)
        return rewritten(Row(empty, np.zeros(0), one["upper"], one["kind"], origin), families)

    return read
