"""How sure an edge is: regrets, resampled rows, exact probabilities, a path of penalties."""
