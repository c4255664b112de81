"""The restricted master: its families, LP relaxation, cluster rows and integer solutions."""
