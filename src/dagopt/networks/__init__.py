"""Networks with parameters: discrete, Gaussian and mixed ones; files and simulation."""
