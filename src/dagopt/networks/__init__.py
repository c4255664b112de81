"""Networks with parameters: discrete, Gaussian; files, simulation and bundled ones."""
