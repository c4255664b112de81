"""The proven optimum by recursion over all subsets of the nodes."""
