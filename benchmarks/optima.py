"""The exact method on the 72 simulated instances whose optima are recorded: all must agree to 0.01.

python -m benchmarks.optima [../shared]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import dagopt


def main() -> None:
    shared = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared")
    recorded = json.loads((shared / "anchors" / "gaussian_instances.json").read_text())["instances"]
    worst: dict[int, float] = {}
    seconds: dict[int, list[float]] = {}
    for one in recorded:
        data, _ = dagopt.simulate(one["n"], one["N"], one["d"], one["seed"])
        start = time.perf_counter()
        result = dagopt.learn(data, "exact", score="bic", progress=False)
        seconds.setdefault(one["n"], []).append(time.perf_counter() - start)
        assert result.status == "optimal"
        worst[one["n"]] = max(worst.get(one["n"], 0.0), abs(result.score - one["score_optimal"]))
    for n, times in seconds.items():
        print(
            f"n = {n}: {len(times)} instances, largest difference {worst[n]:.4f}, mean {sum(times) / len(times):.2f} s"
        )


if __name__ == "__main__":
    main()
