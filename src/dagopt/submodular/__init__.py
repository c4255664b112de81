"""Set functions: the decomposition of the reduced cost, its Lovász extension, and its minimisation."""
