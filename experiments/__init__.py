"""The tables of the CG-DCA paper: which runs they need, a runner, the paper's figures, and tables with both.

One TOML file per table (``designs/``) lists cells, seeds, methods and limits. ``runner`` makes the runs, each in its
own process, and appends one line per run to the result files. ``tables`` shows our figures and the published ones.
"""
