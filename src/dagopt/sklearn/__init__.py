"""The methods as scikit-learn estimators: parameters in the constructor, ``fit``, learned attributes with ``_``."""

from dagopt.sklearn.estimators import (
    CGDCA,
    CGMINLP,
    MMHC,
    BranchAndCut,
    CuttingPlanes,
    ExactDP,
    HillClimbing,
    OrderSearch,
    StablePC,
    Tabu,
)
from dagopt.sklearn.structure_learner import StructureLearner

__all__ = [
    "CGDCA",
    "CGMINLP",
    "MMHC",
    "BranchAndCut",
    "CuttingPlanes",
    "ExactDP",
    "HillClimbing",
    "OrderSearch",
    "StablePC",
    "StructureLearner",
    "Tabu",
]
