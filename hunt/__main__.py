"""``python -m hunt``: search for claims that do not hold and for inputs that end in a traceback.

Everything is drawn from ``--seed``; instance k is the same in every run, so that a hunt that was stopped goes on where
it was (``--state``), and a failure can be seen again (``--only k``). ``--jobs K`` shares the instances out to K
processes and adds up their counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from dagopt.errors import DataWarning
from hunt import claims, files, kills, knowing, near, others, provers, series, tables
from hunt.record import Record
from hunt.truth import IS_EXTENDED

PARTS = ("claims", "others", "knowing", "series", "provers", "near", "files", "studio", "kills")


def main() -> int:
    """Run the requested parts; the exit code says whether anything was found."""
    asked = _asked()
    warnings.simplefilter("ignore", DataWarning)  # strange tables are what the hunt is about
    if not IS_EXTENDED:
        print("note: long doubles are no longer than doubles here; claims are checked in double precision only")
    if asked.jobs > 1 and asked.shard is None and asked.only is None:
        record = _in_shards(asked)
    else:
        record = Record.load(asked.state, asked.seed)
        share = asked.seconds / len(asked.parts)
        for part in asked.parts:
            hunt_part(part, record, asked, time.monotonic() + share)
    print(record.table())
    for finding in record.findings:
        print(f"\n=== {finding}")
    return 1 if record.findings else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hunt", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all unless given")
    parser.add_argument("--seconds", type=float, default=60.0, help="for all parts together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the instances")
    parser.add_argument("--shard", type=int, help="the instances with this number modulo --jobs alone")
    parser.add_argument("--only", type=int, help="check only this instance")
    parser.add_argument("--kills", type=int, help="end the part kills after so many kills by SIGKILL")
    parser.add_argument("--first", action="store_true", help="end a part with its first finding")
    parser.add_argument("--family", choices=tables.FAMILIES, help="draw only tables of this family")
    parser.add_argument("--state", type=Path, help="a file to keep counts in, and to continue from")
    asked = parser.parse_args()
    asked.parts = asked.parts or list(PARTS)
    if not set(asked.parts) <= set(PARTS):
        parser.error(f"expected parts of {', '.join(PARTS)} but got {' '.join(asked.parts)}")
    return asked


def _in_shards(asked: argparse.Namespace) -> Record:
    """Run one process per shard, each with a state of its own beside ``--state``, and add up what they found."""
    with tempfile.TemporaryDirectory() as spare:
        state = asked.state or Path(spare, "hunt.json")
        states = [state.with_name(f"{state.stem}-{k}-of-{asked.jobs}.json") for k in range(asked.jobs)]
        family = ["--family", asked.family] if asked.family else []
        command = [sys.executable, "-m", "hunt", *asked.parts, "--seed", str(asked.seed), *family]
        if asked.kills is not None:
            command += ["--kills", str(-(-asked.kills // asked.jobs))]
        command += ["--seconds", str(asked.seconds), "--jobs", str(asked.jobs)]
        alone = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        runs = [
            subprocess.Popen([*command, "--shard", str(k), "--state", str(own)], env={**os.environ, **alone},
                             stdout=subprocess.DEVNULL)
            for k, own in enumerate(states)
        ]  # fmt: skip
        ended = [run.wait() for run in runs]
        record = Record.added([Record.load(own, asked.seed) for own in states], asked.seed)
        broken = [k for k, code in enumerate(ended) if code not in (0, 1)]
        record.findings += [f"shard {k} ended with exit code {ended[k]}" for k in broken]
        record.save(asked.state)
        return record


def hunt_part(part: str, record: Record, asked: argparse.Namespace, until: float) -> None:
    """Check one instance after the other until the time is over."""
    first, step = (0, 1) if asked.shard is None else (asked.shard, asked.jobs)
    number = record.next.get(part, first) if asked.only is None else asked.only
    look, counts = LOOKS[part], record.counts[part]
    while time.monotonic() < until and (part != "kills" or asked.kills is None or counts["SIGKILL"] < asked.kills):
        finding = look(asked.seed, number, counts, asked.family)
        if finding is not None:
            record.findings.append(f"{part} {number}: {finding}")
            print(f"\n=== {part} {number}: {finding}\n", file=sys.stderr, flush=True)
        if asked.only is not None or (asked.first and finding is not None):
            return
        number += step
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


def look_at_studio(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Send broken requests to the studio, where its packages are installed."""
    from hunt import studio

    return studio.look(seed, number, counts, family)


LOOKS = {
    "claims": look_at_claims, "others": others.look, "knowing": knowing.look, "series": series.look,
    "provers": provers.look, "near": near.look, "files": files.look, "studio": look_at_studio,
    "kills": kills.look,
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
