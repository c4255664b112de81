"""``python -m hunt``: look for claims that do not hold and for inputs that end in a traceback.

Everything is drawn from ``--seed``; instance k is the same in every run, so that a hunt that was stopped goes on where
it was (``--state``), and a failure can be seen again (``--only k``).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from hunt import claims, files, kills, tables
from hunt.record import Record
from hunt.truth import IS_EXTENDED

PARTS = ("claims", "files", "kills")


def main() -> int:
    """Run the parts that are asked for; the exit code says whether anything was found."""
    parser = argparse.ArgumentParser(prog="python -m hunt", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all parts together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=PARTS, action="append", help="all unless given")
    parser.add_argument("--only", type=int, help="look at this instance alone")
    parser.add_argument("--family", choices=tables.FAMILIES, help="draw only tables of this family")
    parser.add_argument("--state", type=Path, help="a file to keep counts in, and to go on from")
    asked = parser.parse_args()
    if not IS_EXTENDED:
        print("note: long doubles are no longer than doubles here; claims are checked in double precision only")
    record = Record.load(asked.state, asked.seed)
    parts = asked.part or list(PARTS)
    share = asked.seconds / len(parts)
    for part in parts:
        hunt_part(part, record, asked, time.monotonic() + share)
    print(record.table())
    return 1 if record.findings else 0


def hunt_part(part: str, record: Record, asked: argparse.Namespace, until: float) -> None:
    """Look at one instance after the other until the time is over."""
    number = record.next.get(part, 0) if asked.only is None else asked.only
    while time.monotonic() < until:
        look = {"claims": look_at_claims, "files": files.look, "kills": kills.look}[part]
        finding = look(asked.seed, number, record.counts[part], asked.family)
        if finding is not None:
            record.findings.append(finding)
            print(f"\n=== {part} {number}: {finding}\n", file=sys.stderr, flush=True)
        if asked.only is not None:
            return
        number += 1
        record.next[part] = number
        record.save(asked.state)


def look_at_claims(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Return what is wrong about an instance, with a small reproduction, or None."""
    instance = tables.draw(seed, number, family)
    counts["instances"] += 1
    counts[f"family: {instance.family}"] += 1
    problem = _wrong(instance, seed, number, counts)
    if problem is None:
        return None
    until = time.monotonic() + 60

    def fails(smaller: tables.Instance) -> bool:
        found = None if time.monotonic() > until else _wrong(smaller, seed, number, Counter())
        return found is not None and found[:20] == problem[:20]

    small = claims.shrunk(instance, fails)
    return f"{_wrong(small, seed, number, Counter()) or problem}\n{claims.reproduction(small, seed, number)}"


def _wrong(instance: tables.Instance, seed: int, number: int, counts: Counter[str]) -> str | None:
    try:
        claims.check(instance, counts, np.random.default_rng([seed, number, 1]))
    except claims.Wrong as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())
