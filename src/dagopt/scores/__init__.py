"""Decomposable scores of DAGs; higher is better, everywhere."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "base": ["Score"],
        "bdeu": ["BDeuScore"],
        "bge": ["BGeScore"],
        "build": ["SCORES", "make_score", "score", "score_table"],
        "custom": ["FunctionScore"],
        "gaussian": ["GaussianScore"],
        "joint": ["JointScore"],
        "multinomial": ["MultinomialScore"],
    },
)
