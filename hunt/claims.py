"""What ``learn`` and related functions claim about an instance, compared with extended precision."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas  # noqa: F401, loaded before anything is watched

import dagopt
from dagopt.methods import registry
from dagopt.methods.branch_and_cut.branch_and_cut import ROW_KINDS
from hunt import cuts
from hunt.record import Wrong
from hunt.tables import NAMES, Instance
from hunt.truth import (
    Known,
    Local,
    Real,
    all_dags,
    best_score,
    class_of,
    edge_probabilities,
    is_dag,
    parents_of,
    score_of,
)

METHODS = tuple(registry.METHODS)
RELATIVE = 1e-9  # of a score, up to which two numbers count as equal
EXACT_COUNTS, EXACT_NUMBERS = 4e-16, 1e-13  # relative errors of extended precision
SECONDS = 60  # after which a run counts as endless
NOT_DEPENDENT = 1e-9  # residual share of a column's variance above which a table must not be rejected


@contextmanager
def watched(seconds: int = SECONDS) -> Iterator[None]:
    """Raise ``Wrong`` if the block takes longer on the processor, or ten times as long by the clock."""

    def late(number: int, frame: object) -> None:
        raise Wrong(f"no answer within {seconds} s")

    before = [(number, signal.signal(number, late)) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in before:
            signal.signal(number, handler)


def check(instance: Instance, counts: Counter[str], rng: np.random.Generator) -> None:
    """Run every method and every kind of evidence on an instance; raise ``Wrong`` for a claim that does not hold."""
    local, factor = instance.truth()
    for method in METHODS:
        if _fits(method, instance, rng):
            check_method(instance, method, local, factor, counts)
    for part in (check_classes, check_regrets, check_posterior, check_jobs, check_order_of_columns):
        part(instance, local, factor, counts, rng)
    check_switches(instance, local, factor, counts, rng)


def check_switches(
    instance: Instance, local: Local, factor: np.ndarray | None, counts: Counter[str], rng: np.random.Generator
) -> None:
    """Check what small tables do not reach in cutting planes: pricing at the root, prefixes, branching."""
    free = not instance.known.is_limited
    if instance.is_continuous and instance.score != "bge":
        kinds = [kind for kind in ROW_KINDS if rng.random() < 0.6]
        asked = {"max_sets": int(rng.choice([1, 2, 5, 20])), "rows": kinds, "restarts": 1, "n_jobs": 1}
        check_method(instance, "branch-and-cut", local, factor, counts, **asked)
        counts["switches: pricing at the root"] += 1
    with cuts.small_parts(rng, counts):
        wide = instance if not free else replace(instance, known=replace(instance.known, max_parents=instance.n - 1))
        for few in (True, False):
            with cuts.few_cuts(few):
                size = int(rng.choice([0, 3, 5]))
                check_method(wide, "gobnilp", local, factor, counts, local_size=size, restarts=0, n_jobs=1)
    for _ in range(4):
        cuts.check_pool(rng, counts)


def _fits(method: str, instance: Instance, rng: np.random.Generator) -> bool:
    if method == "cg-minlp":
        return instance.is_continuous and instance.score != "bge" and instance.n <= 4 and rng.random() < 0.1
    if instance.score == "bge":
        return not method.startswith("cg-")
    return True


def learned(instance: Instance, method: str, counts: Counter[str], **options: Any) -> dagopt.Result | None:
    """Return the result of a method, None if it rejects the table."""
    if method == "cg-minlp":
        options["time_limit"] = 5.0
    try:
        with watched():
            result = dagopt.learn(instance.data(), method, progress=False, **instance.arguments(), **options)
    except dagopt.InputError as error:
        counts[f"refused: {_kind_of(str(error))}"] += 1
        return None
    counts[f"runs: {method}"] += 1
    return result


def check_method(
    instance: Instance,
    method: str,
    local: Local,
    factor: np.ndarray | None,
    counts: Counter[str],
    **options: Any,
) -> None:
    """Check one method's graph, score, bound and status."""
    result = learned(instance, method, counts, **options)
    known = instance.known
    own = known  # what the method allows
    if result is not None and result.limited is not None:
        own = replace(known, max_parents=min(3, instance.n - 1))
    if result is None:
        if method != "cg-minlp":  # which takes no columns within the tolerances of SCIP, and says so
            check_refusal(instance, factor)
        return
    if method == "pc":
        return
    check_graph(result, own)
    true = score_of(local, result.adjacency)
    slack = RELATIVE * max(abs(float(true)), 1.0)
    if not abs(float(true) - result.score) <= slack + result.details.get("rounding", 0.0):
        raise Wrong(f"{method} says its DAG scores {result.score!r} but it scores {float(true)!r}")
    if result.limited is not None and best_score(local, instance.n, own) - Real(result.limited.bound) > slack:
        raise Wrong(f"{method} says no DAG over {result.limited.scope} exceeds {result.limited.bound!r} but one does")
    if result.bound is None:
        return
    counts["bounds"] += 1
    free = result.scope == "all DAGs"
    best = best_score(local, instance.n, Known() if free else known)
    doubt = (EXACT_COUNTS if factor is None else EXACT_NUMBERS) * max(abs(float(best)), 1.0)  # of the truth itself
    if best - Real(result.bound) > doubt:
        raise Wrong(f"{method} says no DAG over {result.scope} exceeds {result.bound!r} but one has {float(best)!r}")
    if result.status == "optimal":
        counts["proofs"] += 1
        if float(best - true) > slack + (result.bound - result.score):
            raise Wrong(f"{method} says {result.score!r} is optimal over {result.scope} but {float(best)!r} is there")


