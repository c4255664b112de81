"""The page of the board, made from its record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from benchmarks.board_record import left

INTRO = """# The board

The best score and the best bound ever found by dagopt on every public instance, by whatever version and limit.
Written by

    python -m benchmarks.board --limit 60 --threads 2

or, where a limit says CPU, on a machine that did other work as well, by

    python -m benchmarks.board --cpu --limit 30 --threads 1

on the instances of [results on real data](real_data.md), and on simulated tables. `left` is the gap between bound and
score, in points and as a share of what the graph explains, score(best) - score(empty). A gap of 0 is a proof. `score
after` and `bound after` are the seconds of the runs that found them, `limit` is that of the run with the best bound;
`CPU` are CPU seconds of one thread. The groups take turns, so that a part of the board is a fair one. The record is
`docs/board.json`.

- `...-free` are the samples of MICODAG scored by BIC without the moral graph, over all DAGs. The others are MICODAG's
  own problem.
- `cell-N-D-S` are `dagopt.simulate(N, 5000, D, S)` with BIC.
- `er-150-12-S` are random graphs with 150 columns and 12 neighbours of each on average, 1,000 rows, BIC: the design of
  FLOP's authors.
"""


def page(record: dict[str, Any], groups: Mapping[str, Collection[str]]) -> str:
    """Return the page of a record; the groups are those of the names of all instances."""
    heads = ("instance", "columns", "rows", "best score", "best bound", "left", "share", "score after", "bound after")
    heads += ("limit", "version", "published")
    gaps = {name: left(own)[0] for name, own in record.items()}
    proven = [name for name, gap in gaps.items() if gap == 0.0]
    missing = sum(map(len, groups.values())) - len(record)
    parts = [
        INTRO,
        f"{len(proven)} of the {len(gaps)} instances in the record are proven; {missing} others were not run yet.\n",
    ]
    parts += ["| group | instances | run | proven |", "|---|---|---|---|"]
    for group, names in groups.items():
        parts.append(
            f"| {group} | {len(names)} | {len(record.keys() & set(names))} | {len(set(proven) & set(names))} |"
        )
    parts.append("")
    for group, names in groups.items():
        rows = [name for name in names if name in record]
        if not rows:
            continue
        parts += [f"## {group[0].upper()}{group[1:]}\n", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        parts += [f"| {' | '.join(cells(name, record[name]))} |" for name in rows]
        parts.append("")
    return "\n".join(parts)


def shown(run: dict[str, Any], seconds: str) -> str:
    """Return seconds of a run with their clock."""
    return f"{seconds} s CPU" if run["clock"] == "cpu" else f"{seconds} s"


def cells(name: str, own: dict[str, Any]) -> list[str]:
    """Return the cells of an instance."""
    score, bound = own["score"], own["bound"]
    gap, share = left(own)
    return [
        name,
        str(own["columns"]),
        str(own["rows"] or "-"),
        f"{score['value']:.4f}",
        "-" if bound is None else f"{bound['value']:.4f}",
        "-" if gap is None else f"{gap:.4f}" if gap else "0",
        "-" if share is None else f"{share:.3%}" if share else "0",
        shown(score, f"{score['seconds']:.0f}"),
        "-" if bound is None else shown(bound, f"{bound['seconds']:.0f}"),
        "-" if bound is None else shown(bound, f"{bound['limit']:g}"),
        score["version"] if bound is None else bound["version"],
        own["known"] or "-",
    ]
