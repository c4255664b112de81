"""The methods as scikit-learn estimators: parameters in the constructor, ``fit``, learned attributes with ``_``.

Each class is made from the entry of its method in ``methods.registry`` when it is first used: the options of method,
score and data become the parameters of its constructor and its docstring.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from dagopt.estimators.base import StructureLearner
from dagopt.methods.registry import METHODS

__all__ = ["StructureLearner", *sorted(method.estimator for method in METHODS.values() if method.estimator)]


@cache
def estimator_of(method: str) -> type[StructureLearner]:
    """Return the estimator class of a method."""
    name = METHODS[method].estimator
    assert name is not None
    members: dict[str, Any] = {"method": method, "__module__": __name__}
    if method == "cg-dca":
        members["paper"] = classmethod(_paper)
    return type(name, (StructureLearner,), members)


def _paper(cls: type[Any], /, **parameters: Any) -> Any:
    """Return the paper's settings: hybrid start, switch at 50, Kelley (differences are in ``docs/algorithms.md``)."""
    return cls(**METHODS["cg-dca-paper"].options() | parameters)


def __getattr__(name: str) -> Any:
    for method, entry in METHODS.items():
        if entry.estimator == name:
            return estimator_of(method)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
