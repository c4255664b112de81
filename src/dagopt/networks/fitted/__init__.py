"""The parameters of a DAG fitted to data: regression equations, or tables of probabilities."""

from dagopt.networks.fitted.base import FittedNetwork
from dagopt.networks.fitted.discrete import FittedDiscrete
from dagopt.networks.fitted.fitting import fit
from dagopt.networks.fitted.gaussian import FittedGaussian
from dagopt.networks.fitted.mixed import FittedMixed

__all__ = ["FittedDiscrete", "FittedGaussian", "FittedMixed", "FittedNetwork", "fit"]
