"""Search over orders of the nodes."""
