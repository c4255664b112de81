"""Numba kernels: small pure functions on contiguous arrays, the only modules that import numba.

Each has an obvious numpy twin in ``tests/oracles/naive.py``.
"""
