"""Answers to questions about a network: exact for Gaussian and discrete ones, by weighted draws for others."""
