"""Solvers behind one wall: the only modules that import one, each imported when it is used."""
