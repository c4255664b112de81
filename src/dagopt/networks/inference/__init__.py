"""Questions to a network: exact for Gaussian and discrete ones, by weighted draws for any other."""
