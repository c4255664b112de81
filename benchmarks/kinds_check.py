"""Every kind of table and score against brute force over all DAGs of two to five columns.

    python -m benchmarks.kinds_check [--tables 500] [--first 0] [--kind NAME ...] [--jobs 1] [--seconds 3600]

For each kind that many random tables. The local scores of the oracle are those of ``hunt/truth.py`` and
``hunt/others.py``, in extended precision and without code of the library. Compared are, by ``hunt.others.compare``:

- score, bound and claim of optimality of ``exact``, ``branch-and-cut``, ``order`` and ``hc``, and of branch and cut
  with few parent sets listed (pricing, pairs), and by the search from the end of the order;
- the scores of the best classes, and their number;
- what the score loses without each edge.

One row for each kind: how many claims were compared. A claim that does not hold is printed with its table, and the exit
code is then 1. Kinds take turns, so that a run that ``--seconds`` ends has compared as many tables of each.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.near_check import drawn
from hunt import others

__all__ = ["KINDS", "check", "checked"]

METHODS = ("exact", "branch-and-cut", "order", "hc")
ONE_KIND = ("Gaussian, BIC", "Gaussian, BGe", "discrete, BIC", "discrete, BDeu")
PER_ROUND = 20  # tables of each kind, before the next ones of all kinds,
PER_JOB = 5  # or so many for each process, so that none waits long for the others
COLUMNS = ("tables", "bounds", "proofs", "n_best", "regrets")


def _of_one_kind(kind: str, rng: np.random.Generator) -> others.Case:
    return drawn(kind, int(rng.choice([2, 3, 4, 5, 5])), rng)


def _of(number: int, rng: np.random.Generator) -> others.Case:
    return others.DRAWN[number](rng)


KINDS: dict[str, Callable[[np.random.Generator], others.Case]] = {
    **{kind: partial(_of_one_kind, kind) for kind in ONE_KIND},
    **{one.__name__[1:].replace("_", ", "): partial(_of, number) for number, one in enumerate(others.DRAWN)},
}  # fmt: skip


def checked(kind: str, number: int, counts: Counter[str]) -> str | None:
    """Compare one table of a kind; return what is wrong, or None."""
    rng = np.random.default_rng([number, list(KINDS).index(kind), 33])
    try:
        case = KINDS[kind](rng)
        one_thread = replace(case, options=case.options | {"n_jobs": 1})  # threads cost more than they save here
        others.compare(one_thread, rng, counts, METHODS)
    except Exception as error:  # whatever it is, it is wrong
        return f"{kind}, table {number}: {type(error).__name__}: {error}"
    return None


def check(kind: str, numbers: Sequence[int]) -> tuple[Counter[str], list[str]]:
    """Compare some tables of a kind; return counts, and what is wrong."""
    warnings.simplefilter("ignore")  # what the doctor says of such small tables
    counts: Counter[str] = Counter()
    wrong = [one for number in numbers if (one := checked(kind, number, counts)) is not None]
    counts["tables"] = sum(count for name, count in counts.items() if name.startswith("tables: "))
    return counts, wrong


def main() -> int:
    """Compare tables and print a row for each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="one kind; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=np.inf, help="no round begins after these")
    asked = parser.parse_args()
    begin = time.monotonic()
    kinds = asked.kind or list(KINDS)
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    wrong: dict[str, list[str]] = {kind: [] for kind in kinds}
    numbers = range(asked.first, asked.first + asked.tables)
    per_round = max(PER_ROUND, PER_JOB * asked.jobs)
    with ProcessPoolExecutor(asked.jobs) as pool:
        for first in range(0, asked.tables, per_round):
            if time.monotonic() - begin > asked.seconds:
                break
            own = numbers[first : first + per_round]
            for kind in kinds:
                parts = [own[k :: asked.jobs] for k in range(asked.jobs)]
                for some, bad in pool.map(partial(check, kind), parts):
                    counts[kind] += some
                    wrong[kind] += bad
                    print(*bad, sep="\n", end="\n" if bad else "", flush=True)
            print(f"{own[-1] + 1 - asked.first} of {asked.tables} tables of each kind", file=sys.stderr, flush=True)
    print("| kind | tables | bounds | proofs | lists of classes | lists of regrets | searches from the end | wrong |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for kind in kinds:
        figures = " | ".join(f"{counts[kind][name]:,}" for name in (*COLUMNS, "searches from the end"))
        print(f"| {kind} | {figures} | {len(wrong[kind])} |")
    refused = sum(counts.values(), Counter[str]())
    for name, count in refused.most_common():
        if name.startswith("refused"):
            print(f"{name}: {count}")
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
