"""The hunt: random instances and broken files against slow, obvious arithmetic (``python -m hunt``)."""
