"""What a run will take of the memory, said before it starts.

Tables of pairs of columns and copies of the rows cannot be made smaller. What is listed besides, sets and tables of the
recursion, is planned by the methods themselves to fit into what is free.
"""

from __future__ import annotations

from dagopt.data.columns import Column
from dagopt.data.mixed import MixedTable
from dagopt.data.table import DiscreteTable, Table
from dagopt.memory import available_bytes, readable, require_memory
from dagopt.progress import Progress

__all__ = ["announce_memory", "memory_needed"]

# Bytes, by ``python -m benchmarks.memory``, about a third more than was measured.
PER_PAIR = {"hc": 38, "tabu": 38, "mmhc": 38, "order": 70, "pc": 75, "cg-dca": 75}
PER_PAIR_OTHERWISE = 95
PER_NUMBER, PER_CODE = 48, 40  # for each cell of continuous and of discrete columns
SHOWN = 10**9  # bytes: runs that take less say nothing


def memory_needed(method: str, table: Table) -> int:
    """Return the bytes that a method takes besides the table as it was read.

    Parameters
    ----------
    method : str
        One of ``METHODS``.
    table : Table
        The table.
    """
    rows, n = table.n_samples, len(table.names)
    if isinstance(table, DiscreteTable):
        numbers, codes = 0, n
    elif isinstance(table, MixedTable):
        widths = [_width(column) for column in table.columns]
        numbers, codes, n = sum(widths), 0, sum(widths)
    else:
        numbers, codes = n, 0
    return PER_PAIR.get(method, PER_PAIR_OTHERWISE) * n * n + rows * (PER_NUMBER * numbers + PER_CODE * codes)


def _width(column: Column) -> int:
    """Return how many columns a column is embedded in."""
    return 1 if column.kind == "continuous" else max(len(column.levels) - 1, 1)


def announce_memory(method: str, table: Table, progress: Progress | None) -> None:
    """Say what a run will take if that is much, and refuse it with the figure if there is less."""
    needed = memory_needed(method, table)
    require_memory(
        needed,
        f"method {method!r} on {len(table.names):,} columns and {table.n_samples:,} rows",
        "give fewer columns=, or use a larger machine",
    )
    if needed > SHOWN and progress is not None:
        progress.note(f"takes about {readable(needed)} of memory; {readable(available_bytes())} are free")
