"""The parameters that data give a DAG: regression equations, or tables of probabilities."""

from dagopt.parameters.base import FittedNetwork
from dagopt.parameters.discrete import FittedDiscrete
from dagopt.parameters.fitting import fit
from dagopt.parameters.gaussian import FittedGaussian

__all__ = ["FittedDiscrete", "FittedGaussian", "FittedNetwork", "fit"]
