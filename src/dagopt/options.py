"""Options: each has a default, a check and a sentence of documentation, defined once.

The options of data, of scores and of each method are frozen dataclasses that derive from ``Options``. The arguments of
``learn``, the parameters of estimators, the flags of the command and their documentation are made from them.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import Field, dataclass, field, fields, make_dataclass
from difflib import get_close_matches
from functools import wraps
from typing import Any, ParamSpec, Self, TypeVar

from dagopt.errors import (
    CHANGE,
    InputError,
    checked_choice,
    checked_number,
    checked_share,
    checked_truth,
    checked_whole,
    quoted,
)

__all__ = [
    "BROUGHT",
    "Check",
    "Option",
    "Options",
    "anything",
    "described",
    "hint_for",
    "number",
    "one_of",
    "option",
    "preset",
    "share",
    "truth",
    "whole",
    "with_options",
]

Taken = TypeVar("Taken", bound="Options")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")

MARK = "{options}"  # in a docstring: where the options are described


@dataclass(frozen=True)
class Check:
    """The values that an option may have: in words, and as a function ``(name, value)`` that returns a valid value."""

    words: str
    run: Callable[[str, Any], Any]
    choices: tuple[Any, ...] = ()


def whole(least: int, most: int | None = None, remedy: str = CHANGE) -> Check:
    """Return the check for whole numbers."""
    return Check("int", lambda name, value: checked_whole(name, value, least, most, remedy))


def number() -> Check:
    """Return the check for numbers above zero."""
    return Check("float", checked_number)


def share(remedy: str = CHANGE) -> Check:
    """Return the check for numbers between 0 and 1, both excluded."""
    return Check("float", lambda name, value: checked_share(name, value, remedy=remedy))


def truth() -> Check:
    """Return the check for True and False."""
    return Check("bool", checked_truth)


def one_of(*choices: Any) -> Check:
    """Return the check for a few values."""
    named = ", ".join(f'"{choice}"' for choice in choices if choice is not None)
    return Check(f"{{{named}}}", lambda name, value: checked_choice(name, value, choices), choices)


def anything(words: str) -> Check:
    """Return the check of an option that is checked where it is used."""
    return Check(words, lambda _, value: value)


@dataclass(frozen=True)
class Option:
    """The properties of an option besides its name and default.

    Attributes
    ----------
    text : str
        What it does, as a sentence.
    check : Check
        What values it may have.
    flag : str
        Its name on the command line; made from its name unless given.
    metavar : str
        The placeholder for its value in the help of the command.
    unset : str
        What the help shows as the default if that is None.
    parse : function, optional
        Makes the value from the text on the command line.
    least : float, optional
        The smallest number that the command accepts.
    of_source : bool
        Whether it is about the source of the data, so that an estimator, which is given columns, does not have it.
    """

    text: str
    check: Check
    flag: str = ""
    metavar: str = ""
    unset: str = ""
    parse: Callable[[str], Any] | None = None
    least: float | None = None
    of_source: bool = False


def option(default: Any, text: str, check: Check, **more: Any) -> Any:
    """Return the field of an option; ``more`` are attributes of ``Option``."""
    return field(default=default, metadata={"option": Option(text, check, **more)})


@dataclass(frozen=True)
class Options:
    """Options that belong together: a frozen dataclass whose fields are made by ``option``.

    None is valid if the type of the field includes it; any other value goes through the field's check.
    """

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            about = self.about(one)
            if value is None and ("None" in str(one.type) or None in about.check.choices):
                continue
            object.__setattr__(self, one.name, about.check.run(one.name, value))

    def with_checked(self, **values: Any) -> Self:
        """Return the options with other values that were checked already."""
        made = copy(self)
        for name, value in values.items():
            object.__setattr__(made, name, value)
        return made

    @staticmethod
    def about(one: Field[Any]) -> Option:
        """Return the properties of a field."""
        known: Option = one.metadata["option"]
        return known

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the options with their defaults."""
        return {one.name: one.default for one in fields(cls)}

    @classmethod
    def of(cls, given: Self | None, named: dict[str, Any]) -> Self:
        """Return the options given as one object, replaced by those given by name."""
        return cls(**({} if given is None else given.to_dict()) | named)

    @classmethod
    def taken_from(cls, given: dict[str, Any]) -> Self:
        """Return the options of this kind among those given, and remove them from the dict."""
        return cls(**{name: given.pop(name) for name in cls.defaults() if name in given})

    def to_dict(self) -> dict[str, Any]:
        """Return the options by name, with unchanged values."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def preset(kind: type[Taken], name: str, about: str, **defaults: Any) -> type[Taken]:
    """Return options of the same kind with other defaults."""
    again = [
        (one.name, one.type, field(default=defaults[one.name], metadata=one.metadata))
        for one in fields(kind)
        if one.name in defaults
    ]
    frame = inspect.stack()[1].frame
    namespace = {"__doc__": about, "__module__": frame.f_globals["__name__"]}
    return make_dataclass(name, again, bases=(kind,), frozen=True, namespace=namespace)


def described(
    kinds: Iterable[type[Options]], renamed: dict[str, str] | None = None, leave_out: Sequence[str] = ()
) -> str:
    """Return the parameters of a docstring for options, in numpydoc form."""
    lines = []
    for kind in kinds:
        for one in fields(kind):
            if one.name in leave_out:
                continue
            about = kind.about(one)
            words = about.check.words
            default = ", optional" if one.default is None else f", default {one.default!r}"
            lines.append(f"{(renamed or {}).get(one.name, one.name)} : {words}{default}")
            lines += textwrap.wrap(about.text, 108, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def with_options(
    *kinds: type[Options], leave_out: Sequence[str] = (), also: bool = False
) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """Give a function that takes ``**options`` the signature and the docstring of these options.

    Parameters
    ----------
    *kinds : subclasses of Options
        The options; where the docstring has ``{options}`` they are described.
    leave_out : sequence of str
        Options that the function does not take.
    also : bool
        Whether it takes further options, those of a method.
    """

    def decorate(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
        @wraps(function)
        def called(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
            if not also:
                _refuse_unknown(function.__name__, kwargs, taken, [one.name for one in made])
            return function(*args, **kwargs)

        own = inspect.signature(function).parameters.values()
        made = [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
            for kind in kinds
            for one in fields(kind)
            if one.name not in leave_out
        ]
        named = [one for one in own if one.kind is not inspect.Parameter.VAR_KEYWORD]
        rest = [one for one in own if one.kind is inspect.Parameter.VAR_KEYWORD and also]
        taken = [one.name for one in (*named, *made)]
        called.__signature__ = inspect.Signature([*named, *made, *rest])  # type: ignore[attr-defined]
        called.__doc__ = with_marked(function.__doc__ or "", described(kinds, leave_out=leave_out))
        return called

    return decorate


def _refuse_unknown(name: str, given: Iterable[str], taken: Sequence[str], options: Sequence[str]) -> None:
    """Raise an error that names the first option that a function does not have."""
    for one in given:
        if one not in taken and one in OF_ROWS:
            raise InputError(f"only learn takes {one}=; leave it out here, and give the rows that were only observed")
        if one not in taken:
            raise InputError(f"{name} has no option {one!r}; it has {quoted(options, 12)}{hint_for(one, taken)}")


OF_ROWS = ("interventions", "experiments")  # what says which rows set columns

# What other packages call it, with what it is here.
BROUGHT = {
    "max_indegree": "max_parents=",
    "max_in_degree": "max_parents=",
    "maxp": "max_parents=",
    "palim": "max_parents=",
    "blacklist": "constraints={'forbidden': [('a', 'b')]}",
    "black_list": "constraints={'forbidden': [('a', 'b')]}",
    "whitelist": "constraints={'required': [('a', 'b')]}",
    "white_list": "constraints={'superstructure': pairs}, the only pairs that may be joined",
    "fixed_edges": "constraints={'required': [('a', 'b')]}",
    "forbidden": "constraints={'forbidden': [('a', 'b')]}",
    "required": "constraints={'required': [('a', 'b')]}",
    "tiers": "constraints={'tiers': [['a'], ['b']]}",
    "temporal_order": "constraints={'tiers': [['a'], ['b']]}",
    "prior_knowledge": "constraints=",
    "background_knowledge": "constraints=",
    "sample_weight": "weights=",
    "penalty": "score=, a name or a number",
    "scoring": "score=",
    "scoring_method": "score=",
    "score_func": "score=",
    "criterion": "score=",
    "iss": "equivalent_sample_size=",
    "ess": "equivalent_sample_size=",
    "significance_level": "alpha=",
    "ci_test": "test=",
    "indep_test": "test=",
    "start_dag": "start=",
    "seed": "random_state=",
    "timeout": "time_limit=",
    "timelimit": "time_limit=",
    "max_time": "time_limit=",
    "verbose": "progress=",
    "show_progress": "progress=",
    "restart": "restarts=",
    "n_restarts": "restarts=",
    "n_cores": "n_jobs=",
    "n_threads": "n_jobs=",
    "threads": "n_jobs=",
}


def hint_for(given: str, taken: Sequence[str]) -> str:
    """Return a hint for a name that a function does not have: what it is called here, or a name that is spelled so."""
    here = BROUGHT.get(given.lower().replace(".", "_"), "")
    if here and here.partition("=")[0] in taken:
        return f"; here it is {here}"
    near = get_close_matches(given, taken, n=1)
    return f"; did you mean {near[0]}=?" if near else ""


def with_marked(text: str, parameters: str) -> str:
    """Return a docstring with the mark replaced by the parameters, with the same indent."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        lines += textwrap.indent(parameters, indent).splitlines() if line.strip() == MARK else [line]
    return "\n".join(lines)
