"""How certain an edge is: bootstrap, penalty path, posterior, explanations, alternatives."""
