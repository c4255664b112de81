"""The proven best DAG, by dynamic programming over subsets."""
