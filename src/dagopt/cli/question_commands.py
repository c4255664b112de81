"""The commands ``dagopt query`` and ``dagopt effect``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagopt.cli import flags as shared
from dagopt.cli.knowledge_flags import KnowledgeOptions
from dagopt.cli.show import in_flags, print_json
from dagopt.data.data_options import DataOptions
from dagopt.errors import InputError
from dagopt.scores.score_options import ScoreOptions

if TYPE_CHECKING:
    from dagopt.networks.effects.effect import Effect
    from dagopt.networks.effects.mixture import EffectPosterior
    from dagopt.networks.questions import Questions

__all__ = ["effect", "query"]


@shared.with_flags
def query(
    data: shared.Data,
    reading: DataOptions,
    graph: shared.Graph,
    target: Annotated[str, typer.Option(help="The column whose distribution is wanted.")],
    evidence: Annotated[
        list[str] | None, typer.Option(help="What is known: 'X=1'. Can be given several times.", metavar="COLUMN=VALUE")
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(help="What is set from outside: 'X=1'; removes its causes.", metavar="COLUMN=VALUE"),
    ] = None,
    ess: shared.Smoothing = 0.0,
    as_json: shared.Json = False,
) -> None:
    """Show the distribution of a column in a network, given the values of others.

    **Examples:** `dagopt query data.csv graph.dot --target lung --evidence smoke=yes --evidence xray=no`,
    `dagopt query data.csv graph.dot --target lung --do smoke=no`
    """
    from dagopt.networks.fitted import fit
    from dagopt.networks.questions import Expectation

    fitted = fit(data, graph, equivalent_sample_size=ess, **reading.to_dict())
    asked: Questions = fitted
    if do:
        asked = fitted.do(_values(fitted, do, "--do"))
    answer = asked.query(target, _values(fitted, evidence or [], "--evidence"))
    if isinstance(answer, Expectation):
        low, high = answer.interval()
        figures: dict[str, Any] = {"mean": answer.mean, "std": answer.std, "lower": low, "upper": high}
        if answer.standard_error:
            figures["standard_error"] = answer.standard_error
    else:
        figures = {str(level): float(share) for level, share in answer.items()}
    if as_json:
        print_json({"target": target, "answer": figures, "notes": list(fitted.notes)})
        return
    width = max(map(len, figures))
    for name, figure in figures.items():
        typer.echo(f"{name:<{width}}  {figure:.6g}")
    for note in fitted.notes:
        typer.echo(f"note: {in_flags(note)}", err=True)


def _values(fitted: Any, pairs: Sequence[str], option: str) -> dict[str, object]:
    """Return the pairs COLUMN=VALUE, numbers for continuous columns."""
    found: dict[str, object] = {}
    for pair in pairs:
        name, sign, value = (part.strip() for part in pair.partition("="))
        if not sign or not value:
            raise InputError(f"expected {option} as COLUMN=VALUE but got {pair!r}; correct it")
        found[name] = value
        if name in fitted.names and fitted.network.levels_of(fitted.names.index(name)) is None:
            try:
                found[name] = float(value)
            except ValueError:
                raise InputError(
                    f"expected a number for the continuous column {name!r} but got {value!r}; correct it"
                ) from None
    return found


@shared.with_flags
def effect(
    data: shared.Data,
    scoring: ScoreOptions,
    knowledge: KnowledgeOptions,
    reading: Annotated[DataOptions, shared.Without("within")],
    cause: Annotated[str, typer.Argument(help="The column that is set.", metavar="CAUSE")],
    outcome: Annotated[str, typer.Argument(help="The column that may change.", metavar="OUTCOME")],
    graph: Annotated[
        Path | None, typer.Option(help="Use this DAG, or graph of a class, instead of learning one.")
    ] = None,
    method: Annotated[str, typer.Option(help="How to learn the DAG, as in learn.")] = "auto",
    level: Annotated[float, typer.Option(help="The level of the intervals.")] = 0.95,
    within: Annotated[
        float | None,
        typer.Option(help="Use every DAG within these points of the best, proven complete, instead of one class."),
    ] = None,
    posterior: Annotated[
        bool, typer.Option("--posterior", help="Average over all DAGs, each with the weight e^score.")
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds, for learning and again for --within or --posterior.")
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
) -> None:
    """Estimate the total effect of one column on another, over all DAGs that the data cannot tell apart.

    **Examples:** `dagopt effect data.csv dose response`, `dagopt effect data.csv dose response --graph graph.dot`,
    `dagopt effect data.csv dose response --tiers 'dose;response'`,
    `dagopt effect data.csv dose response --within 3 --posterior`
    """
    from dagopt.learning.learning import learn
    from dagopt.methods.registry import method_name
    from dagopt.networks.effects.effect import effect as effect_given

    if graph is not None and (within is not None or posterior):
        raise InputError("--graph is for one graph, --within and --posterior are for many; leave one of them out")
    found: dict[str, Effect | EffectPosterior] = {}
    if graph is not None:
        found["effect"] = effect_given(data, graph, cause, outcome, level=level, **reading.to_dict())
    else:
        asked: dict[str, Any] = {**knowledge.known(), **scoring.to_dict(), **reading.to_dict()}
        result = learn(data, method_name(method), time_limit=time_limit, progress=not quiet, **asked)
        if within is not None or not posterior:
            clock = None if within is None else time_limit
            found["effect"] = result.effect(cause, outcome, level=level, within=within, time_limit=clock)
        if posterior:
            running: dict[str, Any] = {"time_limit": time_limit, "progress": not quiet}
            found["posterior"] = result.effect_posterior(cause, outcome, level=level, **running)
    if as_json:
        told = {name: one.to_dict() for name, one in found.items()}
        print_json(told if len(told) > 1 else next(iter(told.values())))
    else:
        typer.echo("\n\n".join(one.summary() for one in found.values()))
