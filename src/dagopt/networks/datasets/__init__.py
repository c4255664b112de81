"""Bundled networks by name, and data drawn from them.

>>> from dagopt import datasets
>>> data, dag = datasets.load("asia", n_samples=100)
>>> data.shape, dag.number_of_edges()
((100, 8), 8)
"""

from dagopt.networks.datasets.bundled import Dataset, describe, load, load_network, names

__all__ = ["Dataset", "describe", "load", "load_network", "names"]
