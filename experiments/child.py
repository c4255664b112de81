"""``python -m experiments.child``: makes runs, each read from standard input and written to standard output.

What libraries print goes to standard error. The process ends when standard input is closed, that is, with its parent.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from pathlib import Path

from experiments.machine import forget_peak
from experiments.measure import measure, provenance
from experiments.records import Record, Run

__all__ = ["main"]


def main() -> None:
    """Read a run, make it and write its record, until there is nothing more to read."""
    out = os.dup(1)
    os.dup2(2, 1)
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(orders,), daemon=True).start()
    while True:
        order = json.loads(orders.get())
        data = order.pop("data")
        run = Run(**order)
        forget_peak()
        try:
            record = measure(run, None if data is None else Path(data))
        except Exception as error:
            record = Record.without_answer(run, "failed", f"{type(error).__name__}: {error}", **provenance(run))
        sys.stderr.flush()
        os.write(out, record.to_line().encode("ascii"))


def _read(orders: queue.SimpleQueue[str]) -> None:
    """Pass lines on; when they end, end the process at once, whatever it is doing."""
    for line in sys.stdin:
        orders.put(line)
    os._exit(1)  # also because threads of solvers may still be running


if __name__ == "__main__":
    main()
