"""The tables of the CG-DCA paper: which runs they need, a runner, the paper's figures, and tables with both.

One TOML file a table (``designs/``) says cells, seeds, methods and limits. ``runner`` makes the runs, each in a process
of its own, and appends a line a run to the result files. ``tables`` sets the figures beside the published ones.
"""