def check_graph(result: dagopt.Result, known: Known) -> None:
    """Check that the graph is a DAG within the constraints."""
    if not is_dag(result.adjacency):
        raise Wrong(f"{result.method} returns a graph with a cycle: {result.adjacency.tolist()}")
    for i, mask in enumerate(parents_of(result.adjacency)):
        if not known.allows(i, mask):
            raise Wrong(f"{result.method} gives column {NAMES[i]} the parents {mask:b} against the constraints")


def check_refusal(instance: Instance, factor: np.ndarray | None) -> None:
    """Check that there was a reason to reject a table: too few rows, or a column that others determine."""
    rows, n = instance.values.shape
    if factor is None or instance.score == "bge" or rows < n + 2:
        return
    whole = np.linalg.norm(factor.astype(np.float64), axis=0)
    if (whole == 0).any() or np.ptp(instance.values, axis=0).min() < 1e-100 or np.abs(instance.values).max() > 1e100:
        return
    scaled = factor.astype(np.float64) / whole
    if np.linalg.svd(scaled, compute_uv=False)[-1] ** 2 <= NOT_DEPENDENT / n:  # this makes some column dependent
        return
    least = 1 / np.diag(np.linalg.inv(scaled.T @ scaled)).max()
    if least > NOT_DEPENDENT:
        raise Wrong(f"a table is refused whose columns leave at least {least:.1e} of each other's variance")


# --- evidence -------------------------------------------------------------------------------------------------


def check_classes(
    instance: Instance, local: Local, factor: object, counts: Counter[str], rng: np.random.Generator
) -> None:
    """Check the best classes against all DAGs, for up to four columns."""
    if instance.n > 4 or rng.random() < 0.5:
        return
    wanted = int(rng.integers(2, 12))
    result = learned(instance, "exact", counts, n_best=wanted)
    if result is None:
        return
    counts["n_best"] += 1
    best: dict[Any, Any] = {}
    for dag in all_dags(instance.n):
        if all(instance.known.allows(i, mask) for i, mask in enumerate(dag)):
            total = sum(local[i, mask] for i, mask in enumerate(dag))
            name = class_of(dag)
            best[name] = max(best.get(name, total), total)
    true = sorted((float(value) for value in best.values()), reverse=True)[:wanted]
    found = result.details["best_classes"]
    names = {class_of(tuple(parents_of(one["adjacency"]))) for one in found}
    if len(found) != len(true) or len(names) != len(found):
        raise Wrong(f"n_best={wanted} gives {len(names)} classes where there are {len(true)}")
    slack = RELATIVE * max(abs(true[0]), 1.0) + 2 * result.details.get("rounding", 0.0)
    if max(abs(one["score"] - value) for one, value in zip(found, true, strict=True)) > slack:
        raise Wrong(f"n_best={wanted} gives {[one['score'] for one in found]} but there are {true}")


def check_regrets(
    instance: Instance, local: Local, factor: object, counts: Counter[str], rng: np.random.Generator
) -> None:
    """Check what the score loses without each edge."""
    if rng.random() < 0.5:
        return
    result = learned(instance, "exact", counts)
    if result is None or not result.adjacency.any():
        return
    with watched():
        table = result.regrets(method="exact", progress=False)
    counts["regrets"] += 1
    known, best = instance.known, best_score(local, instance.n, instance.known)
    slack = 1e-7 * max(abs(float(best)), 1.0) + 2 * result.details.get("rounding", 0.0)
    for row in table.to_dict(orient="records"):
        a, b = NAMES.index(row["from"]), NAMES.index(row["to"])
        without = best_score(local, instance.n, replace(known, forbidden=(*known.forbidden, (a, b))))
        if (a, b) in known.required or not np.isfinite(without):
            continue
        if row["without"] is not None and abs(row["without"] - float(best - without)) > slack:
            raise Wrong(f"without {NAMES[a]} -> {NAMES[b]} {row['without']!r} is lost, not {float(best - without)!r}")


