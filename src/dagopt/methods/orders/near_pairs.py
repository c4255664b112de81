"""Pairs of columns with large products, found in blocks: memory grows with the number of pairs found, not with n².

Blocks are multiplied in single precision, on a GPU if there is one. With unit columns of N rows each product is then
wrong by at most ``(N + 4) 2^-24``, whatever the order of the sums, so that a pair above the threshold is above it minus
that. What is found is computed again in double precision: no pair above the threshold is lost and none below is kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.memory import readable
from dagopt.methods.exact.gpu import find_device

__all__ = ["Blocks", "pairs_above", "product_error", "unit_columns"]

BLOCK = 4_096  # columns on the one side and on the other: 64 MB of products
GPU_BLOCK = 8_192  # 256 MB of products, and three times as much while places are found
GPU_BYTES_PER_PRODUCT = 24  # products, their sizes, the comparison, and sums of it by which places are numbered
TF32 = 2.0**-10  # what products of unit columns lose if CuPy is told to round factors to ten bits (CUPY_TF32=1)
PAIRS_AT_ONCE = 4_096  # that are computed again in double precision
WORTH_A_GPU = 5_000  # columns from which a GPU is looked for, which takes a second


def unit_columns(values: Floats, sequence: Ints) -> tuple[Floats, Floats]:
    """Return the columns of a table in some sequence, each in a row, with mean 0 and length 1, and their deviations."""
    columns = np.empty((len(sequence), len(values)))
    scale = np.empty(len(sequence))
    for first in range(0, len(columns), BLOCK):
        part = columns[first : first + BLOCK]
        part[:] = values[:, sequence[first : first + BLOCK]].T
        part -= part.mean(axis=1, keepdims=True)
        part -= part.mean(axis=1, keepdims=True)  # once more, for columns that are far from 0
        scale[first : first + BLOCK] = np.sqrt((part**2).mean(axis=1))
        part /= np.sqrt((part**2).sum(axis=1, keepdims=True))
    return columns, scale


def product_error(n_rows: int) -> float:
    """Return the largest error of the product of two unit columns in single precision."""
    return (n_rows + 4) * 2.0**-24


class Blocks:
    """Unit columns in single precision, on a GPU if there is one and it is worth it.

    Parameters
    ----------
    columns : array of shape (n, rows)
        The columns.
    device : {"auto", "cpu", "gpu"}
        Where products are computed.
    """

    def __init__(self, columns: Floats, device: str = "auto") -> None:
        self.module: Any = np
        if device == "gpu" or (device == "auto" and len(columns) >= WORTH_A_GPU):
            self.module = _gpu(device, columns.shape) or np
        self.block = BLOCK if self.module is np else min(GPU_BLOCK, len(columns))
        self._columns = self.module.asarray(columns.astype(np.float32))
        self.error = product_error(columns.shape[1])
        if self.module is not np and os.environ.get("CUPY_TF32", "0") not in ("", "0"):
            self.error += TF32

    @property
    def where(self) -> str:
        """Where products are computed, in words."""
        return "on the CPU" if self.module is np else "on a GPU"

    def above(
        self, least: float, deadline: Deadline, left: NDArray[np.float32] | None = None
    ) -> Iterator[tuple[Ints, Ints, float]]:
        """Yield the pairs whose product may exceed the threshold, block by block, and the share of the work done.

        Parameters
        ----------
        least : float
            The threshold of the absolute product.
        deadline : Deadline
            No block is begun after it.
        left : array of shape (m, rows), optional
            Other columns of length 1, whose products with all columns are looked at; by default those of the columns
            with each other, each pair once.
        """
        bar = np.float32(least - self.error)
        n, size = len(self._columns), self.block
        rows = self._columns if left is None else left
        for first in range(0, len(rows), size):
            part = self.module.asarray(rows[first : first + size])
            for second in range(first if left is None else 0, n, size):
                if deadline.reason is not None:
                    return
                products = part @ self._columns[second : second + size].T
                self.module.abs(products, out=products)
                places = self.module.flatnonzero(products > bar)
                a, b = np.divmod(self._on_cpu(places), products.shape[1])
                a, b = a + first, b + second
                if left is None:
                    a, b = a[a < b], b[a < b]
                done = (first + size * (second + size - first) / n) / len(rows) if left is None else first / len(rows)
                yield a, b, min(done, 1.0)

    def _on_cpu(self, array: Any) -> Ints:
        return np.asarray(array if self.module is np else self.module.asnumpy(array), dtype=np.int64)


def pairs_above(columns: Floats, first: Ints, second: Ints, least: float) -> tuple[Ints, Ints, Floats]:
    """Return those of the pairs whose product exceeds the threshold in double precision, and their products."""
    found = np.empty(len(first))
    for k in range(0, len(first), PAIRS_AT_ONCE):
        part = slice(k, k + PAIRS_AT_ONCE)
        found[part] = np.einsum("ij,ij->i", columns[first[part]], columns[second[part]])
    kept = np.abs(found) > least
    return first[kept], second[kept], found[kept]


def _gpu(device: str, shape: tuple[int, ...]) -> Any:
    """Return CuPy if there is a device with enough memory, else None; raise an error if one is required."""
    try:
        gpu, name, free = find_device()
        block = min(GPU_BLOCK, shape[0])
        needed = 4 * shape[1] * (shape[0] + 2 * block) + GPU_BYTES_PER_PRODUCT * block**2
        if needed > free:
            raise InputError(
                f"products of {shape[0]:,} columns need {readable(needed)} but {name} has {readable(free)} free; use "
                f"device='cpu'"
            )
        return gpu.cp
    except InputError:
        if device == "gpu":
            raise
        return None
