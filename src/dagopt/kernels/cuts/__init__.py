"""Separation of cluster cuts and of local cuts."""
