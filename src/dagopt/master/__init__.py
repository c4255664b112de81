"""The restricted master: its families, its LP relaxation, its cluster rows, its integer solutions."""
