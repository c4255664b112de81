"""``python -m dagopt.experiments.child``: one run, from a line on standard input to a line on standard output.

What libraries print goes to standard error. The process ends when standard input does, that is, with its parent.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from dagopt.experiments.measure import measure, provenance
from dagopt.experiments.records import Record, Run

__all__ = ["main"]


def main() -> None:
    """Read what to run, run it, write the record."""
    out = os.dup(1)
    os.dup2(2, 1)
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    data = order.pop("data")
    run = Run(**order)
    try:
        record = measure(run, None if data is None else Path(data))
    except Exception as error:
        record = Record.without_answer(run, "failed", f"{type(error).__name__}: {error}", **provenance(run))
    os.write(out, record.to_line().encode("ascii"))
    sys.stderr.flush()
    os._exit(0)  # at once: threads of solvers may still be about


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
