"""Submodular rows: valid inequalities of the families of every DAG, one kind per file."""
