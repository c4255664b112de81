"""Lists of candidate parent sets: pools, listing with pruning, ``.jkl`` files."""
