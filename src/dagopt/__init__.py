"""dagopt: learn the structure of a Bayesian network by optimisation."""

__version__ = "0.1.0.dev0"
