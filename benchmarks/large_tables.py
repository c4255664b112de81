"""Tables of many rows: seconds and peak memory of ``summarise``, beside just reading the file with the engine.

    python -m benchmarks.large_tables [--rows 1e6 1e7] [--columns 20] [--kind gaussian|discrete|distinct|mixed]
    python -m benchmarks.large_tables --rows 1e6 1e7 --most 5
    python -m benchmarks.large_tables --rows 1e7 --kind discrete
    python -m benchmarks.large_tables --rows 1e8 --format parquet --most 20
    python -m benchmarks.large_tables --rows 1e7 --columns 100 --format parquet --most 10
    python -m benchmarks.large_tables --engines --rows 2e6       # pyarrow, polars and duckdb, just reading
    python -m benchmarks.large_tables --turns 3 --rows 2e6       # reading and summarise by turns in one process
    python -m benchmarks.large_tables --quick

The files are written to a temporary folder, which is removed; ``--most`` is the largest size of a table in GB, and
larger ones are left out. Tables of more than 200 million cells are folders of several files, written side by side on
all cores and batch by batch, so that no table is ever in memory. Discrete tables have few distinct rows, ``distinct``
ones about as many as rows. Each measurement has a process of its own; seconds are those of the clock and of the
processor. With ``--turns`` both run by turns in one process, and the least CPU seconds of each are compared: the ratio
to look at on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 250_000  # rows that are made and written at once
CELLS_PER_FILE = 200_000_000
BYTES_PER_CELL = {"csv": {"gaussian": 20, "mixed": 14}, "parquet": {"gaussian": 9, "mixed": 6}}


def frames(rows: int, columns: int, kind: str, seed: int = 0) -> Iterator[Any]:
    """Yield the table in batches: a chain in which each column depends on the one before."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    for first in range(0, rows, BATCH):
        size = min(BATCH, rows - first)
        values = rng.standard_normal((columns, size))
        for j in range(1, columns):
            values[j] += 0.5 * values[j - 1]
        found = {}
        for j in range(columns):
            discrete = kind in ("discrete", "distinct") or (kind == "mixed" and j % 2)
            levels = 2 if kind == "discrete" and j > 9 else 3
            source = values[j % 10] if kind == "discrete" else values[j]  # few distinct rows
            cells = np.digitize(source, [-0.5, 0.5][: levels - 1]) if discrete else values[j]
            found[f"X{j}"] = pa.array(cells if not discrete else cells.astype(np.int64))
        yield pa.table(found)


def write(path: Path, rows: int, columns: int, kind: str, seed: int = 0) -> None:
    """Write a table to one file, batch by batch."""
    from pyarrow import csv, parquet

    writer: Any = None
    for table in frames(rows, columns, kind, seed):
        if writer is None:
            make = csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter
            writer = make(str(path), table.schema)
        writer.write_table(table)
    writer.close()


