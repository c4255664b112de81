"""The restricted master: its columns, its LP relaxation, its cluster rows, its integer solutions."""