def check_posterior(
    instance: Instance, local: Local, factor: object, counts: Counter[str], rng: np.random.Generator
) -> None:
    """Check edge probabilities against sums over all orders, for up to five columns."""
    if instance.n > 5 or rng.random() < 0.7:
        return
    prior = str(rng.choice(["fair", "uniform"]))
    try:
        with watched():
            found = dagopt.edge_posterior(instance.data(), prior=prior, progress=False, **instance.arguments())
    except dagopt.InputError as error:
        counts[f"refused: {_kind_of(str(error))}"] += 1
        return
    counts["posteriors"] += 1
    true = edge_probabilities(local, instance.n, instance.known, prior).astype(np.float64)
    worst = float(np.nanmax(np.abs(found.probabilities - true)))
    if not worst <= 1e-6:
        raise Wrong(f"an edge probability ({prior} prior) is off by {worst:.2e}")


def check_jobs(
    instance: Instance, local: Local, factor: object, counts: Counter[str], rng: np.random.Generator
) -> None:
    """Check that the DAG does not depend on the number of threads."""
    if rng.random() < 0.8:
        return
    for method in ("exact", "gobnilp", "order"):
        one, two = (learned(instance, method, counts, n_jobs=jobs) for jobs in (1, 2))
        if one is not None and two is not None and not np.array_equal(one.adjacency, two.adjacency):
            raise Wrong(f"{method} gives another DAG with two threads")
        counts["n_jobs"] += 1


def check_order_of_columns(
    instance: Instance, local: Local, factor: object, counts: Counter[str], rng: np.random.Generator
) -> None:
    """Check that exact methods find the same score in any order of the columns."""
    if rng.random() < 0.7:
        return
    other = instance.permuted(rng.permutation(instance.n))
    for method in ("exact", "gobnilp"):
        one, two = learned(instance, method, counts), learned(other, method, counts)
        if one is None or two is None:
            continue
        counts["orders of columns"] += 1
        slack = RELATIVE * max(abs(one.score), 1.0) + 2 * one.details.get("rounding", 0.0)
        if abs(one.score - two.score) > slack:
            raise Wrong(f"{method} finds {one.score!r}, and {two.score!r} with the columns in another order")


def _kind_of(message: str) -> str:
    kinds = ("linear combination", "is a copy", "constant", "too few", "too large", "spread", "more than")
    return next((kind for kind in kinds if kind in message), message[:60])


# --- making it small ------------------------------------------------------------------------------------------


def shrunk(instance: Instance, fails: Callable[[Instance], bool]) -> Instance:
    """Return a smaller instance that still fails: fewer constraints, columns and rows, one after the other."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(instance):
            if fails(smaller):
                instance, changed = smaller, True
                break
    return instance


def _smaller(instance: Instance) -> Iterator[Instance]:
    known, values = instance.known, instance.values
    if known != Known():
        yield replace(instance, known=Known(max_parents=known.max_parents))
        yield replace(instance, known=replace(known, pairs=()))
        yield replace(instance, known=replace(known, limits=()))
        yield replace(instance, known=replace(known, required=(), tiers=()))
        yield replace(instance, known=replace(known, forbidden=()))
    for j in range(instance.n if instance.n > 2 else 0):
        order = [k for k in range(instance.n) if k != j]
        yield replace(instance, values=values[:, order], known=known.moved(order))
    rows = len(values)
    for part in (slice(0, rows // 2), slice(rows // 2, rows)):
        if rows >= 8:
            yield replace(instance, values=values[part])
    if rows <= 40:
        for row in range(rows if rows > 3 else 0):
            yield replace(instance, values=np.delete(values, row, axis=0))


def reproduction(instance: Instance, seed: int, number: int) -> str:
    """Return Python code that shows the failure, or the command if the table is too large to print."""
    again = f"python -m hunt claims --seed {seed} --only {number}"
    if instance.values.size > 240:
        return f"{again}\n# {instance.family}, {instance.values.shape}, {instance.arguments()}"
    rows = instance.values.tolist()
    return (
        f"{again}\n"
        f"import dagopt, numpy as np\n"
        f"values = np.array({rows!r})\n"
        f"data = {{name: {'column' if instance.is_continuous else '[str(code) for code in column]'} "
        f"for name, column in zip('{NAMES[: instance.n]}', values.T)}}\n"
        f"print(dagopt.learn(data, 'exact', **{instance.arguments()!r}))"
    )
