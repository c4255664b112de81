"""What is proven about a result, in words: the badge, the line of the summary, and the sentences of the report.

The percentage of a score depends on the units of the columns. So a gap is said in points of the score, as a share of
what the graph explains (its score minus that of the graph without edges), and, if it is small, as a factor of
probability: scores are logarithms of probabilities.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from dagopt.results.certificate import ALL_DAGS, GIVEN_POOL

if TYPE_CHECKING:
    from dagopt.results.directions import Direction
    from dagopt.results.result import Result

__all__ = ["badge_of", "bound_line", "doubts_of", "gap_in_words", "not_checked", "proof_of", "proof_sentences"]

Kind = Literal["proven", "bounded", "open"]

NEGLIGIBLE = 1e-3  # points; a smaller difference of scores is not mentioned
FACTOR_UP_TO = 3.0  # points; up to a factor of 20 a difference is also said as a factor of probability
NOTHING = "nothing is proven about better DAGs"


def badge_of(result: Result) -> tuple[str, Kind]:
    """Return the badge, and its kind: everything proven, something proven, nothing proven."""
    if result.certificate is None or result.score is None:
        return _limited(result) or "Nothing is proven", "open"
    if result.status == "optimal":
        covered, doubts = _dags_in(result.certificate.scope), doubts_of(result)
        badge = "Proven optimal" if covered == "DAG" else f"No {covered} is better: proven"
        return (f"{badge}, but the model is in doubt: {doubts}", "bounded") if doubts else (badge, "proven")
    return _limited(result) or f"{proof_of(result)[0].upper()}{proof_of(result)[1:]}", "bounded"


def doubts_of(result: Result) -> str:
    """Return why the doctor doubts that the model fits the table; empty if it does not."""
    return ", ".join(dict.fromkeys(finding.doubt for finding in result.findings if finding.doubt))


def proof_of(result: Result) -> str:
    """Return how good the answer is proven to be; numbers are rounded up."""
    if result.certificate is None or result.score is None:
        return NOTHING
    if result.status == "optimal":
        return "proven optimal"
    if result.certificate.source == "saturated likelihood":
        return f"bounded by the saturated likelihood alone, {gap_in_words(result)} above"
    return f"proven within {gap_in_words(result)} of the best"


def bound_line(result: Result) -> str:
    """Return the bound and what it says, for the summary."""
    if result.certificate is None:
        return f"none: {_with_limited(NOTHING, result)}"
    bound, scope = result.certificate.bound, result.certificate.scope
    if result.status != "optimal":
        return f"{bound:.4f}  {_with_limited(f'{proof_of(result)} (over {scope})', result)}"
    left = 0.0 if result.score is None else bound - result.score
    rounding = f" to within {left:.2g}, the possible rounding error," if left > NEGLIGIBLE else ""
    return f"{bound:.4f}  proven optimal{rounding} over {scope}"


def gap_in_words(result: Result) -> str:
    """Return the gap in points, as a share of what the graph explains, and as a factor of probability if small."""
    gap = max(result.gap or 0.0, 0.0)
    said = f"{_rounded_up(gap)} points"
    more = []
    if result.gap_share is not None:
        more.append(f"{_rounded_up(100.0 * result.gap_share)} % of what the graph explains")
    if gap <= FACTOR_UP_TO:
        more.append(f"a factor of {_rounded_up(math.exp(gap))} in probability")
    return f"{said} ({', '.join(more)})" if more else said


def proof_sentences(result: Result) -> list[str]:
    """Return what is proven and what is not, one sentence each."""
    if result.certificate is None or result.score is None:
        said = ["Nothing is proven about other graphs: one with a higher score may exist."]
    else:
        bound, covered = result.certificate.bound, _dags_in(result.certificate.scope)
        if result.status == "optimal":
            said = [f"No {covered} has a higher score. This is proven, by {_source(result)}."]
        elif result.certificate.source == "saturated likelihood":
            said = [
                f"No {covered} scores higher than {bound:,.4f}, the likelihood of a model without any independence. "
                f"This bound is {gap_in_words(result)} above this graph and says little: DAGs rarely come near it."
            ]
        else:
            said = [
                f"No {covered} scores higher than {bound:,.4f}. This is proven, by {_source(result)}. The bound is "
                f"{gap_in_words(result)} above this graph; whether any graph reaches it is not known."
            ]
        if covered != "DAG":
            said.append("The proof covers these DAGs only; others may score higher.")
    if doubts := doubts_of(result):
        said.append(f"The proof is about the score. The doctor doubts that its model fits the table: {doubts}.")
    if _limited(result):
        assert result.limited is not None
        said.append(
            f"No {_dags_in(result.limited.scope)}, a limit that the method chose, is better than this one. This is "
            "proven for these DAGs only."
        )
    return said


def not_checked(result: Result) -> str:
    """Return what the proof is not about: the model, causes, and directions that are not directed."""
    has_rows = result.problem is not None or result.n_samples > 0
    model = "whether the model fits, beyond the doctor's tests" if has_rows else "the given local scores"
    counts = Counter(result.directions().values())
    words: tuple[Direction, ...] = ("leaning", "open", "unchecked")
    unsure = [word for word in words if counts[word]]
    edges = sum(counts[word] for word in unsure)
    which = "which way the edge points that is" if edges == 1 else f"which way the {edges} edges point that are"
    kinds = " or ".join([", ".join(unsure[:-1]), unsure[-1]] if len(unsure) > 1 else unsure)
    directions = f"; {which} {kinds}" if unsure else ""
    return (
        f"Not checked: {model}{directions}; whether an arrow is a cause, for which nothing outside the table may "
        "influence two of its columns. A score says only how well a graph explains the data."
    )


def _source(result: Result) -> str:
    assert result.certificate is not None
    source = result.certificate.source
    return source if source in ("branch and cut", "pricing", "pairs", "bounds of parent sets") else f"the {source}"


def _limited(result: Result) -> str:
    """Return the badge of a graph that no graph within the method's own limit beats; empty if that is not proven."""
    limited = result.limited
    if limited is None or result.score is None or limited.bound > result.score + NEGLIGIBLE:
        return ""
    return f"Best found; no {_dags_in(limited.scope)} is better"


def _dags_in(scope: str) -> str:
    """Return the DAGs of a scope as a noun in the singular, such as "DAG with at most 3 parents per column"."""
    if scope.startswith(ALL_DAGS):
        return f"DAG{scope.removeprefix(ALL_DAGS)}"
    if scope == GIVEN_POOL:
        return "DAG made of the given parent sets"
    said = re.sub(r"^parent sets of size <= (\d+)", r"with at most \1 parents per column", scope)
    said = said.replace("at most 1 parents", "at most one parent").removeprefix("parent sets ")
    return f"DAG {said}"


def _with_limited(said: str, result: Result) -> str:
    limited = _limited(result)
    return f"{said}; {limited[0].lower()}{limited[1:]}" if limited else said


def _rounded_up(value: float) -> str:
    """Return a number with two significant digits, rounded up; from 100 on without decimals."""
    if value <= 0.0:
        return "0"
    digits = max(1 - math.floor(math.log10(value)), 0)
    return f"{math.ceil(value * 10**digits * (1 - 1e-12)) / 10**digits:,.{digits}f}"
