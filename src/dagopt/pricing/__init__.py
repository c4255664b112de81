"""Pricing: parent sets with negative reduced cost."""
