"""A proof that is killed and continued, beside one that is not: ``python -m benchmarks.resumed``.

python -m benchmarks.resumed [--columns 60] [--degree 0.5] [--seed 2] [--kills 3] [--after 60] [--every 20] [--in DIR]

Two runs of ``branch-and-cut`` with a checkpoint every ``--every`` seconds at the same time, on one thread each. One is
killed (SIGKILL) ``--kills`` times, each time after ``--after`` CPU seconds, and goes on with ``resume=True``. DAG,
score, bound, nodes, cuts, LPs and states are compared; the exit code is 1 if any differs. Neither has a time limit.
With ``--in`` the checkpoints are kept there, and the same command goes on if all of it is killed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

COUNTS = ("n_tree_nodes", "n_cuts", "n_lps", "n_states", "n_pricing_rounds")
USED = ("cpu", "gib")  # what the last start took, which differs


def run_here(columns: int, degree: float, seed: int, every: float, path: Path) -> dict[str, Any]:
    """Return the facts of a run in this process, continued if there is a checkpoint."""
    import dagopt
    from dagopt.methods import checkpoint_file

    checkpoint_file.SAVE_EVERY = every
    data = dagopt.simulate(columns, 5000, degree, seed).data
    result = dagopt.learn(
        data, "branch-and-cut", score="bic", n_jobs=1, progress=False, checkpoint=path, resume=True
    )  # fmt: skip
    facts = {"status": result.status, "score": result.score, "bound": result.bound, "dag": result.adjacency.tolist()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    used = {"cpu": round(time.process_time(), 1), "gib": round(peak, 2)}
    return facts | {name: result.details.get(name) for name in COUNTS} | used


def cpu_seconds(run: subprocess.Popen[str]) -> float:
    """Return the CPU seconds of a run so far."""
    spent = psutil.Process(run.pid).cpu_times()
    return float(spent.user + spent.system)


def wait_for(run: subprocess.Popen[str], seconds: float) -> bool:
    """Wait until a run has used so many CPU seconds; False if it ends before."""
    while run.poll() is None:
        if cpu_seconds(run) >= seconds:
            return True
        time.sleep(0.2)
    return False


def main() -> int:
    """Run both and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=60)
    parser.add_argument("--degree", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--after", type=float, default=60.0, help="CPU seconds from a start to the kill")
    parser.add_argument("--every", type=float, default=20.0, help="seconds between two checkpoints")
    parser.add_argument("--in", type=Path, dest="folder", metavar="DIR", help="folder of the checkpoints")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    facts = (given.columns, given.degree, given.seed, given.every)
    if given.here:
        print(json.dumps(run_here(*facts, given.here)))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)

        def begin(name: str) -> subprocess.Popen[str]:
            flags = ("--columns", "--degree", "--seed", "--every")
            command = [sys.executable, "-m", "benchmarks.resumed", "--here", str(folder / name)]
            command += [part for flag, value in zip(flags, facts, strict=True) for part in (flag, str(value))]
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

        start, killed_after = time.monotonic(), 0.0
        alone, other = begin("alone.json"), begin("killed.json")
        kills = 0
        while kills < given.kills and wait_for(other, given.after):
            killed_after += cpu_seconds(other)
            other.kill()
            other.wait()
            file = folder / "killed.json"
            size = f"{file.stat().st_size / 1e6:.1f} MB" if file.exists() else "no checkpoint yet"
            kills += 1
            when = f"{killed_after:.0f} CPU s, {time.monotonic() - start:.0f} s after the start"
            print(f"killed after {when}, {size}", flush=True)
            other = begin("killed.json")
        found = [json.loads(one.communicate()[0]) for one in (alone, other)]
    differ = [key for key in found[0] if key not in USED and found[0][key] != found[1][key]]
    shown = {key: value for key, value in found[0].items() if key != "dag"}
    used = f"the last start of the killed run {found[1]['cpu']} CPU s, {found[1]['gib']} GiB"
    print(
        f"{shown}\n{used}\n{time.monotonic() - start:.0f} s, {kills} kills; different: {', '.join(differ) or 'nothing'}"
    )
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
