"""Tolerances and limits that all solvers of integer programs share."""

__all__ = ["NO_LIMIT", "TOLERANCE"]

TOLERANCE = 1e-9  # of rows, reduced costs and integers: an error of 1e-5 in the LP's bound per row, for costs of 1e4
NO_LIMIT = 1e15  # seconds; the solvers do not accept infinity
