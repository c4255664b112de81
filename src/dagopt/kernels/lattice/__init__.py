"""Tables over all subsets of the nodes."""
