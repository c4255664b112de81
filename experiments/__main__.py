"""``python -m experiments list``, ``run`` and ``show``: the paper's tables beside our own."""

from dagopt.cli import main
from experiments.commands import paper_commands

if __name__ == "__main__":
    main(commands=paper_commands, name="python -m experiments")
