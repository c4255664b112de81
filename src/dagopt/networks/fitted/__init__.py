"""The parameters of a DAG fitted to data: regression equations, or tables of probabilities."""

from dagopt.networks.fitted.fitted_discrete import FittedDiscrete
from dagopt.networks.fitted.fitted_gaussian import FittedGaussian
from dagopt.networks.fitted.fitted_mixed import FittedMixed
from dagopt.networks.fitted.fitted_network import FittedNetwork
from dagopt.networks.fitted.fitting import fit

__all__ = ["FittedDiscrete", "FittedGaussian", "FittedMixed", "FittedNetwork", "fit"]
