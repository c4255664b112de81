"""Pictures of graphs and runs, and the self-contained HTML report."""