def write_parts(folder: Path, form: str, rows: int, columns: int, kind: str) -> Path:
    """Write a table to a file of the folder, or to several, on all cores, and return the file or the folder."""
    n_parts = max(-(-rows * columns // CELLS_PER_FILE), 1)
    ends = [rows * k // n_parts for k in range(n_parts + 1)]
    paths = [folder / f"table-{k:03}.{form}" for k in range(n_parts)]
    parts = [(path, ends[k + 1] - ends[k], columns, kind, k) for k, path in enumerate(paths)]
    with get_context("spawn").Pool(min(n_parts, os.cpu_count() or 1)) as pool:
        pool.starmap(write, parts, 1)
    return folder if n_parts > 1 else paths[0]


def files_of(path: str) -> list[str]:
    """Return the files of a table."""
    return sorted(map(str, Path(path).iterdir())) if Path(path).is_dir() else [path]


def gigabytes(path: Path) -> float:
    """Return the size of a table."""
    return sum(Path(one).stat().st_size for one in files_of(str(path))) / 1e9


def just_read(path: str, engine: str) -> int:
    """Return the number of rows of a table, read in batches."""
    return sum(_read(one, engine) for one in files_of(path))


def _read(path: str, engine: str) -> int:
    """Return the number of rows of a file."""
    if engine == "polars":
        import polars

        lazy = polars.scan_csv(path) if path.endswith("csv") else polars.scan_parquet(path)
        return sum(frame.height for frame in lazy.collect_batches(chunk_size=1 << 16))
    if engine == "duckdb":
        import duckdb

        return sum(batch.num_rows for batch in duckdb.sql(f"select * from '{path}'").to_arrow_reader(1 << 16))
    if path.endswith("csv"):
        from pyarrow import csv

        return sum(batch.num_rows for batch in csv.open_csv(path, csv.ReadOptions(block_size=1 << 23)))
    from pyarrow import parquet

    with parquet.ParquetFile(path, pre_buffer=False) as file:  # the quickest way: a third of the default's CPU seconds
        return sum(batch.num_rows for batch in file.iter_batches(1 << 16))


def measure(path: str, what: str) -> tuple[int, float, float, float]:
    """Return rows, seconds, CPU seconds and peak memory in MB of reading with an engine, or of ``summarise``."""
    import resource

    if what == "dagopt":
        import dagopt

        dagopt.summarise(np.eye(3))  # modules are loaded
        work: Any = lambda: dagopt.summarise(path).n_read  # noqa: E731
    else:
        work = lambda: just_read(path, what)  # noqa: E731
    start, cpu = time.perf_counter(), time.process_time()
    rows = work()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return rows, seconds, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def by_turns(path: str, turns: int) -> tuple[float, float, float]:
    """Return the least CPU seconds of just reading and of ``summarise``, and the peak memory in MB of both."""
    import resource

    import dagopt

    dagopt.summarise(np.eye(3))  # modules are loaded
    least = [np.inf, np.inf]
    for _ in range(turns):
        for k, work in enumerate((lambda: just_read(path, "pyarrow"), lambda: dagopt.summarise(path))):
            start = time.process_time()
            work()
            least[k] = min(least[k], time.process_time() - start)
    return least[0], least[1], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def alone(path: Path, what: str) -> tuple[int, float, float, float]:
    with get_context("spawn").Pool(1) as pool:
        found: tuple[int, float, float, float] = pool.apply(measure, (str(path), what))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--kind", choices=("gaussian", "discrete", "distinct", "mixed"), default="gaussian")
    parser.add_argument("--format", choices=("csv", "parquet"), nargs="+", default=["parquet", "csv"])
    parser.add_argument("--engines", action="store_true", help="compare engines at just reading")
    parser.add_argument("--turns", type=int, help="so many turns of reading and summarise in one process")
    parser.add_argument("--most", type=float, default=3.0, help="GB of the largest table")
    parser.add_argument("--quick", action="store_true", help="100,000 rows")
    arguments = parser.parse_args()
    engines = ["pyarrow", "polars", "duckdb"] if arguments.engines else ["pyarrow", "dagopt"]
    print("| kind | rows | columns | file | GB | what | seconds | CPU seconds | ratio (CPU) | peak MB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for rows in [100_000] if arguments.quick else map(int, arguments.rows):
        for form in arguments.format:
            usual = BYTES_PER_CELL[form].get(arguments.kind, 2)
            if rows * arguments.columns * usual / 1e9 > arguments.most:
                print(f"| {arguments.kind} | {rows:,} | {arguments.columns} | {form} | above --most | | | | | |")
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = write_parts(Path(folder), form, rows, arguments.columns, arguments.kind)
                size, first = gigabytes(path), 0.0
                if arguments.turns:
                    with get_context("spawn").Pool(1) as pool:
                        reading, both, peak = pool.apply(by_turns, (str(path), arguments.turns))
                    about = f"| {arguments.kind} | {rows:,} | {arguments.columns} | {form} | {size:.2f} "
                    print(
                        f"{about}| by turns | | {reading:.2f}, {both:.2f} | {both / reading:.2f} | {peak:.0f} |",
                        flush=True,
                    )
                    continue
                for what in engines:
                    _, seconds, cpu, peak = alone(path, what)
                    first = first or cpu
                    print(
                        f"| {arguments.kind} | {rows:,} | {arguments.columns} | {form} | {size:.2f} "
                        f"| {what} | {seconds:.1f} | {cpu:.1f} | {cpu / first:.2f} | {peak:.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
