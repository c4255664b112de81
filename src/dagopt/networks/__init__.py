"""Networks with parameters: discrete, Gaussian and mixed ones; files, simulation and bundled data."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["datasets"])
