"""``python -m dagopt.cli``."""

from dagopt.cli import main

main()
