"""The separation IP on SCIP (appendix B of the paper), and what every model on SCIP needs: the clock and its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Eventhdlr, Model, quicksum
from pyscipopt.scip import PY_SCIP_EVENTTYPE as SCIP_EVENTTYPE
from pyscipopt.scip import PY_SCIP_STAGE as SCIP_STAGE

from dagopt.deadline import Deadline
from dagopt.lp.limits import NO_LIMIT, TOLERANCE

__all__ = ["Answer", "Poll", "free", "guarded", "interrupt", "separation_ip", "set_parameters"]

Answer = dict[str, Any]
Cluster = frozenset[int]


def separation_ip(
    node: NDArray[np.int64],
    parents: list[list[int]],
    mass: NDArray[np.float64],
    n_nodes: int,
    deadline: Deadline,
) -> tuple[Cluster | None, bool]:
    """Solve the separation IP of appendix B over the families with positive LP value.

    Returns the best cluster found, and whether no other is violated more.
    """
    model = Model()
    try:
        set_parameters(model, deadline)
        model.includeEventhdlr(Poll(deadline), "poll", "stops at the deadline")
        z = [model.addVar(vtype="B", obj=-1.0) for _ in range(n_nodes)]
        model.setMaximize()
        model.addCons(quicksum(z) >= 1)
        for i, own, value in zip(node, parents, mass, strict=True):
            if own:  # y is automatically 0 or 1 once z is
                y = model.addVar(vtype="C", lb=0.0, ub=1.0, obj=float(value))
                model.addCons(y <= z[i])
                model.addCons(y <= quicksum(z[j] for j in own))
        model.optimize()
        cluster = None
        if model.getNSols():
            solution = model.getBestSol()
            cluster = frozenset(i for i in range(n_nodes) if model.getSolVal(solution, z[i]) > 0.5)
        return cluster, model.getStatus() == "optimal"
    finally:
        free(model)


def set_parameters(model: Model, deadline: Deadline) -> None:
    """Set what every model needs: no output, small tolerances, the deadline's clock."""
    model.hideOutput()
    model.setParam("misc/catchctrlc", False)  # the deadline handles it
    model.setParam("numerics/feastol", TOLERANCE)
    model.setParam("numerics/dualfeastol", TOLERANCE)
    model.setParam("timing/clocktype", 2)  # wall clock
    model.setParam("limits/time", min(deadline.remaining(), NO_LIMIT))


class Poll(Eventhdlr):
    """Checks the deadline after every LP."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def eventinit(self) -> None:
        """Ask to be called."""
        self.model.catchEvent(SCIP_EVENTTYPE.LPSOLVED, self)

    def eventexit(self) -> None:
        """Ask not to be called any more."""
        self.model.dropEvent(SCIP_EVENTTYPE.LPSOLVED, self)

    def eventexec(self, event: Any) -> None:
        """Stop the solve if it is time."""
        if self._deadline.reason is not None:
            interrupt(self.model)


def interrupt(model: Model) -> None:
    """Stop a solve, if SCIP accepts it now; if not, the next callback comes soon."""
    if model.getStage() in (SCIP_STAGE.PRESOLVING, SCIP_STAGE.PRESOLVED, SCIP_STAGE.SOLVING):
        model.interruptSolve()


def free(model: Model) -> None:
    """Free a model now: at interpreter exit it would call a handler that no longer exists."""
    if hasattr(model, "free"):
        model.free()
    else:  # PySCIPOpt 6.0
        model.freeProb()


def guarded(nothing: Any, failed: Any) -> Callable[[Callable[..., Answer | None]], Callable[..., Answer]]:
    """Return a decorator for callbacks that stops the solve at the deadline or at the first exception.

    SCIP gets ``nothing`` if a callback returns None, and ``failed`` if it raises.
    """

    def decorate(callback: Callable[..., Answer | None]) -> Callable[..., Answer]:
        @wraps(callback)
        def guarded(self: Any, *args: Any, **kwargs: Any) -> Answer:
            if self.error is None:
                try:
                    answer = callback(self, *args, **kwargs) or {"result": nothing}
                except BaseException as error:  # raised again by _Master.solve
                    self.error = error
            if self.error is not None or self.deadline.reason is not None:
                interrupt(self.model)
            return answer if self.error is None else {"result": failed}

        return guarded

    return decorate
