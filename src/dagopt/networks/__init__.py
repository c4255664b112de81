"""Networks with parameters: discrete, Gaussian and mixed; fitted ones, questions, effects, files and simulation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["datasets"])
