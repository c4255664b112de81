"""The methods as scikit-learn estimators: parameters in the constructor, ``fit``, learned attributes with ``_``.

To add a method, name it in ``methods.registry`` and write a class in this package that lists its options with the
defaults of its function: dataclass fields become the arguments of ``__init__``, which does nothing but assign them.
"""

from dagopt.estimators.base import StructureLearner
from dagopt.estimators.column_generation import CGDCA, CGMINLP
from dagopt.estimators.independence import MMHC, StablePC
from dagopt.estimators.proofs import CuttingPlanes, ExactDP
from dagopt.estimators.search import HillClimbing, OrderSearch, Tabu

__all__ = [
    "CGDCA",
    "CGMINLP",
    "MMHC",
    "CuttingPlanes",
    "ExactDP",
    "HillClimbing",
    "OrderSearch",
    "StablePC",
    "StructureLearner",
    "Tabu",
]
