"""How fast this machine is: a short piece of work is timed, and estimates of time are scaled by it.

The constants of estimates, such as the seconds per entry of a recursion, were measured on one machine. Others are
faster or slower, and so is the same machine when all cores work. The piece of work is made of what the recursions do:
sums, maxima and gathers of floats in the second-level cache, by numpy, so that nothing has to be compiled.

Only what is shown is scaled. A method is chosen by the constants alone, so that the choice is the same in every run.
"""

from __future__ import annotations

import threading
import time
from functools import cache
from statistics import median

import numpy as np

__all__ = ["machine_pace"]

ENTRIES = 1 << 15  # of the arrays: four of them fill half of a second-level cache of 1 MB
STEPS = 8  # of a round, which takes half a millisecond: shorter than a turn of a thread
ROUNDS = 9  # whose median is taken, because the system interrupts some; together 5 ms, once per process
# Seconds of a round on a machine where the constants of estimates hold. On an AMD EPYC a round takes 5e-4 to 7e-4 CPU
# seconds, and 55 runs took 1.6 times what the constants say, by the median (``benchmarks.estimates --cpu``).
REFERENCE = 3.9e-4
MOST_THREADS = 16  # that are timed; with more, starting them would take longer than the rounds


@cache
def machine_pace(threads: int = 1) -> float:
    """Return how many times as long as on the machine of the constants work takes, if this many threads work."""
    count = max(1, min(threads, MOST_THREADS))
    seconds: list[float] = []
    others = [threading.Thread(target=_time_rounds, args=(seconds,), daemon=True) for _ in range(count - 1)]
    for other in others:
        other.start()
    _time_rounds(seconds)
    for other in others:
        other.join()
    return median(seconds) / REFERENCE


def _time_rounds(seconds: list[float]) -> None:
    """Append the seconds of each round."""
    ups = np.linspace(0.0, 1.0, ENTRIES)
    places = (np.arange(ENTRIES) * 40_503) % ENTRIES  # an odd factor: each place once, neighbours far apart
    downs, out = ups[::-1].copy(), np.empty(ENTRIES)
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for _ in range(STEPS):
            np.add(ups, downs, out=out)
            np.maximum(ups, out, out=out)
            np.take(ups, places, out=out, mode="clip")
        seconds.append(time.perf_counter() - begun)
