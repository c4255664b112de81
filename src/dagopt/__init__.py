"""dagopt: learn the structure of a Bayesian network by optimisation, with a proof of how good the answer is.

The public names are listed in ``__init__.pyi``. Each is imported at first use, so that ``import dagopt`` and
``dagopt --help`` are instant.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
