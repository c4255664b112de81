"""Counts of configurations of discrete columns."""
